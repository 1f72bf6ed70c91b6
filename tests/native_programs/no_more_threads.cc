// A library to preload. While the file exists that NO_MORE_THREADS_FILE names, no thread starts, as where a process has
// reached its limit. A real RLIMIT_NPROC does not hold root, whom the tests may run as.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const char* path = getenv("NO_MORE_THREADS_FILE");
  if (path && access(path, F_OK) == 0) return EAGAIN;
  return real(thread, attributes, body, argument);
}
