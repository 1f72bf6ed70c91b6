// A library to preload: the wall clock of the program, and of nothing else, is as many seconds off as the file says
// that SHIFTED_CLOCK_FILE names: 8 bytes, a signed number in the machine's order, which may change at any time. What
// sets the machine's own clock would harm whatever else runs here; monotonic clocks are not touched, as that would not
// touch them either.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

const volatile int64_t* Map() {
  static const int64_t kNone = 0;
  const char* path = getenv("SHIFTED_CLOCK_FILE");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return &kNone;
  void* mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &kNone : static_cast<const int64_t*>(mapped);
}

int64_t Shift() {
  static const volatile int64_t* const shift = Map();
  return *shift;
}

template <typename Function>
Function Real(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, struct timespec* now) {
  static const auto real = Real(&clock_gettime, "clock_gettime");
  const int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += Shift();
  return result;
}

int gettimeofday(struct timeval* now, void* zone) {
  static const auto real = Real(&gettimeofday, "gettimeofday");
  const int result = real(now, zone);
  if (result == 0) now->tv_sec += Shift();
  return result;
}

time_t time(time_t* now) {
  static const auto real = Real(&time, "time");
  const time_t seconds = real(nullptr) + Shift();
  if (now) *now = seconds;
  return seconds;
}

}  // extern "C"
