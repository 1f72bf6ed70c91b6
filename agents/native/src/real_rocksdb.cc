#include "real_rocksdb.h"

#include <cstdlib>
#include <dlfcn.h>

#include "standard_error.h"
#include "symbols.h"

namespace adocd::real {
namespace {

void* g_library = RTLD_NEXT;

template <typename Function>
Function Next(const char* name) {
  void* symbol = dlsym(g_library, name);
  if (!symbol) {
    // Only possible if the program itself defines and exports RocksDB, without our librocksdb behind it: then there is
    // no function to call.
    SayOnStandardError(std::string("adocd agent: librocksdb does not define ") + name + "; unset LD_PRELOAD\n");
    std::abort();
  }
  return reinterpret_cast<Function>(symbol);
}

}  // namespace

void LookIn(void* librocksdb) { g_library = librocksdb; }

void* Find(const char* name) { return dlsym(g_library, name); }

const void* FindOpen() { return Find(ADOCD_OPEN); }

bool HasWrite() { return Find(ADOCD_WRITE) != nullptr; }

#define ADOCD_REAL(type, function, name)            \
  type function() {                                 \
    static const type symbol = Next<type>(name);    \
    return symbol;                                  \
  }

ADOCD_REAL(OpenFn, Open, ADOCD_OPEN)
ADOCD_REAL(DestroyFn, Destroy0, ADOCD_DESTROY0)
ADOCD_REAL(DestroyFn, Destroy1, ADOCD_DESTROY1)
ADOCD_REAL(DestroyFn, Destroy2, ADOCD_DESTROY2)
ADOCD_REAL(CloseFn, Close, ADOCD_CLOSE)
ADOCD_REAL(WriteFn, Write, ADOCD_WRITE)
ADOCD_REAL(CreateFn, Create, ADOCD_CREATE)
ADOCD_REAL(CreateNamesFn, CreateNames, ADOCD_CREATE_NAMES)
ADOCD_REAL(CreateFamiliesFn, CreateFamilies, ADOCD_CREATE_FAMILIES)
ADOCD_REAL(DropFn, Drop, ADOCD_DROP)
ADOCD_REAL(DropManyFn, DropMany, ADOCD_DROP_MANY)
ADOCD_REAL(SetOptionsFn, SetOptions, ADOCD_SET_OPTIONS)
ADOCD_REAL(SetDbOptionsFn, SetDbOptions, ADOCD_SET_DB_OPTIONS)
ADOCD_REAL(FamilyHandleFn, FamilyHandle, ADOCD_FAMILY_HANDLE)
ADOCD_REAL(RequestTokenFn, RequestToken, ADOCD_REQUEST_TOKEN)

#undef ADOCD_REAL

}  // namespace adocd::real
