#include "rebind.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <map>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "real_rocksdb.h"
#include "replacements.h"
#include "symbols.h"

namespace adocd::rebind {
namespace {

#if defined(__x86_64__)
constexpr unsigned kCall = R_X86_64_JUMP_SLOT, kData = R_X86_64_GLOB_DAT, kWord = R_X86_64_64;
#elif defined(__aarch64__)
constexpr unsigned kCall = R_AARCH64_JUMP_SLOT, kData = R_AARCH64_GLOB_DAT, kWord = R_AARCH64_ABS64;
#else
#error "bindings of this processor are not known"
#endif

struct Binding {
  void** place;
  void* before;
  void* ours;
};

struct Wanted {
  void* theirs;
  void* ours;
};

using Symbols = std::map<std::string_view, Wanted>;

// What Do has changed. Never destroyed: the process may end on any thread.
std::vector<Binding>& Done() {
  static auto* bindings = new std::vector<Binding>;
  return *bindings;
}

struct Segment {
  uintptr_t begin, end;
  int protection;
};

// The tables of one loaded object.
struct Object {
  uintptr_t base = 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela)* tables[2] = {};
  size_t sizes[2] = {};
  Segment relro{};
  std::vector<Segment> segments;
};

// Some dynamic sections hold addresses, some (the vdso's) offsets.
template <typename Pointer>
Pointer At(const Object& object, ElfW(Addr) value) {
  return reinterpret_cast<Pointer>(value < object.base ? object.base + value : value);
}

bool Read(const dl_phdr_info& info, Object* object) {
  object->base = info.dlpi_addr;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const uintptr_t begin = object->base + header.p_vaddr, end = begin + header.p_memsz;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_GNU_RELRO) object->relro = {begin, end, PROT_READ};
    if (header.p_type == PT_LOAD) {
      const int protection = (header.p_flags & PF_R ? PROT_READ : 0) | (header.p_flags & PF_W ? PROT_WRITE : 0) |
                             (header.p_flags & PF_X ? PROT_EXEC : 0);
      object->segments.push_back({begin, end, protection});
    }
  }
  if (!dynamic) return false;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    switch (dynamic->d_tag) {
      case DT_SYMTAB: object->symbols = At<const ElfW(Sym)*>(*object, dynamic->d_un.d_ptr); break;
      case DT_STRTAB: object->strings = At<const char*>(*object, dynamic->d_un.d_ptr); break;
      case DT_RELA: object->tables[0] = At<const ElfW(Rela)*>(*object, dynamic->d_un.d_ptr); break;
      case DT_RELASZ: object->sizes[0] = dynamic->d_un.d_val; break;
      case DT_JMPREL: object->tables[1] = At<const ElfW(Rela)*>(*object, dynamic->d_un.d_ptr); break;
      case DT_PLTRELSZ: object->sizes[1] = dynamic->d_un.d_val; break;
    }
  }
  return object->symbols && object->strings;
}

const Segment* SegmentAt(const Object& object, uintptr_t place) {
  for (const auto& segment : object.segments) {
    if (place >= segment.begin && place + sizeof(void*) <= segment.end) return &segment;
  }
  return nullptr;
}

// Writes one binding, also where the dynamic linker has made the page read-only since.
bool Write(void** place, void* value, int protection) {
  static const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place) & ~(page - 1));
  if (!(protection & PROT_WRITE) && mprotect(begin, page, protection | PROT_WRITE) != 0) return false;
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
  if (!(protection & PROT_WRITE)) mprotect(begin, page, protection);
  return true;
}

int ProtectionAt(const Object& object, const Segment& segment, uintptr_t place) {
  const bool sealed = place >= object.relro.begin && place < object.relro.end;
  return sealed ? segment.protection & ~PROT_WRITE : segment.protection;
}

void Redo(const Object& object, const ElfW(Rela)& entry, const Symbols& symbols) {
  const unsigned type = ELF64_R_TYPE(entry.r_info);
  if (type != kCall && type != kData && type != kWord) return;
  const auto& symbol = object.symbols[ELF64_R_SYM(entry.r_info)];
  const auto wanted = symbols.find(object.strings + symbol.st_name);
  if (wanted == symbols.end()) return;
  const uintptr_t address = object.base + entry.r_offset;
  const Segment* segment = SegmentAt(object, address);
  if (!segment) return;
  auto** place = reinterpret_cast<void**>(address);
  void* before = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  // A call that was not made yet still points to the object's own stub. Anything else is not librocksdb's function.
  const bool unbound = type == kCall && SegmentAt(object, reinterpret_cast<uintptr_t>(before)) != nullptr;
  if (before != wanted->second.theirs && !unbound) return;
  if (Write(place, wanted->second.ours, ProtectionAt(object, *segment, address))) {
    Done().push_back({place, wanted->second.theirs, wanted->second.ours});
  }
}

struct Walk {
  const Symbols* symbols;
  const void* own_base;
};

int Visit(dl_phdr_info* info, size_t, void* data) {
  const auto& walk = *static_cast<const Walk*>(data);
  Object object;
  if (reinterpret_cast<const void*>(info->dlpi_addr) == walk.own_base || !Read(*info, &object)) return 0;
  for (int i = 0; i < 2; ++i) {
    const size_t count = object.tables[i] ? object.sizes[i] / sizeof(ElfW(Rela)) : 0;
    for (size_t at = 0; at < count; ++at) Redo(object, object.tables[i][at], *walk.symbols);
  }
  return 0;
}

struct Place {
  const Binding& binding;
  int protection;
};

int FindProtection(dl_phdr_info* info, size_t, void* data) {
  auto& place = *static_cast<Place*>(data);
  Object object;
  if (!Read(*info, &object)) return 0;
  const auto address = reinterpret_cast<uintptr_t>(place.binding.place);
  const Segment* segment = SegmentAt(object, address);
  if (!segment) return 0;
  place.protection = ProtectionAt(object, *segment, address);
  return __atomic_load_n(place.binding.place, __ATOMIC_ACQUIRE) == place.binding.ours ? 1 : -1;
}

}  // namespace

size_t Do() {
  Symbols symbols;
  for (const auto& each : Replacements()) {
    if (void* theirs = real::Find(each.name)) symbols[each.name] = {theirs, each.ours};
  }
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&Do), &own);
  const Walk walk{&symbols, own.dli_fbase};
  dl_iterate_phdr(Visit, const_cast<Walk*>(&walk));
  return Done().size();
}

void Undo() {
  for (const auto& binding : Done()) {
    Place place{binding, 0};
    // An object that was unloaded since has taken its bindings with it, and another one may be in its place.
    if (dl_iterate_phdr(FindProtection, &place) == 1) Write(binding.place, binding.before, place.protection);
  }
  Done().clear();
}

}  // namespace adocd::rebind
