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

// The agent of this process. The first successful open creates it; nothing destroys it, because threads and the host's
// static destructors may still reach it while the process ends.
class Agent {
 public:
  // The agent; null before the first open, and if it failed. Stays valid while the process ends.
  static Agent* Running();
  // Starts the agent. If it cannot start, returns null and writes one line to stderr (once).
  static Agent* Start();
  // Whether the agent observes opens: it is not switched off, librocksdb is the right one, and it has not failed
  // before. The first call decides; `reason` says why not.
  static bool Wanted(std::string* reason);
  // "sampled": writes are timed; "off": switched off; "none": this librocksdb has another write path.
  static std::string TimesWrites();
  // Switches the agent off for the rest of the process, with one line on stderr.
  static void GiveUp(const std::string& reason);

  // Ends what Start began, for an attached agent: the process is as it was, but for our library. No open starts it anew
  // before MayReturn.
  static void End();
  static void MayReturn();

  Registry& registry() { return registry_; }
  void Observe(const std::shared_ptr<Session>& session);
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
