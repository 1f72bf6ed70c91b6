// A host whose disk is slow or full where a test wants it. It opens (creates) one database and does what it is told: one
// command a line on stdin, one answer a line on stdout, "ok", "ok VALUE" or "error: REASON". Prints "ready" first.
//
//   bad_disk PATH OPTIONS_DELAY_S [NAME=VALUE ...]   with options as in an OPTIONS file
//
//   delay_options SECONDS     creating an OPTIONS file takes so long; counts for one that is being created, too
//   fill, drain               from `fill` to `drain` an OPTIONS file is refused for lack of space
//   hold_tables, let_tables_go  creating a table file waits meanwhile: a flush or compaction begins and does not end
//   hold_deletions, let_deletions_go  deleting a table file waits meanwhile: a compaction ends and keeps its slot
//   write BYTES_PER_S         writes at that rate on a thread of its own; 0 ends it
//   put BYTES                 writes that much at once
//   written                   answers "ok BYTES", of both
//   get_option NAME           answers "ok VALUE", of the column family
//   quit                      closes the database and exits with 0, as does the end of stdin
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
constexpr size_t kValueBytes = 1000;
constexpr auto kWriteInterval = std::chrono::milliseconds(20);

void Check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

class BadDisk : public rocksdb::FileSystemWrapper {
 public:
  BadDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "BadDisk"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.rfind("OPTIONS-", 0) == 0) {
      if (!WaitAsForOptions()) return rocksdb::IOStatus::NoSpace("no space left for " + path);
    } else if (IsTable(name)) {
      WaitWhile(&tables_held_);
    }
    return FileSystemWrapper::NewWritableFile(path, options, result, context);
  }

  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    if (IsTable(path)) WaitWhile(&deletions_held_);
    return FileSystemWrapper::DeleteFile(path, options, context);
  }

  void DelayOptions(Seconds delay) {
    Change([&] { options_delay_ = delay; });
  }
  void SetFull(bool full) {
    Change([&] { full_ = full; });
  }
  void HoldTables(bool hold) {
    Change([&] { tables_held_ = hold; });
  }
  void HoldDeletions(bool hold) {
    Change([&] { deletions_held_ = hold; });
  }

 private:
  static bool IsTable(const std::string& name) {
    return name.size() > 4 && name.compare(name.size() - 4, 4, ".sst") == 0;
  }

  template <typename Assign>
  void Change(Assign assign) {
    const std::lock_guard<std::mutex> lock(mutex_);
    assign();
    changed_.notify_all();
  }

  // Returns whether there is space.
  bool WaitAsForOptions() {
    const auto begun = Clock::now();
    std::unique_lock<std::mutex> lock(mutex_);
    const auto end = [&] { return begun + std::chrono::duration_cast<Clock::duration>(options_delay_); };
    while (Clock::now() < end()) changed_.wait_until(lock, end());
    return !full_;
  }

  void WaitWhile(const bool* held) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [held] { return !*held; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Seconds options_delay_{0};
  bool full_ = false;
  bool tables_held_ = false;
  bool deletions_held_ = false;
};

// Writes random keys, from any thread.
class Writer {
 public:
  explicit Writer(rocksdb::DB* db) : db_(db) {}
  ~Writer() { WriteAt(0); }

  void Put(uint64_t bytes) {
    thread_local std::mt19937_64 random(std::random_device{}());
    for (uint64_t done = 0; done < bytes; done += kValueBytes) {
      Check(db_->Put({}, std::to_string(random()), std::string(kValueBytes, 'v')));
      written_ += kValueBytes;
    }
  }

  void WriteAt(uint64_t bytes_per_s) {
    writing_ = false;
    if (thread_.joinable()) thread_.join();
    if (bytes_per_s == 0) return;
    writing_ = true;
    thread_ = std::thread([this, bytes_per_s] {
      const uint64_t portion = bytes_per_s * kWriteInterval.count() / 1000;
      for (auto next = Clock::now(); writing_; next = std::max(next + kWriteInterval, Clock::now())) {
        std::this_thread::sleep_until(next);
        Put(portion);
      }
    });
  }

  uint64_t written() const { return written_; }

 private:
  rocksdb::DB* const db_;
  std::thread thread_;
  std::atomic<bool> writing_{false};
  std::atomic<uint64_t> written_{0};
};

rocksdb::Options OptionsFrom(int count, char** texts) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::ConfigOptions config;
  for (int i = 0; i < count; ++i) {
    const rocksdb::Options base = options;
    Check(rocksdb::GetOptionsFromString(config, base, texts[i], &options));
  }
  return options;
}

std::string OptionOf(rocksdb::DB* db, const std::string& name) {
  std::unordered_map<std::string, std::string> values;
  std::string text;
  Check(rocksdb::GetStringFromColumnFamilyOptions(&text, db->GetOptions()));
  Check(rocksdb::StringToMap(text, &values));
  return values.at(name);
}

std::string Obey(const std::string& line, BadDisk& disk, rocksdb::DB* db, Writer& writer) {
  std::istringstream words(line);
  std::string command, argument;
  words >> command >> argument;
  if (command == "delay_options") disk.DelayOptions(Seconds(std::stod(argument)));
  else if (command == "fill") disk.SetFull(true);
  else if (command == "drain") disk.SetFull(false);
  else if (command == "hold_tables") disk.HoldTables(true);
  else if (command == "let_tables_go") disk.HoldTables(false);
  else if (command == "hold_deletions") disk.HoldDeletions(true);
  else if (command == "let_deletions_go") disk.HoldDeletions(false);
  else if (command == "write") writer.WriteAt(std::stoull(argument));
  else if (command == "put") writer.Put(std::stoull(argument));
  else if (command == "written") return " " + std::to_string(writer.written());
  else if (command == "get_option") return " " + OptionOf(db, argument);
  else throw std::runtime_error("unknown command " + command);
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: bad_disk PATH OPTIONS_DELAY_S [NAME=VALUE ...]\n";
    return 2;
  }
  const auto disk = std::make_shared<BadDisk>();
  const auto env = rocksdb::NewCompositeEnv(disk);
  auto options = OptionsFrom(argc - 3, argv + 3);
  options.env = env.get();
  rocksdb::DB* opened = nullptr;
  Check(rocksdb::DB::Open(options, argv[1], &opened));
  const std::unique_ptr<rocksdb::DB> db(opened);
  disk->DelayOptions(Seconds(std::stod(argv[2])));
  Writer writer(db.get());
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    try {
      const std::string answer = Obey(line, *disk, db.get(), writer);
      std::cout << "ok" << answer << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what() << std::endl;
    }
  }
  disk->DelayOptions(Seconds(0));  // nobody waits for it any more
  disk->HoldTables(false);
  disk->HoldDeletions(false);
}
