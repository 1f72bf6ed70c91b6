#include "rocksdb_names.h"

namespace adocd {

const char* FlushReasonName(rocksdb::FlushReason reason) {
  using R = rocksdb::FlushReason;
  switch (reason) {
    case R::kOthers: return "Other Reasons";
    case R::kGetLiveFiles: return "Get Live Files";
    case R::kShutDown: return "Shut down";
    case R::kExternalFileIngestion: return "External File Ingestion";
    case R::kManualCompaction: return "Manual Compaction";
    case R::kWriteBufferManager: return "Write Buffer Manager";
    case R::kWriteBufferFull: return "Write Buffer Full";
    case R::kTest: return "Test";
    case R::kDeleteFiles: return "Delete Files";
    case R::kAutoCompaction: return "Auto Compaction";
    case R::kManualFlush: return "Manual Flush";
    case R::kErrorRecovery: return "Error Recovery";
    case R::kErrorRecoveryRetryFlush: return "Error Recovery Retry Flush";
    case R::kWalFull: return "WAL Full";
  }
  return "unknown";
}

const char* CompactionReasonName(rocksdb::CompactionReason reason) {
  using R = rocksdb::CompactionReason;
  switch (reason) {
    case R::kUnknown: return "Unknown";
    case R::kLevelL0FilesNum: return "LevelL0FilesNum";
    case R::kLevelMaxLevelSize: return "LevelMaxLevelSize";
    case R::kUniversalSizeAmplification: return "UniversalSizeAmplification";
    case R::kUniversalSizeRatio: return "UniversalSizeRatio";
    case R::kUniversalSortedRunNum: return "UniversalSortedRunNum";
    case R::kFIFOMaxSize: return "FIFOMaxSize";
    case R::kFIFOReduceNumFiles: return "FIFOReduceNumFiles";
    case R::kFIFOTtl: return "FIFOTtl";
    case R::kManualCompaction: return "ManualCompaction";
    case R::kFilesMarkedForCompaction: return "FilesMarkedForCompaction";
    case R::kBottommostFiles: return "BottommostFiles";
    case R::kTtl: return "Ttl";
    case R::kFlush: return "Flush";
    case R::kExternalSstIngestion: return "ExternalSstIngestion";
    case R::kPeriodicCompaction: return "PeriodicCompaction";
    case R::kChangeTemperature: return "ChangeTemperature";
    case R::kForcedBlobGC: return "ForcedBlobGC";
    case R::kRoundRobinTtl: return "RoundRobinTtl";
    case R::kNumOfReasons: break;
  }
  return "unknown";
}

const char* BackgroundErrorReasonName(rocksdb::BackgroundErrorReason reason) {
  using R = rocksdb::BackgroundErrorReason;
  switch (reason) {
    case R::kFlush: return "flush";
    case R::kCompaction: return "compaction";
    case R::kWriteCallback: return "write callback";
    case R::kMemTable: return "memtable";
    case R::kManifestWrite: return "manifest write";
    case R::kFlushNoWAL: return "flush without WAL";
    case R::kManifestWriteNoWAL: return "manifest write without WAL";
  }
  return "unknown";
}

}  // namespace adocd
