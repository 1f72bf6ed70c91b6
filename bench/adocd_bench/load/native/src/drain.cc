#include "drain.h"

#include <unistd.h>

namespace adocd::load {
namespace {

constexpr uint64_t kLookEveryNs = kNsPerS / 10;
constexpr int kQuietLooks = 3;

uint64_t Property(const Database& database, const std::string& name) {
  uint64_t value = 0;
  database.rocksdb()->GetIntProperty(name, &value);
  return value;
}

bool IsQuiet(const Database& database) {
  using Properties = rocksdb::DB::Properties;
  for (const std::string& name :
       {Properties::kNumRunningFlushes, Properties::kNumRunningCompactions, Properties::kMemTableFlushPending,
        Properties::kCompactionPending, Properties::kNumImmutableMemTable,
        Properties::kEstimatePendingCompactionBytes}) {
    if (Property(database, name) != 0) return false;
  }
  return true;
}

double SecondsSince(uint64_t begin_ns) {
  return static_cast<double>(NowNs() - begin_ns) / static_cast<double>(kNsPerS);
}

}  // namespace

Drained WaitUntilDrained(const Database& database, double at_most_s, Signals* signals) {
  const uint64_t begin_ns = NowNs();
  int quiet = 0;
  double quiet_since_s = 0;
  while (quiet < kQuietLooks) {
    const double now_s = SecondsSince(begin_ns);
    if (IsQuiet(database)) {
      if (quiet++ == 0) quiet_since_s = now_s;
    } else {
      quiet = 0;
    }
    if (quiet < kQuietLooks && (now_s >= at_most_s || signals->Wait(kLookEveryNs))) break;
  }
  const bool reached = quiet == kQuietLooks;
  return {reached, reached ? quiet_since_s : SecondsSince(begin_ns),
          Property(database, rocksdb::DB::Properties::kEstimatePendingCompactionBytes)};
}

Drained FlushAndWaitFor(const std::string& file, const Database& database, double at_most_s, Signals* signals) {
  const uint64_t begin_ns = NowNs();
  const auto flushed = database.rocksdb()->Flush(rocksdb::FlushOptions());
  if (!flushed.ok()) throw Failed("the memtables could not be flushed: " + flushed.ToString());
  const bool is_there = WaitFor(file, at_most_s - SecondsSince(begin_ns), signals);
  return {is_there, SecondsSince(begin_ns),
          Property(database, rocksdb::DB::Properties::kEstimatePendingCompactionBytes)};
}

bool WaitFor(const std::string& file, double at_most_s, Signals* signals) {
  const uint64_t begin_ns = NowNs();
  bool is_there = false;
  do {
    is_there = access(file.c_str(), F_OK) == 0;
  } while (!is_there && SecondsSince(begin_ns) < at_most_s && !signals->Wait(kLookEveryNs));
  return is_there;
}

}  // namespace adocd::load
