// Opens one database by one of RocksDB's ways, and closes it when told to.
//
//   open_paths WAY PATH
//
// WAY: db           DB::Open(Options, ...)
//      db_cf        DB::Open with column families: default, and one called "second" (created when missing)
//      c_api        rocksdb_open
//      c_api_cf     rocksdb_open_column_families, as db_cf
//      transaction  TransactionDB::Open
//      optimistic   OptimisticTransactionDB::Open
//      ttl          DBWithTTL::Open
//      read_only    DB::OpenForReadOnly (creates the database first, by DB::Open, and closes it)
//      secondary    DB::OpenAsSecondary (the same; the secondary's files go to PATH.secondary)
//      fails        DB::Open of a path that cannot be created; expects the error, prints "ready" all the same
//
// Prints "ready" on stdout, waits for a line (or the end) of stdin, closes, prints "closed", and exits with 0.
// On an unexpected error: "error: ..." on stdout, exit status 1.
#include <rocksdb/c.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/db_ttl.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace {

using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

[[noreturn]] void Fail(const std::string& error) {
  std::cout << "error: " << error << std::endl;
  std::exit(1);
}

void Check(const rocksdb::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

rocksdb::Options MakeOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> TwoFamilies() {
  return {{rocksdb::kDefaultColumnFamilyName, {}}, {"second", {}}};
}

void Wait() {
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
}

void WaitAndClose(rocksdb::DB* db, const Handles& handles = {}) {
  Check(db->Put({}, "key", "value"));
  Wait();
  for (auto* handle : handles) Check(db->DestroyColumnFamilyHandle(handle));
  delete db;
}

void Create(const std::string& path) {
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(MakeOptions(), path, &db));
  Check(db->Put({}, "key", "value"));
  delete db;
}

void CApi(const std::string& path, bool with_family) {
  char* error = nullptr;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  const char* names[] = {"default", "second"};
  const rocksdb_options_t* family_options[] = {options, options};
  rocksdb_column_family_handle_t* handles[2] = {};
  rocksdb_t* db = with_family ? rocksdb_open_column_families(options, path.c_str(), 2, names, family_options, handles, &error)
                              : rocksdb_open(options, path.c_str(), &error);
  if (error) Fail(error);
  Wait();
  for (auto* handle : handles) {
    if (handle) rocksdb_column_family_handle_destroy(handle);
  }
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) Fail("usage: open_paths WAY PATH");
  const std::string way = argv[1], path = argv[2];
  const rocksdb::Options options = MakeOptions();
  Handles handles;
  rocksdb::DB* db = nullptr;
  if (way == "db") {
    Check(rocksdb::DB::Open(options, path, &db));
    WaitAndClose(db);
  } else if (way == "db_cf") {
    Check(rocksdb::DB::Open(options, path, TwoFamilies(), &handles, &db));
    WaitAndClose(db, handles);
  } else if (way == "c_api" || way == "c_api_cf") {
    CApi(path, way == "c_api_cf");
  } else if (way == "transaction") {
    rocksdb::TransactionDB* transactions = nullptr;
    Check(rocksdb::TransactionDB::Open(options, {}, path, &transactions));
    WaitAndClose(transactions);
  } else if (way == "optimistic") {
    rocksdb::OptimisticTransactionDB* transactions = nullptr;
    Check(rocksdb::OptimisticTransactionDB::Open(options, path, &transactions));
    WaitAndClose(transactions);
  } else if (way == "ttl") {
    rocksdb::DBWithTTL* with_ttl = nullptr;
    Check(rocksdb::DBWithTTL::Open(options, path, &with_ttl, 3600));
    WaitAndClose(with_ttl);
  } else if (way == "read_only") {
    Create(path);
    Check(rocksdb::DB::OpenForReadOnly(options, path, &db));
    Wait();
    delete db;
  } else if (way == "secondary") {
    Create(path);
    rocksdb::Options secondary = options;
    secondary.max_open_files = -1;
    Check(rocksdb::DB::OpenAsSecondary(secondary, path, path + ".secondary", &db));
    Wait();
    delete db;
  } else if (way == "fails") {
    if (rocksdb::DB::Open(options, "/proc/adocd-cannot-be-created", &db).ok()) Fail("the open did not fail");
    Wait();
  } else {
    Fail("no such way: " + way);
  }
  std::cout << "closed" << std::endl;
  return 0;
}
