#include "exec_report.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "environment.h"
#include "standard_error.h"

namespace adocd {
namespace {

std::atomic<bool> g_opened{false};

// Whether this is the process that `adocd exec` was: children have its environment too.
bool IsTheProgram() { return EnvironmentText("ADOCD_AGENT_EXEC_PID") == std::to_string(getpid()); }

// Page faults of all children so far: it grows with every child that ended. Those of `adocd exec` itself count too.
long ChildrensFaults() {
  rusage children{};
  return getrusage(RUSAGE_CHILDREN, &children) == 0 ? children.ru_minflt : 0;
}

long g_faults_before = 0;

// Runs when the program exits: exit(3) or a return from main, not _exit(2) or a signal.
void Report(int status, void*) {
  if (status != 0 || g_opened || !IsTheProgram()) return;
  // A launcher or a script: its children may have opened databases, which nothing tells this process.
  if (ChildrensFaults() != g_faults_before) return;
  const std::string line = std::string("adocd: ") + program_invocation_name +
                           " ended without opening a RocksDB database under the agent: it opened none, only to read, or "
                           "through another copy of RocksDB than librocksdb.so (rocksdict brings its own: attach the "
                           "Python agent)\n";
  SayOnStandardError(line);
}

// When the agent's library is loaded, before main: the program need not call anything of RocksDB's.
__attribute__((constructor)) void Register() {
  if (!IsTheProgram()) return;
  g_faults_before = ChildrensFaults();
  on_exit(Report, nullptr);
}

}  // namespace

void NoteOpened() { g_opened = true; }

}  // namespace adocd
