// Writes to one database by one of RocksDB's ways, and closes it when told to.
//
//   write_ways WAY PATH
//
// WAY: put             DB::Put
//      batch           DB::Write of batches of 10 keys, of an empty batch, and of no batch at all, which is refused
//      pipelined       DB::Put with enable_pipelined_write
//      unordered       DB::Put with unordered_write
//      threads         DB::Put by 4 threads, which lead and follow write groups
//      transaction     TransactionDB: a transaction for each key, write committed
//      write_prepared  the same, write prepared
//      optimistic      OptimisticTransactionDB: a transaction for each key
//
// 20,000 calls each. Prints "ready" on stdout when they are done, waits for a line (or the end) of stdin, closes,
// prints "closed", and exits with 0. On an unexpected error: "error: ..." on stdout, exit status 1.
#include <rocksdb/db.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_batch.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kWrites = 20000;

[[noreturn]] void Fail(const std::string& error) {
  std::cout << "error: " << error << std::endl;
  std::exit(1);
}

void Check(const rocksdb::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

void Put(rocksdb::DB* db, int from, int to) {
  for (int i = from; i < to; ++i) Check(db->Put({}, std::to_string(i), "value"));
}

void PutByThreads(rocksdb::DB* db) {
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) threads.emplace_back([=] { Put(db, n * kWrites / 4, (n + 1) * kWrites / 4); });
  for (auto& thread : threads) thread.join();
}

void Batches(rocksdb::DB* db) {
  rocksdb::WriteBatch empty;
  Check(db->Write({}, &empty));
  if (db->Write({}, nullptr).ok()) Fail("no batch was written");
  for (int i = 0; i < kWrites; ++i) {
    rocksdb::WriteBatch batch;
    for (int key = 0; key < 10; ++key) Check(batch.Put(std::to_string(i * 10 + key), "value"));
    Check(db->Write({}, &batch));
  }
}

// Works for both kinds of database with transactions.
template <typename Transactions>
void Commit(Transactions* db) {
  for (int i = 0; i < kWrites; ++i) {
    const std::unique_ptr<rocksdb::Transaction> transaction(db->BeginTransaction({}));
    Check(transaction->Put(std::to_string(i), "value"));
    Check(transaction->Commit());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) Fail("usage: write_ways WAY PATH");
  const std::string way = argv[1], path = argv[2];
  rocksdb::Options options;
  options.create_if_missing = true;
  options.enable_pipelined_write = way == "pipelined";
  options.unordered_write = way == "unordered";
  std::unique_ptr<rocksdb::DB> db;
  if (way == "transaction" || way == "write_prepared") {
    rocksdb::TransactionDBOptions how;
    if (way == "write_prepared") how.write_policy = rocksdb::WRITE_PREPARED;
    rocksdb::TransactionDB* transactions = nullptr;
    Check(rocksdb::TransactionDB::Open(options, how, path, &transactions));
    db.reset(transactions);
    Commit(transactions);
  } else if (way == "optimistic") {
    rocksdb::OptimisticTransactionDB* transactions = nullptr;
    Check(rocksdb::OptimisticTransactionDB::Open(options, path, &transactions));
    db.reset(transactions);
    Commit(transactions);
  } else {
    rocksdb::DB* opened = nullptr;
    Check(rocksdb::DB::Open(options, path, &opened));
    db.reset(opened);
    if (way == "batch") {
      Batches(opened);
    } else if (way == "threads") {
      PutByThreads(opened);
    } else {
      Put(opened, 0, kWrites);
    }
  }
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  db.reset();
  std::cout << "closed" << std::endl;
  return 0;
}
