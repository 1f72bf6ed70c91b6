#pragma once

// Mangled names of the interposed functions (Itanium C++ ABI, libstdc++'s new string ABI).
#define ADOCD_OPEN                                                                                              \
  "_ZN7rocksdb6DBImpl4OpenERKNS_9DBOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vectorINS_22" \
  "ColumnFamilyDescriptorESaISD_EEPSC_IPNS_18ColumnFamilyHandleESaISJ_EEPPNS_2DBEbb"
#define ADOCD_DESTROY0 "_ZN7rocksdb6DBImplD0Ev"
#define ADOCD_DESTROY1 "_ZN7rocksdb6DBImplD1Ev"
#define ADOCD_DESTROY2 "_ZN7rocksdb6DBImplD2Ev"
// The last three parameters came one after another; another RocksDB's name is another symbol, which is left alone.
#define ADOCD_WRITE                                                                                               \
  "_ZN7rocksdb6DBImpl9WriteImplERKNS_12WriteOptionsEPNS_10WriteBatchEPNS_13WriteCallbackEPmmbS8_mPNS_18"          \
  "PreReleaseCallbackEPNS_20PostMemTableCallbackE"
#define ADOCD_CLOSE "_ZN7rocksdb6DBImpl5CloseEv"
#define ADOCD_CREATE                                                                                              \
  "_ZN7rocksdb6DBImpl18CreateColumnFamilyERKNS_19ColumnFamilyOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIc" \
  "ESaIcEEEPPNS_18ColumnFamilyHandleE"
#define ADOCD_CREATE_NAMES                                                                                        \
  "_ZN7rocksdb6DBImpl20CreateColumnFamiliesERKNS_19ColumnFamilyOptionsERKSt6vectorINSt7__cxx1112basic_stringIcSt11"  \
  "char_traitsIcESaIcEEESaISA_EEPS4_IPNS_18ColumnFamilyHandleESaISG_EE"
#define ADOCD_CREATE_FAMILIES                                                                                     \
  "_ZN7rocksdb6DBImpl20CreateColumnFamiliesERKSt6vectorINS_22ColumnFamilyDescriptorESaIS2_EEPS1_IPNS_18"            \
  "ColumnFamilyHandleESaIS8_EE"
#define ADOCD_FAMILY_HANDLE "_ZN7rocksdb6DBImpl29GetColumnFamilyHandleUnlockedEj"
#define ADOCD_DROP "_ZN7rocksdb6DBImpl16DropColumnFamilyEPNS_18ColumnFamilyHandleE"
#define ADOCD_DROP_MANY "_ZN7rocksdb6DBImpl18DropColumnFamiliesERKSt6vectorIPNS_18ColumnFamilyHandleESaIS3_EE"
#define ADOCD_REQUEST_TOKEN \
  "_ZN7rocksdb11RateLimiter12RequestTokenEmmNS_3Env10IOPriorityEPNS_10StatisticsENS0_6OpTypeE"
#define ADOCD_SET_OPTIONS                                                                                         \
  "_ZN7rocksdb6DBImpl10SetOptionsEPNS_18ColumnFamilyHandleERKSt13unordered_mapINSt7__cxx1112basic_stringIcSt11"      \
  "char_traitsIcESaIcEEES9_St4hashIS9_ESt8equal_toIS9_ESaISt4pairIKS9_S9_EEE"
#define ADOCD_SET_DB_OPTIONS                                                                                      \
  "_ZN7rocksdb6DBImpl12SetDBOptionsERKSt13unordered_mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES7_St4"  \
  "hashIS7_ESt8equal_toIS7_ESaISt4pairIKS7_S7_EEE"
