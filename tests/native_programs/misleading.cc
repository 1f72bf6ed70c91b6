// A program whose memory and LOG mislead whoever looks for its databases. Each line on stdin is a command, each answer one
// line, "ok" or "error WHY"; it says "ready" first.
//
//   open PATH       opens a database
//   close PATH      closes it; its memory is freed, and LOG still names it
//   leave PATH      lets a close begin and go no further: what every close does first
//   opening PATH    begins to open a database that has a log to recover, and goes no further until `opened`
//   opened PATH     lets that open end
//   copies PATH     copies the open database's object to the heap and to a thread's stack, and names both in LOGs
//   lies            names addresses in LOGs that are nothing: null, odd, unmapped, code, a std::string
//
// What it names is in a LOG of its own, and in that of each open database; the first keeps what the others forget.
#include <alloca.h>
#include <malloc.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/listener.h>

namespace {

// Holds an open up in its recovery, where a table file is made of the log.
class Holding : public rocksdb::EventListener {
 public:
  void OnTableFileCreationStarted(const rocksdb::TableFileCreationBriefInfo&) override {
    std::unique_lock<std::mutex> lock(mutex_);
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_; });
  }
  void WaitUntilHeld() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }
  void Release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false, released_ = false;
};

struct Opening {
  std::shared_ptr<Holding> listener = std::make_shared<Holding>();
  std::thread thread;
};

std::map<std::string, rocksdb::DB*> g_open;
std::map<std::string, Opening> g_opening;
std::vector<void*>& g_copies = *new std::vector<void*>;  // for ever: a sanitizer looks for leaks at the very end
FILE* g_log = nullptr;

void Check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

void NameIn(FILE* log, const void* address) {
  std::fprintf(log, "2026/01/01-00:00:00.000000 1 DB pointer %p\n", address);
  std::fflush(log);
}

void Name(const void* address) {
  NameIn(g_log, address);
  for (const auto& [path, db] : g_open) {
    FILE* log = std::fopen((path + "/LOG").c_str(), "a");
    if (log == nullptr) throw std::runtime_error("no LOG in " + path);
    NameIn(log, address);
    std::fclose(log);
  }
}

rocksdb::Options Defaults() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;
  options.avoid_flush_during_shutdown = true;  // so that the next open has a log to recover
  return options;
}

void Open(const std::string& path) {
  Check(rocksdb::DB::Open(Defaults(), path, &g_open[path]));
  Check(g_open[path]->Put({}, "key", "value"));
  Name(g_open[path]);
}

void Close(const std::string& path) {
  delete g_open.at(path);
  g_open.erase(path);
}

void BeginToOpen(const std::string& path) {
  Opening& opening = g_opening[path];
  opening.thread = std::thread([path, listener = opening.listener] {
    rocksdb::Options options = Defaults();
    options.listeners.push_back(listener);
    Check(rocksdb::DB::Open(options, path, &g_open[path]));
  });
  opening.listener->WaitUntilHeld();
}

void EndOpen(const std::string& path) {
  Opening& opening = g_opening.at(path);
  opening.listener->Release();
  opening.thread.join();
  g_opening.erase(path);
  Check(g_open[path]->Put({}, "key", "value"));  // the recovery left no log for the next one
}

void Copies(const std::string& path) {
  const rocksdb::DB* db = g_open.at(path);
  const size_t size = malloc_usable_size(const_cast<rocksdb::DB*>(db));
  void* heap = g_copies.emplace_back(std::malloc(size));
  std::memcpy(heap, static_cast<const void*>(db), size);
  Name(heap);
  std::mutex mutex;
  std::condition_variable copied;
  const void* stack = nullptr;
  std::thread([&] {
    char* frame = static_cast<char*>(alloca(size));
    std::memcpy(frame, static_cast<const void*>(db), size);
    {
      const std::lock_guard<std::mutex> lock(mutex);
      stack = frame;
      copied.notify_all();
    }
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }).detach();
  std::unique_lock<std::mutex> lock(mutex);
  copied.wait(lock, [&] { return stack != nullptr; });
  Name(stack);
}

void Lies() {
  static const std::string text = "no database is here, only a text";
  const uintptr_t lies[] = {0, 1, 7, 0x1000, UINTPTR_MAX - 7, uintptr_t{1} << 46, reinterpret_cast<uintptr_t>(&text),
                            reinterpret_cast<uintptr_t>(&Lies), reinterpret_cast<uintptr_t>(text.data())};
  for (const uintptr_t lie : lies) Name(reinterpret_cast<const void*>(lie));
}

void Do(const std::string& line) {
  std::istringstream words(line);
  std::string what, path;
  words >> what >> path;
  if (what == "open") return Open(path);
  if (what == "close") return Close(path);
  if (what == "leave") return rocksdb::CancelAllBackgroundWork(g_open.at(path), false);
  if (what == "opening") return BeginToOpen(path);
  if (what == "opened") return EndOpen(path);
  if (what == "copies") return Copies(path);
  if (what == "lies") return Lies();
  throw std::runtime_error("no such command: " + what);
}

}  // namespace

// Its only argument is the directory of its own LOG.
int main(int, char** arguments) {
  g_log = std::fopen((std::string(arguments[1]) + "/LOG").c_str(), "w");
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      Do(line);
      std::cout << "ok" << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
  for (auto& [path, opening] : g_opening) {
    opening.listener->Release();
    opening.thread.join();
  }
  for (const auto& [path, db] : g_open) delete db;
}
