// adocd-load SPEC.json: opens a database, executes the spec's phases, writes its result file.
//
// Exit codes: 0 done; 1 RocksDB failed, or the result cannot be written; 2 wrong usage or spec; 128 plus the signal's
// number if SIGTERM or SIGINT ended it early (then it still closes the database, and the result says so).

#include <rocksdb/version.h>

#include <cstdio>
#include <string>

#include "phase.h"
#include "result.h"

namespace adocd::load {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kSignal = 128 };

int Fail(ExitCode code, const std::string& sentence) {
  std::fprintf(stderr, "adocd-load: %s\n", sentence.c_str());
  return code;
}

int Run(const Spec& spec, Signals* signals) {
  Database database(spec);
  Inserted inserted;
  Result result;
  result.rocksdb_version = rocksdb::GetRocksVersionAsString();
  result.effective = database.rocksdb()->GetDBOptions();
  for (size_t i = 0; i < spec.phases.size() && !signals->Wait(0); ++i) {
    std::printf("phase %s\n", spec.phases[i].name.c_str());
    std::fflush(stdout);
    result.phases.emplace_back(&spec.phases[i], RunPhase(spec, i, &database, &inserted, signals));
  }
  result.interrupted = signals->received() != 0;
  database.Close();
  WriteResult(spec.result, result);
  return result.interrupted ? kSignal + signals->received() : kDone;
}

int Main(int count, char** arguments) {
  if (count != 2) return Fail(kUsage, "usage: adocd-load SPEC.json");
  Signals signals;
  try {
    return Run(ReadSpec(arguments[1]), &signals);
  } catch (const SpecError& error) {
    return Fail(kUsage, std::string(arguments[1]) + ": " + error.what());
  } catch (const std::exception& error) {
    return Fail(kFailed, error.what());
  }
}

}  // namespace
}  // namespace adocd::load

int main(int count, char** arguments) { return adocd::load::Main(count, arguments); }
