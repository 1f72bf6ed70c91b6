#pragma once
#include <memory>
#include <string>

#include "accounts.h"
#include "api.h"
#include "registry.h"
#include "run_dir.h"
#include "sampler.h"
#include "server.h"

namespace adocd {

// The running agent of this process: made by the first successful open, never destroyed (threads and the host's
// static destructors may still reach it while the process ends).
class Agent {
 public:
  // The agent, or null before the first open and when it is out of order. While the process ends it stays.
  static Agent* Running();
  // Null with one line on stderr (once) when it cannot start.
  static Agent* Start();
  // Whether opens are to be looked at: not switched off, the right librocksdb, not failed before. The first call
  // decides; `reason` says why not.
  static bool Wanted(std::string* reason);
  // "sampled": writes are timed; "off": switched off; "none": this librocksdb has another write path.
  static std::string TimesWrites();
  // Gives up for good with one line on stderr.
  static void GiveUp(const std::string& reason);

  Registry& registry() { return registry_; }
  void LetGo(const OpenDatabase& database);

 private:
  Agent(ListeningSocket socket, AllowList allow);
  static void AtExit();
  static void BeforeFork();
  static void AfterForkInParent();
  static void AfterForkInChild();
  void Stop();

  const ListeningSocket socket_;
  Registry registry_;
  Sampler sampler_;
  AllowList allow_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<Server> server_;
};

}  // namespace adocd
