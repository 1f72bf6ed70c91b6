// What the sanitizers do in every target. Leaks are looked for when a run ends. container-overflow needs no exception
// for librocksdb: libstdc++ annotates no container unless asked.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=6:quarantine_size_mb=32:allocator_may_return_null=1:allow_addr2line=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
