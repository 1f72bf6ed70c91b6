#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "api.h"
#include "registry.h"
#include "sampler.h"
#include "server.h"

namespace adocd::fuzz {

// The id of the one database, in place of the real one, so that a corpus means the same on every machine.
inline constexpr const char* kDatabase = "0123456789abcdef";

// A process with the agent in it and one open database: the server with its socket and threads, the api, a registry,
// and a RocksDB with three column families in RocksDB's own in-memory Env. What the preloaded library adds (replaced
// functions, the choice of a run directory, who may talk) is left out. Ends the process when an answer is a 500, is
// not JSON, or when an exception leaves the request handling.
class Host {
 public:
  // Made by the first call.
  static Host& Get();

  // One client: connects, sends these bytes, says that no more will come, and reads until the agent closes.
  void Converse(const uint8_t* data, size_t size);
  // One request that HTTP's parser has no part in.
  HttpResponse Ask(std::string method, std::string target, std::string body = "");
  // Waits until no step of a restore plan can be executed just now.
  void AwaitRestore();
  // After every input, so that the next finds the same: ends its lease, and lets epochs begin at 1 again. What it
  // changed stays, but every so often the database is closed and another one opened.
  void Settle();

 private:
  Host();
  void Open();
  void Close();
  void Handle(HttpRequest request, Reply reply) noexcept;

  std::unique_ptr<rocksdb::Env> env_;
  rocksdb::DB* db_ = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  OpenDatabase database_;
  Registry registry_;
  Sampler sampler_;
  Server server_;
  std::unique_ptr<Api> api_;
  std::string address_;
  std::atomic<int64_t> epochs_before_{0};  // leases before this input
  uint64_t settled_ = 0;                   // the last event before this input
};

}  // namespace adocd::fuzz
