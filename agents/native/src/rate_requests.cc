#include "rate_requests.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <rocksdb/rate_limiter.h>

// The virtual table of the class with the assertion; a host's own class has none. Null if the library hides it.
extern "C" const char adocd_generic_limiter[] __asm__("_ZTVN7rocksdb18GenericRateLimiterE") __attribute__((weak));

namespace adocd::rate_requests {
namespace {

using rocksdb::RateLimiter;

#if ADOCD_ROCKSDB_ASSERTS_BURST
constexpr bool kAsserts = true;
#else
constexpr bool kAsserts = false;
#endif

constexpr size_t kMostKept = 256;
// Above this, RocksDB does not compute the burst from the rate and the refill period, which by default is 100 ms.
constexpr int64_t kOverflows = INT64_MAX / 1'000'000, kPeriodsPerSecond = 10;
// A request is within the assertion's reach for less than a microsecond, unless its thread is preempted there. Many
// short pauses instead of a long one: where the whole process stands still, only one of them passes meanwhile.
constexpr int kPauses = 10;
constexpr std::chrono::milliseconds kPause{10};

// Requests read these without a lock: a child of fork may inherit a lock that nobody gives up.
struct Kept {
  std::atomic<const RateLimiter*> limiter{nullptr};
  std::atomic<int64_t> most_bytes{INT64_MAX};
  int users = 0;
};

Kept g_kept[kMostKept];
std::atomic<size_t> g_slots{0};  // that were ever in use
std::mutex g_table_mutex;        // of whoever changes the table
std::mutex g_turn_mutex;         // of whoever lowers a rate

Kept* Find(const RateLimiter* limiter) {
  for (size_t i = 0, slots = g_slots.load(std::memory_order_acquire); i < slots; ++i) {
    if (g_kept[i].limiter.load(std::memory_order_acquire) == limiter) return &g_kept[i];
  }
  return nullptr;
}

bool HasAssertion(const RateLimiter* limiter) {
  return kAsserts && (!adocd_generic_limiter || IsGeneric(limiter));
}

bool Add(const RateLimiter* limiter) {
  const std::lock_guard<std::mutex> lock(g_table_mutex);
  Kept* kept = Find(limiter);
  if (!kept) kept = Find(nullptr);
  if (!kept) {
    if (g_slots == kMostKept) return false;
    kept = &g_kept[g_slots++];
  }
  ++kept->users;
  kept->limiter = limiter;
  return true;
}

void Remove(const RateLimiter* limiter) {
  const std::lock_guard<std::mutex> lock(g_table_mutex);
  Kept* kept = Find(limiter);
  if (kept && --kept->users == 0) kept->limiter = nullptr;
}

}  // namespace

bool IsGeneric(const RateLimiter* limiter) {
  constexpr size_t kBeforeFunctions = 2 * sizeof(void*);  // the offset to the top, and the type
  if (!adocd_generic_limiter) return false;
  return *reinterpret_cast<const char* const*>(limiter) == adocd_generic_limiter + kBeforeFunctions;
}

std::shared_ptr<RateLimiter> Turnable(std::shared_ptr<RateLimiter> limiter) {
  if (!limiter || !HasAssertion(limiter.get())) return limiter;
  if (limiter->IsRateLimited(RateLimiter::OpType::kRead) || !Add(limiter.get())) return nullptr;
  auto* raw = limiter.get();
  return {raw, [owner = std::move(limiter)](RateLimiter* kept) { Remove(kept); }};
}

void Turn(RateLimiter* limiter, int64_t bytes_per_second) {
  Kept* const kept = Find(limiter);
  if (!kept || bytes_per_second >= limiter->GetBytesPerSecond()) return limiter->SetBytesPerSecond(bytes_per_second);
  const std::lock_guard<std::mutex> lock(g_turn_mutex);
  const int64_t rate = std::max<int64_t>(limiter->GetBytesPerSecond(), 1);
  const auto burst = rate > kOverflows
                         ? bytes_per_second / kPeriodsPerSecond
                         : static_cast<__int128>(limiter->GetSingleBurstBytes()) * bytes_per_second / rate;
  kept->most_bytes = std::max<int64_t>(1, static_cast<int64_t>(burst));
  for (int i = 0; i < kPauses; ++i) std::this_thread::sleep_for(kPause);
  limiter->SetBytesPerSecond(bytes_per_second);
  kept->most_bytes = INT64_MAX;
}

size_t Bounded(const RateLimiter* limiter, size_t bytes) {
  const Kept* kept = Find(limiter);
  return kept ? std::min(bytes, static_cast<size_t>(kept->most_bytes.load())) : bytes;
}

void Forked() noexcept {
  new (&g_table_mutex) std::mutex;
  new (&g_turn_mutex) std::mutex;
  for (auto& kept : g_kept) kept.most_bytes = INT64_MAX;  // the thread that lowers a rate is not there
}

}  // namespace adocd::rate_requests
