// The database, and how one operation is executed on it.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "keys.h"
#include "operation.h"
#include "spec.h"

namespace adocd::load {

// An error of RocksDB, in one sentence.
class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A pool of random bytes. A value is a slice at a random position, since generating one would cost more than writing.
class Values {
 public:
  Values(uint64_t bytes, uint64_t seed);
  rocksdb::Slice Pick(Stream* random) const;

 private:
  size_t bytes_;
  std::string pool_;
};

class Database {
 public:
  // Throws SpecError for options that RocksDB does not take, and Failed.
  explicit Database(const Spec& spec);

  // Waits for the background jobs and closes the database. Throws Failed.
  void Close();

  rocksdb::DB* rocksdb() const { return db_.get(); }

  // Executes an operation on a record. A read that finds nothing is no error. A scan reads up to `scan_records`.
  rocksdb::Status Do(Kind kind, uint64_t record, uint64_t scan_records, Stream* random) const;

 private:
  rocksdb::Status Put(const rocksdb::Slice& key, Stream* random) const;
  rocksdb::Status Get(const rocksdb::Slice& key) const;
  rocksdb::Status Scan(const rocksdb::Slice& key, uint64_t records) const;

  std::unique_ptr<rocksdb::DB> db_;
  size_t key_bytes_;
  bool hashed_;
  Values values_;
  rocksdb::WriteOptions write_options_;
  rocksdb::ReadOptions read_options_;
};

}  // namespace adocd::load
