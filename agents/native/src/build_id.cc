#include "build_id.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>

namespace adocd {
namespace {

struct Search {
  uintptr_t address;
  std::string* build_id;
  std::string* file;
};

std::string FromNotes(const char* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const size_t name_size = (note.n_namesz + 3u) & ~3u, value_size = (note.n_descsz + 3u) & ~3u;
    const size_t total = sizeof note + name_size + value_size;
    if (total > size) break;
    const char* name = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      static const char kDigits[] = "0123456789abcdef";
      std::string text;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(name[name_size + i]);
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
      }
      return text;
    }
    notes += total;
    size -= total;
  }
  return {};
}

int Visit(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool here = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    here = here || (segment.p_type == PT_LOAD && search.address >= begin && search.address < begin + segment.p_memsz);
  }
  if (!here) return 0;
  *search.file = object->dlpi_name;
  for (int i = 0; i < object->dlpi_phnum && search.build_id->empty(); ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    *search.build_id = FromNotes(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string BuildIdAt(const void* address, std::string* file) {
  std::string build_id;
  Search search{reinterpret_cast<uintptr_t>(address), &build_id, file};
  dl_iterate_phdr(Visit, &search);
  return build_id;
}

}  // namespace adocd
