#include "write_timing.h"

#include <memory>
#include <mutex>

#include "environment.h"
#include "fork_generation.h"

namespace adocd::write_timing {
namespace {

// Which histogram belongs to a database, read without a lock. A database is in the set of its address or nowhere, so
// nobody searches further than one cache line.
constexpr size_t kSets = 64, kWays = 8;
struct alignas(64) Set {
  std::atomic<const void*> databases[kWays];
};
Set g_sets[kSets];
std::atomic<LatencyHistogram*> g_histograms[kSets][kWays];

size_t SetOf(const void* db) {
  return static_cast<size_t>((reinterpret_cast<uintptr_t>(db) >> 4) * 0x9E3779B97F4A7C15ULL >> 58);
}

}  // namespace

// Alone in its cache line: every write reads it.
alignas(64) std::atomic<int> g_databases{0};
__thread Thread t_thread;

std::string Wish() {
  const std::string wish = EnvironmentText("ADOCD_AGENT_LATENCY");
  return wish.empty() ? "on" : wish;
}

LatencyHistogram* Begin(const void* db) {
  auto made = std::make_unique<LatencyHistogram>();
  const size_t set = SetOf(db);
  const std::lock_guard<std::mutex> lock(g_process_mutex);
  for (size_t way = 0; way < kWays; ++way) {
    if (g_sets[set].databases[way].load(std::memory_order_relaxed)) continue;
    auto& histogram = g_histograms[set][way];
    if (LatencyHistogram* old = histogram.load(std::memory_order_relaxed)) {
      old->Clear();
    } else {
      histogram.store(made.release(), std::memory_order_relaxed);
    }
    g_sets[set].databases[way].store(db, std::memory_order_release);
    g_databases.fetch_add(1, std::memory_order_relaxed);
    return histogram.load(std::memory_order_relaxed);
  }
  return nullptr;
}

void End(const void* db) {
  const std::lock_guard<std::mutex> lock(g_process_mutex);
  for (auto& known : g_sets[SetOf(db)].databases) {
    if (known.load(std::memory_order_relaxed) != db) continue;
    known.store(nullptr, std::memory_order_relaxed);
    g_databases.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool Due(Thread* thread) {
  uint32_t x = thread->random;
  const bool first = x == 0;
  if (first) {
    const auto seed = reinterpret_cast<uintptr_t>(thread) ^ static_cast<uint64_t>(Nanoseconds(CLOCK_MONOTONIC));
    x = static_cast<uint32_t>(seed * 0x9E3779B97F4A7C15ULL >> 32) | 1;
  }
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  thread->random = x;
  // Evenly from 0 to 2 * kOneIn - 2 pass by, so that one in kOneIn is timed.
  thread->passed_by = static_cast<uint32_t>((uint64_t{x} * (2 * kOneIn - 1)) >> 32);
  return !first || x % kOneIn == 0;
}

void Count(const void* db, int64_t ns, uint32_t times) {
  const size_t set = SetOf(db);
  for (size_t way = 0; way < kWays; ++way) {
    if (g_sets[set].databases[way].load(std::memory_order_acquire) != db) continue;
    g_histograms[set][way].load(std::memory_order_relaxed)->Add(static_cast<uint64_t>(ns > 0 ? ns : 0), times);
    return;
  }
}

}  // namespace adocd::write_timing
