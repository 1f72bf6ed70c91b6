// What the load generator's headers compute, as lines for the tests.
//
//   load_probe histogram < NANOSECONDS      "ns LOWEST NEXT" for each value, then "us LOWEST HIGHEST COUNT" of all
//   load_probe keys DISTRIBUTION RECORDS COUNT INSERT_EVERY SEED    a record a line; 0 for uniform, as in keys.h
//   load_probe arrivals POISSON SEED SECONDS RATE [SECONDS RATE ...]    nanoseconds, a line for each operation
#include <cstdio>
#include <cstdlib>
#include <string>

#include "arrivals.h"
#include "histogram.h"
#include "keys.h"

using namespace adocd::load;

namespace {

void ShowHistogram() {
  Histogram histogram;
  unsigned long long ns = 0;
  while (std::scanf("%llu", &ns) == 1) {
    histogram.Record(ns);
    const size_t index = Histogram::IndexOf(ns);
    std::printf("ns %llu %llu\n", static_cast<unsigned long long>(Histogram::LowestOf(index)),
                static_cast<unsigned long long>(Histogram::LowestOf(index + 1)));
  }
  Total total;
  total.Add(histogram);
  for (const Bucket& bucket : total.Buckets()) {
    std::printf("us %lu %lu %lu\n", bucket.lowest_us, bucket.highest_us, bucket.count);
  }
}

void ShowKeys(char** arguments) {
  const auto distribution = static_cast<Distribution>(std::atoi(arguments[0]));
  const uint64_t records = std::strtoull(arguments[1], nullptr, 10), count = std::strtoull(arguments[2], nullptr, 10);
  const uint64_t insert_every = std::strtoull(arguments[3], nullptr, 10), seed = std::atoi(arguments[4]);
  const KeyChooser chooser(distribution, records);
  Inserted inserted;
  inserted.AtLeast(records);
  for (uint64_t i = 0; i < count; ++i) {
    if (insert_every != 0 && i % insert_every == 0) inserted.Returned(inserted.Take());
    Stream random(seed, i);
    std::printf("%lu\n", chooser.Record(i, inserted, &random));
  }
}

void ShowArrivals(int count, char** arguments) {
  std::vector<Step> steps;
  for (int i = 2; i + 1 < count; i += 2) steps.push_back({std::atof(arguments[i]), std::atof(arguments[i + 1])});
  Arrivals arrivals(steps, std::atoi(arguments[0]) != 0, std::atoi(arguments[1]));
  uint64_t offset_ns = 0;
  for (uint64_t i = 0; arrivals.OffsetNs(i, &offset_ns); ++i) std::printf("%lu\n", offset_ns);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "histogram") ShowHistogram();
  if (what == "keys" && count == 7) ShowKeys(arguments + 2);
  if (what == "arrivals") ShowArrivals(count - 2, arguments + 2);
  return 0;
}
