// Chooses the record of an operation, and makes its key.
//
// `zipfian` is YCSB's ScrambledZipfianGenerator: ranks of 10^10 items, scattered over the records by FNV-1a, so that
// the hottest record gets 3.8 % of the operations for any number of records. `latest` is its SkewedLatestGenerator:
// Zipf's law over how recently a record was inserted; each insert that returns shifts it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "random.h"
#include "zipfian.h"

namespace adocd::load {

enum class Distribution { kUniform, kZipfian, kLatest, kSequential };

// Numbers of inserted records. An insert takes its number when it is called; others may use the number once the insert
// has returned (like YCSB's AcknowledgedCounterGenerator). All records below Limit() are in the database.
class Inserted {
 public:
  // Continues at `records`, unless it is already beyond that.
  void AtLeast(uint64_t records) {
    if (records <= next_) return;
    next_ = records;
    limit_ = records;
  }

  uint64_t Take() { return next_.fetch_add(1); }

  void Returned(uint64_t number) {
    returned_[number % kWindow] = true;
    uint64_t limit = limit_;
    while (returned_[limit % kWindow]) {
      if (!limit_.compare_exchange_strong(limit, limit + 1)) continue;
      returned_[limit % kWindow] = false;
      limit = limit_;
    }
  }

  uint64_t Limit() const { return limit_; }

 private:
  static constexpr uint64_t kWindow = 1 << 16;  // far above the number of clients
  std::unique_ptr<std::atomic<bool>[]> returned_{new std::atomic<bool>[kWindow]()};
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> limit_{0};
};

inline uint64_t Fnv1a(uint64_t x) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (int i = 0; i < 8; ++i, x >>= 8) hash = (hash ^ (x & 0xFF)) * 0x100000001B3ULL;
  return hash;
}

class KeyChooser {
 public:
  KeyChooser(Distribution distribution, uint64_t records)
      : distribution_(distribution), records_(records), scattered_(zeta_, kScattered) {}

  // The record of operation `number`, for any kind but an insert.
  uint64_t Record(uint64_t number, const Inserted& inserted, Stream* random) const {
    switch (distribution_) {
      case Distribution::kUniform:
        return random->Below(records_);
      case Distribution::kZipfian:
        return Fnv1a(scattered_.Rank(random)) % records_;
      case Distribution::kLatest: {
        const uint64_t limit = inserted.Limit();
        return limit - 1 - Zipfian(zeta_, limit).Rank(random);
      }
      case Distribution::kSequential:
        break;
    }
    return number % records_;
  }

 private:
  static constexpr uint64_t kScattered = 10'000'000'000;
  Distribution distribution_;
  uint64_t records_;
  Zeta zeta_;
  Zipfian scattered_;
};

constexpr size_t kLeastKeyBytes = 8;

// Eight bytes, big-endian, unique to the record; the rest is padding, as in db_bench. If hashed, neighbouring records
// are scattered over all keys, as YCSB does by default.
inline void WriteKey(uint64_t record, bool hashed, size_t bytes, char* key) {
  const uint64_t number = hashed ? Mix(record) : record;
  for (size_t i = 0; i < kLeastKeyBytes; ++i) key[i] = static_cast<char>(number >> (56 - 8 * i));
  for (size_t i = kLeastKeyBytes; i < bytes; ++i) key[i] = '0';
}

}  // namespace adocd::load
