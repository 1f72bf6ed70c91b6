// The database and one operation on it.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "keys.h"
#include "operation.h"
#include "spec.h"

namespace adocd::load {

// One sentence about what RocksDB could not do.
class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Random bytes from which values are taken, at any place: making them anew would cost more than the write.
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

  // Wait for its threads and close it. Throws Failed.
  void Close();

  rocksdb::DB* rocksdb() const { return db_.get(); }

  // Change options of the default column family while it runs. Throws Failed.
  void SetOptions(const OptionMap& options);

  // Carry one out on a record; NotFound is no error of a read. A scan reads up to `scan_records`.
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
