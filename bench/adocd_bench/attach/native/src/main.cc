// Writes to many databases as fast as it can, one thread each, and tells the longest write since it was last asked.
//
//   adocd-writers DIRECTORY DATABASES BYTES
//
// It keeps BYTES of memory beside its databases, all of it written to. Each line on stdin is answered by one line: the
// longest write in microseconds, of all databases. It says "ready" when all are open, and ends with its stdin.
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// So few that the databases stay small, however long it runs.
constexpr uint32_t kKeys = 100'000;
constexpr size_t kValueBytes = 1000, kPageBytes = 4096, kBlockBytes = 1 << 20;

std::atomic<bool> g_ends{false};
// The longest write since it was last asked for, in nanoseconds. One that is not over counts from the next question on.
std::atomic<int64_t> g_longest{0};

void Note(int64_t nanoseconds) {
  int64_t longest = g_longest.load(std::memory_order_relaxed);
  while (nanoseconds > longest && !g_longest.compare_exchange_weak(longest, nanoseconds)) {
  }
}

void Write(rocksdb::DB* db, uint32_t seed) {
  std::minstd_rand random(seed);
  std::string value(kValueBytes, '\0');
  for (char& byte : value) byte = static_cast<char>(random());
  char key[16];
  while (!g_ends.load(std::memory_order_relaxed)) {
    const int length = std::snprintf(key, sizeof key, "%08u", static_cast<unsigned>(random() % kKeys));
    const auto began = Clock::now();
    const rocksdb::Status status = db->Put({}, rocksdb::Slice(key, length), value);
    Note(std::chrono::nanoseconds(Clock::now() - began).count());
    if (!status.ok()) {
      std::cerr << status.ToString() << std::endl;
      std::exit(1);
    }
  }
}

// Blocks as a program's heap has them, each page with something in it.
std::vector<std::unique_ptr<char[]>> Memory(size_t bytes) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t block = 0; block < bytes / kBlockBytes; ++block) {
    blocks.emplace_back(new char[kBlockBytes]);
    for (size_t at = 0; at < kBlockBytes; at += kPageBytes) blocks.back()[at] = static_cast<char>(block + 1);
  }
  return blocks;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: adocd-writers DIRECTORY DATABASES BYTES" << std::endl;
    return 2;
  }
  const auto memory = Memory(std::strtoull(argv[3], nullptr, 10));
  std::vector<std::unique_ptr<rocksdb::DB>> databases;
  for (int number = 0; number < std::atoi(argv[2]); ++number) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, std::string(argv[1]) + "/" + std::to_string(number), &db);
    if (!status.ok()) {
      std::cerr << status.ToString() << std::endl;
      return 1;
    }
    databases.emplace_back(db);
  }
  std::vector<std::thread> writers;
  for (size_t number = 0; number < databases.size(); ++number) {
    writers.emplace_back(Write, databases[number].get(), static_cast<uint32_t>(number + 1));
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) std::cout << g_longest.exchange(0) / 1000 << std::endl;
  g_ends.store(true);
  for (std::thread& writer : writers) writer.join();
  return 0;
}
