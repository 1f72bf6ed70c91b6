#include "clients.h"

#include <sys/prctl.h>

#include <algorithm>

namespace adocd::load {
namespace {

constexpr uint64_t kGetReadyNs = kNsPerS / 100;
constexpr uint64_t kLookForStopNs = kNsPerS / 10;
constexpr uint64_t kExpectedSecondsAtMost = 1 << 20;

uint64_t ToNs(double seconds) { return static_cast<uint64_t>(seconds * static_cast<double>(kNsPerS)); }

uint64_t ExpectedSeconds(const Phase& phase) {
  const double seconds = phase.open ? phase.open->Seconds() : phase.closed->seconds.value_or(60);
  return std::min(static_cast<uint64_t>(seconds) + 2, kExpectedSecondsAtMost);
}

}  // namespace

Clients::Clients(const Spec& spec, size_t phase, const Database& database, Inserted* inserted)
    : phase_(spec.phases[phase]),
      database_(database),
      inserted_(inserted),
      seed_(Mix(spec.seed) + phase),
      chooser_(phase_.distribution, std::max<uint64_t>(phase_.records, 1)),
      clients_(phase_.threads) {
  for (Client& client : clients_) client.tally.seconds.reserve(ExpectedSeconds(phase_));
}

Clients::~Clients() {
  Stop();
  for (Client& client : clients_) {
    if (client.thread.joinable()) client.thread.join();
  }
}

void Clients::Start() {
  running_ = clients_.size();
  begin_ns_ = NowNs() + kGetReadyNs;  // time for all threads to start
  for (Client& client : clients_) {
    client.thread = std::thread([this, &client] {
      Run(&client);
      --running_;
    });
  }
}

void Clients::Run(Client* client) {
  // By default the kernel may wake a sleeping thread 50 us late, which would count as queueing.
  prctl(PR_SET_TIMERSLACK, 1);
  try {
    phase_.open ? RunOpen(client) : RunClosed(client);
  } catch (const std::exception& error) {
    const std::lock_guard lock(error_mutex_);
    if (error_.empty()) error_ = error.what();
    stop_ = true;
  }
}

void Clients::RunOpen(Client* client) {
  Arrivals arrivals = MakeArrivals();
  const uint64_t deadline_ns = begin_ns_ + ToNs(phase_.open->Seconds()) + ToNs(phase_.open->overrun_at_most_s);
  uint64_t offset_ns = 0;
  while (arrivals.OffsetNs(Take(client), &offset_ns)) {
    const uint64_t intended_ns = begin_ns_ + offset_ns;
    if (!WaitUntil(intended_ns)) return;
    const uint64_t call_ns = NowNs();
    if (call_ns > deadline_ns) return;
    ++SecondAt(&client->tally.seconds, offset_ns).offered;
    Carry(client->held, intended_ns, call_ns, client);
  }
  WaitUntil(begin_ns_ + ToNs(phase_.open->Seconds()));  // a phase lasts as long as its steps, also idle ones at its end
}

void Clients::RunClosed(Client* client) {
  const uint64_t deadline_ns = phase_.closed->seconds ? begin_ns_ + ToNs(*phase_.closed->seconds) : UINT64_MAX;
  const uint64_t count = phase_.closed->count.value_or(UINT64_MAX);
  if (!WaitUntil(begin_ns_)) return;
  while (!stop_.load(std::memory_order_relaxed) && Take(client) < count) {
    const uint64_t call_ns = NowNs();
    if (call_ns >= deadline_ns) return;
    Carry(client->held, call_ns, call_ns, client);
  }
}

bool Clients::WaitUntil(uint64_t at_ns) const {
  while (!stop_.load(std::memory_order_relaxed)) {
    const uint64_t now_ns = NowNs();
    if (now_ns >= at_ns) return true;
    SleepUntil(std::min(at_ns, now_ns + kLookForStopNs));
  }
  return false;
}

void Clients::Carry(uint64_t number, uint64_t intended_ns, uint64_t call_ns, Client* client) {
  Stream random(seed_, number);
  const Kind kind = Choose(phase_.weights, random.Unit());
  const uint64_t record = kind == kInsert ? inserted_->Take() : chooser_.Record(number, *inserted_, &random);
  const uint64_t scan_records = kind == kScan ? 1 + random.Below(phase_.scan_length) : 0;
  const rocksdb::Status status = database_.Do(kind, record, scan_records, &random);
  const uint64_t return_ns = NowNs();
  if (!status.ok() && !status.IsNotFound()) {
    throw Failed("phase " + phase_.name + ": " + kKindNames[kind] + " failed: " + status.ToString());
  }
  if (kind == kInsert) inserted_->Returned(record);
  Tally& tally = client->tally;
  ++tally.done[kind];
  tally.not_found += status.IsNotFound();
  tally.last_return_ns = return_ns;
  tally.Record(kind, kProcessing, return_ns - call_ns);
  if (phase_.open) {
    tally.Record(kind, kQueueing, call_ns - intended_ns);
    tally.Record(kind, kTotal, return_ns - intended_ns);
  }
  Second& second = SecondAt(&tally.seconds, return_ns - begin_ns_);
  ++second.done[kind];
  second.longest_ns = std::max(second.longest_ns, return_ns - intended_ns);
}

Tallies Clients::Collect() {
  for (Client& client : clients_) client.thread.join();
  if (!error_.empty()) throw Failed(error_);
  Tallies tallies;
  for (const Client& client : clients_) tallies.Add(client.tally);
  end_ns_ = std::max(tallies.last_return_ns, begin_ns_);
  if (phase_.open) {
    end_ns_ = std::max(end_ns_, stop_ ? NowNs() : begin_ns_ + ToNs(phase_.open->Seconds()));
    CountNotStarted(&tallies);
  }
  return tallies;
}

// An operation that was due but never started has waited at least until the end. Without it, the worst latencies would
// be missing.
void Clients::CountNotStarted(Tallies* tallies) {
  std::vector<uint64_t> held;
  for (const Client& client : clients_) held.push_back(client.held);
  std::sort(held.begin(), held.end());
  Arrivals arrivals = MakeArrivals();
  Tally tally;
  uint64_t offset_ns = 0;
  for (size_t i = 0;; ++i) {
    const uint64_t number = i < held.size() ? held[i] : next_ + (i - held.size());
    if (!arrivals.OffsetNs(number, &offset_ns) || begin_ns_ + offset_ns > end_ns_) break;
    const Kind kind = KindOf(number);
    const uint64_t waited_ns = end_ns_ - begin_ns_ - offset_ns;
    ++tally.not_started[kind];
    tally.Record(kind, kQueueing, waited_ns);
    tally.Record(kind, kTotal, waited_ns);
    ++SecondAt(&tally.seconds, offset_ns).offered;
  }
  tallies->Add(tally);
}

}  // namespace adocd::load
