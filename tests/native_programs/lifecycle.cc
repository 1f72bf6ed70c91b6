// A host that does with its databases what it is told: one command a line on stdin, one answer a line on stdout, "ok",
// "ok VALUE" or "error: REASON". PATH names a database everywhere; CF a column family. Prints "ready" first.
//
//   open PATH [CF ...] [NAME=VALUE ...]  opens (creates) with these column families beside "default", and options as
//                                        in an OPTIONS file; a name is looked for among the database's options first.
//                                        db_path=DIRECTORY and cf_path=DIRECTORY put the SST files there
//   open_like PATH OTHER                 opens PATH with the options of the open database OTHER (DB::GetOptions),
//                                        including its listeners
//   close PATH                           deletes the handles, then the database
//   try_close PATH                       DB::Close; answers "ok STATUS" (the object stays; `close` deletes it)
//   hold_snapshot PATH                   takes a RocksDB snapshot, so that try_close answers Aborted
//   release_snapshot PATH                gives it back
//   create_cf PATH CF                    CreateColumnFamily
//   create_cfs PATH CF CF ...            CreateColumnFamilies
//   import_cf PATH CF NEW                exports CF and imports it as NEW: CreateColumnFamilyWithImport
//   drop_cf PATH CF                      DropColumnFamily; the handle stays
//   drop_cfs PATH CF CF ...              DropColumnFamilies; the handles stay
//   delete_handle PATH CF                deletes the handle; the column family stays unless it was dropped
//   put PATH N [CF] [BYTES]              N keys of BYTES (100) each, random order
//   flush PATH [CF]                      and waits for it
//   compact PATH [CF]                    CompactRange over everything
//   set_option PATH CF NAME VALUE        the host's own SetOptions
//   set_db_option PATH NAME VALUE        the host's own SetDBOptions
//   get_option PATH CF NAME              answers "ok VALUE"
//   get_db_option PATH NAME              answers "ok VALUE"
//   property PATH CF NAME                answers "ok VALUE"
//   limiter PATH                         answers "ok REQUESTS BYTES" that went through its rate limiter
//   set_limiter PATH BYTES_PER_S         the host's own SetBytesPerSecond
//   watch_requests PATH BYTES            a thread requests BYTES of its rate limiter, again and again
//   watched                              answers "ok EARLY LAST": how often it was granted less while the rate was
//                                        what it had been at the beginning, and what it was granted last
//   end_watch                            ends that thread
//   lose_a_wakeup PATH                   two threads request bytes so that the second one waits for good where RocksDB
//                                        has that mistake (facebook/rocksdb#11742). Nobody may have requested before
//   waiting                              answers "ok COUNT": how many of these threads wait still
//   version                              answers "ok VERSION", RocksDB's
//   stall PATH                           pauses background work and writes on a thread of its own until writes are
//                                        stopped; open with a small write_buffer_size (65536) to be quick. SetOptions
//                                        hangs meanwhile, as in a real stall
//   stall_cf PATH CF                     the same, the writes going to CF
//   unstall PATH                         lets background work go on and ends that thread
//   fork_child                           a child that does nothing: "ok PID"
//   fork_child_open PATH                 a child that opens PATH: "ok PID" once it is open, "error: ..." otherwise.
//                                        RocksDB's thread pools do not survive a fork: where the parent had opened a
//                                        database before, the child dies of SIGSEGV in its close, agent or not
//   end_child PID                        the child closes what it opened and exits: "ok STATUS"
//   exec PROGRAM [ARGUMENT ...]          execvp; no answer
//   sleep MILLISECONDS
//   exit STATUS                          exit() with the databases open
//   _exit STATUS                         the same without exit handlers
//   quit                                 closes everything and exits with 0, as does the end of stdin
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/version.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Words = std::vector<std::string>;

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::string words = status.ToString();
  words.erase(std::remove(words.begin(), words.end(), '\n'), words.end());  // an answer is a line
  throw std::runtime_error(words);
}

struct Database {
  rocksdb::DB* db = nullptr;
  std::map<std::string, rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Snapshot* snapshot = nullptr;
  std::thread writer;
  std::atomic<bool> writing{false};

  rocksdb::ColumnFamilyHandle* Handle(const std::string& name) {
    const auto found = handles.find(name);
    if (found == handles.end()) throw std::runtime_error("no handle of column family " + name);
    return found->second;
  }
};

std::map<std::string, std::unique_ptr<Database>> g_open;
std::map<pid_t, int> g_children;  // with the pipe whose end tells the child to exit

Database& Find(const std::string& path) {
  const auto found = g_open.find(path);
  if (found == g_open.end()) throw std::runtime_error("not open: " + path);
  return *found->second;
}

std::string Rest(const Words& words, size_t index, const std::string& otherwise) {
  return words.size() > index ? words[index] : otherwise;
}

const std::string& Need(const Words& words, size_t index) {
  if (words.size() <= index) throw std::runtime_error("an argument is missing");
  return words[index];
}

void OpenWith(const std::string& path, const rocksdb::DBOptions& db_options,
              const rocksdb::ColumnFamilyOptions& family_options, const Words& families) {
  if (g_open.count(path)) throw std::runtime_error("already open");
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors{{"default", family_options}};
  for (const auto& name : families) descriptors.emplace_back(name, family_options);
  auto database = std::make_unique<Database>();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  Check(rocksdb::DB::Open(db_options, path, descriptors, &handles, &database->db));
  for (auto* handle : handles) database->handles[handle->GetName()] = handle;
  g_open[path] = std::move(database);
}

std::string Open(const Words& words) {
  rocksdb::DBOptions db_options;
  rocksdb::ColumnFamilyOptions family_options;
  db_options.create_if_missing = true;
  db_options.create_missing_column_families = true;
  rocksdb::ConfigOptions config;
  Words families;
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) {
      families.push_back(words[i]);
      continue;
    }
    const std::string name = words[i].substr(0, equals), value = words[i].substr(equals + 1);
    if (name == "rate_limiter") {
      db_options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(std::stoll(value)));
      continue;
    }
    if (name == "rate_limiter_of_all") {
      db_options.rate_limiter.reset(
          rocksdb::NewGenericRateLimiter(std::stoll(value), 100 * 1000, 10, rocksdb::RateLimiter::Mode::kAllIo));
      continue;
    }
    if (name == "db_path" || name == "cf_path") {
      (name == "db_path" ? db_options.db_paths : family_options.cf_paths).emplace_back(value, UINT64_MAX);
      continue;
    }
    const std::unordered_map<std::string, std::string> option{{name, value}};
    const auto base = db_options;
    if (!rocksdb::GetDBOptionsFromMap(config, base, option, &db_options).ok()) {
      db_options = base;
      const auto family_base = family_options;
      Check(rocksdb::GetColumnFamilyOptionsFromMap(config, family_base, option, &family_options));
    }
  }
  OpenWith(Need(words, 1), db_options, family_options, families);
  return "";
}

std::string OpenLike(const Words& words) {
  rocksdb::Options options = Find(Need(words, 2)).db->GetOptions();
  // These belong to the other database, and RocksDB itself crashes when it is closed first.
  options.info_log.reset();
  options.sst_file_manager.reset();
  options.write_buffer_manager.reset();
  options.wal_dir.clear();
  options.db_paths.clear();  // would put the files of PATH beside OTHER's
  options.cf_paths.clear();
  OpenWith(Need(words, 1), options, options, {});
  return "";
}

void EndWriter(Database& database) {
  if (!database.writer.joinable()) return;
  database.writing = false;
  Check(database.db->ContinueBackgroundWork());
  database.writer.join();
}

std::string Close(const Words& words) {
  Database& database = Find(Need(words, 1));
  EndWriter(database);
  if (database.snapshot) database.db->ReleaseSnapshot(database.snapshot);
  for (auto& [name, handle] : database.handles) delete handle;
  delete database.db;
  g_open.erase(words[1]);
  return "";
}

std::string TryClose(const Words& words) {
  Database& database = Find(Need(words, 1));
  if (!database.snapshot) {
    for (auto& [name, handle] : database.handles) delete handle;
    database.handles.clear();
  }
  return database.db->Close().ToString();
}

std::string CreateMany(const Words& words) {
  Database& database = Find(Need(words, 1));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const auto status = database.db->CreateColumnFamilies({}, Words(words.begin() + 2, words.end()), &handles);
  for (auto* handle : handles) database.handles[handle->GetName()] = handle;
  Check(status);
  return "";
}

std::string DropMany(const Words& words) {
  Database& database = Find(Need(words, 1));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (size_t i = 2; i < words.size(); ++i) handles.push_back(database.Handle(words[i]));
  Check(database.db->DropColumnFamilies(handles));
  return "";
}

std::string Import(const Words& words) {
  Database& database = Find(Need(words, 1));
  rocksdb::Checkpoint* made = nullptr;
  Check(rocksdb::Checkpoint::Create(database.db, &made));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  rocksdb::ExportImportFilesMetaData* files = nullptr;
  Check(checkpoint->ExportColumnFamily(database.Handle(Need(words, 2)), words[1] + ".export", &files));
  const std::unique_ptr<rocksdb::ExportImportFilesMetaData> owned(files);
  Check(database.db->CreateColumnFamilyWithImport({}, Need(words, 3), {}, *files, &database.handles[words[3]]));
  return "";
}

std::string Put(const Words& words) {
  Database& database = Find(Need(words, 1));
  auto* handle = database.Handle(Rest(words, 3, "default"));
  std::mt19937_64 random(42);
  const std::string value(std::stoul(Rest(words, 4, "100")), 'v');
  for (unsigned long i = std::stoul(Need(words, 2)); i > 0; --i) {
    Check(database.db->Put({}, handle, std::to_string(random()), value));
  }
  return "";
}

std::string Stall(const Words& words, const std::string& family) {
  Database& database = Find(Need(words, 1));
  if (database.writer.joinable()) throw std::runtime_error("already stalled");
  auto* handle = database.Handle(family);
  Check(database.db->PauseBackgroundWork());
  database.writing = true;
  database.writer = std::thread([&database, handle] {
    std::mt19937_64 random(7);
    const std::string value(1000, 'v');
    while (database.writing) {
      if (!database.db->Put({}, handle, std::to_string(random()), value).ok()) return;
    }
  });
  uint64_t stopped = 0;
  while (!stopped) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    database.db->GetIntProperty("rocksdb.is-write-stopped", &stopped);
  }
  return "";
}

// What a child does after fork: tell the parent how the open went, wait for the pipe's end, exit.
[[noreturn]] void Child(const std::string& path, int report, int until) {
  rocksdb::DB* db = nullptr;
  std::string error = "+";
  if (!path.empty()) {
    rocksdb::Options options;
    options.create_if_missing = true;
    const auto status = rocksdb::DB::Open(options, path, &db);
    if (!status.ok()) error = status.ToString();
  }
  (void)!write(report, error.data(), error.size());
  close(report);
  char byte;
  (void)!read(until, &byte, 1);
  delete db;
  if (path.empty()) _exit(0);  // threads of the parent's databases do not exist here, but their destructors would run
  std::exit(0);
}

std::string Fork(const std::string& path) {
  int report[2], until[2];
  if (pipe(report) != 0 || pipe(until) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    close(report[0]);
    close(until[1]);
    Child(path, report[1], until[0]);
  }
  close(report[1]);
  close(until[0]);
  char text[512] = {};
  const ssize_t length = read(report[0], text, sizeof text - 1);
  close(report[0]);
  g_children[child] = until[1];
  if (length <= 0) throw std::runtime_error("the child died");
  if (text[0] != '+') throw std::runtime_error(text);
  return std::to_string(child);
}

std::string EndChild(const Words& words) {
  const pid_t child = std::stoi(Need(words, 1));
  const auto found = g_children.find(child);
  if (found == g_children.end()) throw std::runtime_error("no such child");
  close(found->second);
  g_children.erase(found);
  int status = 0;
  waitpid(child, &status, 0);
  return std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

std::string Exec(Words words) {
  std::vector<char*> arguments;
  for (size_t i = 1; i < words.size(); ++i) arguments.push_back(words[i].data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw std::runtime_error("exec failed");
}

// The value of `name` in what RocksDB writes for an OPTIONS file.
std::string ValueOf(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, name.size() + 1, name + "=") == 0) return line.substr(name.size() + 1);
  }
  throw std::runtime_error("no such option: " + name);
}

rocksdb::ConfigOptions OneALine() {
  rocksdb::ConfigOptions config;
  config.delimiter = "\n";
  return config;
}

std::string GetOption(const Words& words) {
  Database& database = Find(Need(words, 1));
  std::string text;
  Check(rocksdb::GetStringFromColumnFamilyOptions(OneALine(), database.db->GetOptions(database.Handle(Need(words, 2))), &text));
  return ValueOf(text, Need(words, 3));
}

std::string GetDbOption(const Words& words) {
  std::string text;
  Check(rocksdb::GetStringFromDBOptions(OneALine(), Find(Need(words, 1)).db->GetDBOptions(), &text));
  return ValueOf(text, Need(words, 2));
}

std::string Property(const Words& words) {
  Database& database = Find(Need(words, 1));
  std::string value;
  if (!database.db->GetProperty(database.Handle(Need(words, 2)), Need(words, 3), &value)) throw std::runtime_error("no such property");
  return value;
}

std::shared_ptr<rocksdb::RateLimiter> LimiterOf(const Words& words) {
  const auto limiter = Find(Need(words, 1)).db->GetDBOptions().rate_limiter;
  if (!limiter) throw std::runtime_error("no rate limiter");
  return limiter;
}

std::string SetLimiter(const Words& words) {
  LimiterOf(words)->SetBytesPerSecond(std::stoll(Need(words, 2)));
  return "";
}

// What a thread was granted that asks a limiter for the same number of bytes again and again.
struct Watch {
  std::thread asking;
  std::atomic<bool> ends{false};
  std::atomic<int64_t> last{0};
  std::atomic<long> early{0};
};
std::unique_ptr<Watch> g_watch;

std::string WatchRequests(const Words& words) {
  const auto limiter = LimiterOf(words);
  const size_t bytes = std::stoul(Need(words, 2));
  const int64_t rate = limiter->GetBytesPerSecond();
  g_watch = std::make_unique<Watch>();
  g_watch->asking = std::thread([limiter, bytes, rate, watch = g_watch.get()] {
    while (!watch->ends) {
      const bool before = limiter->GetBytesPerSecond() == rate;
      const size_t granted = limiter->RequestToken(bytes, 0, rocksdb::Env::IO_LOW, nullptr,
                                                   rocksdb::RateLimiter::OpType::kWrite);
      watch->last = static_cast<int64_t>(granted);
      if (before && granted < bytes && limiter->GetBytesPerSecond() == rate) ++watch->early;
      // Below the rate that the tests begin with. A thread that asks for more waits for the next refill, for as long
      // as the agent's requests are small, and would then see none of them.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  return "";
}

std::string Watched(const Words&) { return std::to_string(g_watch->early) + " " + std::to_string(g_watch->last); }

std::string EndWatch(const Words&) {
  g_watch->ends = true;
  g_watch->asking.join();
  g_watch.reset();
  return "";
}

std::atomic<int> g_waiting{0};

std::string LoseAWakeup(const Words& words) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kRefillPeriod{100'000}, kLater{100};
  const auto limiter = LimiterOf(words);
  const int64_t burst = limiter->GetSingleBurstBytes();
  const auto request = [limiter](int64_t bytes, rocksdb::Env::IOPriority priority) {
    limiter->Request(bytes, priority, nullptr, rocksdb::RateLimiter::OpType::kWrite);
  };
  request(burst, rocksdb::Env::IO_HIGH);
  const auto refill = Clock::now() + kRefillPeriod + kLater;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  g_waiting += 2;
  // It sleeps until the refill. Then the other one has the processor and refills, and its own request is too large.
  std::thread([=] {
    sched_setaffinity(0, sizeof here, &here);
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
    request(burst / 2, rocksdb::Env::IO_HIGH);
    --g_waiting;
  }).detach();
  std::thread([=] {
    sched_setaffinity(0, sizeof here, &here);
    while (Clock::now() < refill) {
    }
    request(burst, rocksdb::Env::IO_LOW);
    --g_waiting;
  }).detach();
  std::this_thread::sleep_for(5 * kRefillPeriod);
  return "";
}

std::string Limiter(const Words& words) {
  const auto limiter = LimiterOf(words);
  return std::to_string(limiter->GetTotalRequests()) + " " + std::to_string(limiter->GetTotalBytesThrough());
}

void CloseEverything() {
  while (!g_open.empty()) Close({"close", g_open.begin()->first});
}

std::string Run(const Words& words) {
  static const std::map<std::string, std::function<std::string(const Words&)>> kCommands = {
      {"open", Open},
      {"open_like", OpenLike},
      {"close", Close},
      {"try_close", TryClose},
      {"create_cfs", CreateMany},
      {"drop_cfs", DropMany},
      {"import_cf", Import},
      {"put", Put},
      {"get_option", GetOption},
      {"get_db_option", GetDbOption},
      {"property", Property},
      {"limiter", Limiter},
      {"set_limiter", SetLimiter},
      {"watch_requests", WatchRequests},
      {"watched", Watched},
      {"end_watch", EndWatch},
      {"lose_a_wakeup", LoseAWakeup},
      {"waiting", [](const Words&) { return std::to_string(g_waiting); }},
      {"version", [](const Words&) { return rocksdb::GetRocksVersionAsString(); }},
      {"end_child", EndChild},
      {"exec", Exec},
      {"hold_snapshot", [](const Words& w) { auto& d = Find(Need(w, 1)); d.snapshot = d.db->GetSnapshot(); return ""; }},
      {"release_snapshot", [](const Words& w) { auto& d = Find(Need(w, 1)); d.db->ReleaseSnapshot(d.snapshot); d.snapshot = nullptr; return ""; }},
      {"create_cf", [](const Words& w) { auto& d = Find(Need(w, 1)); Check(d.db->CreateColumnFamily({}, Need(w, 2), &d.handles[w[2]])); return ""; }},
      {"drop_cf", [](const Words& w) { auto& d = Find(Need(w, 1)); Check(d.db->DropColumnFamily(d.Handle(Need(w, 2)))); return ""; }},
      {"delete_handle", [](const Words& w) { auto& d = Find(Need(w, 1)); delete d.Handle(Need(w, 2)); d.handles.erase(w[2]); return ""; }},
      {"flush", [](const Words& w) { auto& d = Find(Need(w, 1)); Check(d.db->Flush({}, d.Handle(Rest(w, 2, "default")))); return ""; }},
      {"compact", [](const Words& w) { auto& d = Find(Need(w, 1)); Check(d.db->CompactRange({}, d.Handle(Rest(w, 2, "default")), nullptr, nullptr)); return ""; }},
      {"set_option", [](const Words& w) { auto& d = Find(Need(w, 1)); Check(d.db->SetOptions(d.Handle(Need(w, 2)), {{Need(w, 3), Need(w, 4)}})); return ""; }},
      {"set_db_option", [](const Words& w) { Check(Find(Need(w, 1)).db->SetDBOptions({{Need(w, 2), Need(w, 3)}})); return ""; }},
      {"stall", [](const Words& w) { return Stall(w, "default"); }},
      {"stall_cf", [](const Words& w) { return Stall(w, Need(w, 2)); }},
      {"unstall", [](const Words& w) { EndWriter(Find(Need(w, 1))); return ""; }},
      {"fork_child", [](const Words&) { return Fork(""); }},
      {"fork_child_open", [](const Words& w) { return Fork(Need(w, 1)); }},
      {"sleep", [](const Words& w) { std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(Need(w, 1)))); return ""; }},
      {"exit", [](const Words& w) -> std::string { std::exit(std::stoi(Need(w, 1))); }},
      {"_exit", [](const Words& w) -> std::string { _exit(std::stoi(Need(w, 1))); }},
  };
  const auto found = kCommands.find(words[0]);
  if (found == kCommands.end()) throw std::runtime_error("no such command: " + words[0]);
  return found->second(words);
}

}  // namespace

int main() {
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream text(line);
    Words words;
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) continue;
    if (words[0] == "quit") break;
    try {
      const std::string answer = Run(words);
      std::cout << "ok" << (answer.empty() ? "" : " ") << answer << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what() << std::endl;
    }
  }
  CloseEverything();
  return 0;
}
