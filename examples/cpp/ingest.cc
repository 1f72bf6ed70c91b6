// Writes sensor readings into RocksDB, and lets adocd keep its writes flowing.
//
//   ingest DIRECTORY [GIGABYTES]
//
// Writes until Ctrl-C. It keeps the last reading of each sensor, and has as many sensors as make GIGABYTES (2);
// the database takes up to three times that. Two things are adocd's: the include, and the call of adocd_agent_start
// before the first open.
#include <adocd/agent.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>

namespace {

volatile std::sig_atomic_t stopped = 0;

void Stop(int) { stopped = 1; }

constexpr size_t kReadingBytes = 1000;

// In a stall it is db->Put that waits.
rocksdb::Status Ingest(rocksdb::DB* db, uint64_t sensors) {
  std::mt19937_64 random{std::random_device{}()};
  std::string reading(kReadingBytes, '\0');
  for (long number = 1; !stopped; ++number) {
    const std::string sensor = std::to_string(random() % sensors);
    for (char& byte : reading) byte = static_cast<char>(random());
    const rocksdb::Status status = db->Put(rocksdb::WriteOptions(), sensor, reading);
    if (!status.ok()) return status;
    if (number % 100000 == 0) std::cout << number << " readings" << std::endl;
  }
  return rocksdb::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  const double gigabytes = argc == 3 ? std::atof(argv[2]) : 2;
  if (argc < 2 || argc > 3 || gigabytes <= 0) {
    std::cerr << "usage: ingest DIRECTORY [GIGABYTES]\n";
    return 2;
  }
  const auto sensors = std::max<uint64_t>(1, static_cast<uint64_t>(gigabytes * 1e9 / kReadingBytes));
  std::signal(SIGINT, Stop);
  std::signal(SIGTERM, Stop);

  // Once, before the first open. Without the agent the program runs as it would without the library.
  char error[512];
  if (adocd_agent_start(error, sizeof error) != 0) std::cerr << "no agent: " << error << std::endl;

  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, argv[1], &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  if (status.ok()) std::cout << "writing to " << argv[1] << std::endl;
  if (status.ok()) status = Ingest(db.get(), sensors);
  if (!status.ok()) std::cerr << status.ToString() << std::endl;
  return status.ok() ? 0 : 1;
}
