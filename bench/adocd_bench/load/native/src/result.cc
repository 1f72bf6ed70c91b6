#include "result.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace adocd::load {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr std::array<const char*, kLatencies> kLatencyNames = {"processing", "queueing", "total"};

// VmHWM, in bytes. Not getrusage, whose maximum can be that of the program that started this one.
uint64_t PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kib = 0;
  while (status >> word) {
    if (word == "VmHWM:") {
      status >> kib;
      break;
    }
  }
  return kib * 1024;
}

Json Latencies(const Total& total) {
  Json buckets = Json::array();
  for (const Bucket& bucket : total.Buckets()) buckets.push_back({bucket.lowest_us, bucket.highest_us, bucket.count});
  return {{"buckets", buckets}, {"max_us", total.most_us()}};
}

Json Operations(const Tallies& tallies, bool open) {
  Json operations = Json::object();
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (tallies.done[kind] + tallies.not_started[kind] == 0) continue;
    Json one = {{"count", tallies.done[kind]}};
    if (open) one["not_started"] = tallies.not_started[kind];
    for (size_t latency = 0; latency < (open ? kLatencies : 1); ++latency) {
      one[kLatencyNames[latency]] = Latencies(tallies.latencies[kind][latency]);
    }
    operations[kKindNames[kind]] = one;
  }
  return operations;
}

Json Seconds(const Tallies& tallies, bool open) {
  Json seconds = Json::array();
  for (size_t at = 0; at < tallies.seconds.size(); ++at) {
    const Second& second = tallies.seconds[at];
    Json row = {{"at_s", at}, {"longest_us", second.longest_ns / 1000}};
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (second.done[kind] > 0) row[kKindNames[kind]] = second.done[kind];
    }
    if (open) row["offered"] = second.offered;
    seconds.push_back(row);
  }
  return seconds;
}

Json PhaseJson(const Phase& phase, const PhaseResult& result) {
  Json json = {{"name", phase.name},
               {"measured", phase.measured},
               {"begin_monotonic_s", static_cast<double>(result.begin_ns) / static_cast<double>(kNsPerS)},
               {"begin_unix_s", result.begin_unix_s},
               {"seconds", result.seconds},
               {"cpu_s", result.cpu_s}};
  if (result.tallies) {
    const bool open = phase.open.has_value();
    json["loop"] = open ? "open" : "closed";
    json["operations_by_kind"] = Operations(*result.tallies, open);
    json["not_found"] = result.tallies->not_found;
    json["by_second"] = Seconds(*result.tallies, open);
  }
  if (result.drained) {
    json["drain"] = {{"reached", result.drained->reached},
                     {"pending_compaction_bytes", result.drained->pending_compaction_bytes}};
  }
  return json;
}

}  // namespace

void WriteResult(const std::string& file, const Result& result) {
  Json json = {{"format", kFormat},
               {"interrupted", result.interrupted},
               {"rocksdb_version", result.rocksdb_version},
               {"effective",
                {{"bytes_per_sync", result.effective.bytes_per_sync},
                 {"delayed_write_rate", result.effective.delayed_write_rate},
                 {"max_background_jobs", result.effective.max_background_jobs}}},
               {"cpu_s", CpuSeconds()},
               {"peak_rss_bytes", PeakResidentBytes()},
               {"phases", Json::array()}};
  for (const auto& [phase, of_phase] : result.phases) json["phases"].push_back(PhaseJson(*phase, of_phase));
  const std::string unfinished = file + ".unfinished";
  std::ofstream stream(unfinished);
  stream << json << '\n';
  stream.close();
  if (!stream || std::rename(unfinished.c_str(), file.c_str()) != 0) throw Failed(file + " cannot be written");
}

}  // namespace adocd::load
