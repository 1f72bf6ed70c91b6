#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace rocksdb {
class RateLimiter;
}

namespace adocd::rate_requests {

// RateLimiter::RequestToken asks GetSingleBurstBytes how much it may request and requests no more. If SetBytesPerSecond
// lowers the rate between the two, the request is too large: a librocksdb that was compiled with assertions aborts
// there (GenericRateLimiter::Request in util/rate_limiter.cc). No lock of ours could cover the two, because Request
// sleeps. So there a rate comes down in two steps: first all requests become as small as the new rate allows, and after
// a while, in which every request that was begun before is past the assertion, the rate itself. Requests are not kept
// small longer than that: a flush goes before a compaction only as far as its request reaches. In a library without
// that assertion nothing here does anything.

// Whether it is RocksDB's own GenericRateLimiter, and not a class of the host's.
bool IsGeneric(const rocksdb::RateLimiter* limiter);

// The limiter of a database that opens, to be turned by Turn as long as anyone keeps what this returns. Null where it
// must not be turned: it limits reads, which go past RequestToken in part, or too many others are kept.
std::shared_ptr<rocksdb::RateLimiter> Turnable(std::shared_ptr<rocksdb::RateLimiter> limiter);

// SetBytesPerSecond; where that is a risk, it takes a tenth of a second to lower a rate.
void Turn(rocksdb::RateLimiter* limiter, int64_t bytes_per_second);

// How much of a write of `bytes` one request may be now.
size_t Bounded(const rocksdb::RateLimiter* limiter, size_t bytes);

// In a child of fork, where a lock may be somebody's who is not there.
void Forked() noexcept;

}  // namespace adocd::rate_requests
