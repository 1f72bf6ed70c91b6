// A program with RocksDB linked in statically: preloading the agent must change nothing, and nothing can be observed.
//
//   static_rocksdb PATH
//
// Opens PATH, writes and reads one key, prints "ready", waits for a line (or the end) of stdin, closes, prints
// "closed".
#include <rocksdb/db.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  std::string value;
  if (!rocksdb::DB::Open(options, argv[1], &db).ok() || !db->Put({}, "key", "value").ok() ||
      !db->Get({}, "key", &value).ok()) {
    std::cout << "error" << std::endl;
    return 1;
  }
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  delete db;
  std::cout << "closed" << std::endl;
  return 0;
}
