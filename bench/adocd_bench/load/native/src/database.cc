#include "database.h"

#include <cstring>

#include "options.h"

namespace adocd::load {
namespace {

constexpr size_t kPoolBytes = 1 << 16;  // stays in the processor's cache

void Check(const rocksdb::Status& status, const std::string& what) {
  if (!status.ok()) throw Failed(what + ": " + status.ToString());
}

}  // namespace

Values::Values(uint64_t bytes, uint64_t seed) : bytes_(bytes), pool_(kPoolBytes + bytes, '\0') {
  Stream random(seed, 0);
  for (size_t at = 0; at + sizeof(uint64_t) <= pool_.size(); at += sizeof(uint64_t)) {
    const uint64_t word = random.Next();
    std::memcpy(&pool_[at], &word, sizeof(word));
  }
}

rocksdb::Slice Values::Pick(Stream* random) const { return {pool_.data() + random->Below(kPoolBytes), bytes_}; }

Database::Database(const Spec& spec)
    : key_bytes_(spec.key_bytes), hashed_(spec.hashed), values_(spec.value_bytes, spec.seed) {
  const rocksdb::Options options = MakeOptions(spec);
  write_options_.disableWAL = spec.disable_wal;
  if (spec.create) Check(rocksdb::DestroyDB(spec.database, options), spec.database + " cannot be destroyed");
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, spec.database, &db), spec.database + " cannot be opened");
  db_.reset(db);
}

void Database::Close() {
  Check(db_->Close(), "the database cannot be closed");
  db_.reset();
}

rocksdb::Status Database::Do(Kind kind, uint64_t record, uint64_t scan_records, Stream* random) const {
  char bytes[1024];
  WriteKey(record, hashed_, key_bytes_, bytes);
  const rocksdb::Slice key(bytes, key_bytes_);
  switch (kind) {
    case kRead:
      return Get(key);
    case kScan:
      return Scan(key, scan_records);
    case kReadModifyWrite: {
      const rocksdb::Status status = Get(key);
      const rocksdb::Status put = status.ok() || status.IsNotFound() ? Put(key, random) : status;
      return put.ok() ? status : put;
    }
    case kUpdate:
    case kInsert:
      break;
  }
  return Put(key, random);
}

rocksdb::Status Database::Put(const rocksdb::Slice& key, Stream* random) const {
  return db_->Put(write_options_, key, values_.Pick(random));
}

rocksdb::Status Database::Get(const rocksdb::Slice& key) const {
  rocksdb::PinnableSlice value;
  return db_->Get(read_options_, db_->DefaultColumnFamily(), key, &value);
}

rocksdb::Status Database::Scan(const rocksdb::Slice& key, uint64_t records) const {
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read_options_));
  uint64_t read = 0;
  for (iterator->Seek(key); iterator->Valid() && read < records; iterator->Next()) read += 1;
  return iterator->status();
}

}  // namespace adocd::load
