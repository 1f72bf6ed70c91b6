// Links the agent instead of being preloaded with it.
//
//   linked PATH
//
// Calls adocd_agent_start and prints "agent VERSION" or "no agent: SENTENCE"; opens PATH, prints "ready", waits for a
// line (or the end) of stdin, closes, prints "closed". linked_wrong_order is the same program with -lrocksdb before
// -ladocd_agent: it must print "no agent: ..." and work on.
#include <adocd/agent.h>
#include <rocksdb/db.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char error[512];
  if (adocd_agent_start(error, sizeof error) == 0) {
    std::cout << "agent " << adocd_agent_version() << std::endl;
  } else {
    std::cout << "no agent: " << error << std::endl;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, argv[1], &db);
  if (!status.ok()) {
    std::cout << "error: " << status.ToString() << std::endl;
    return 1;
  }
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  delete db;
  std::cout << "closed" << std::endl;
  return 0;
}
