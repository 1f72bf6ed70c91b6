#pragma once
#include <vector>

namespace adocd {

// One of librocksdb's functions, by its symbol, and what interpose.cc has in its place.
struct Replacement {
  const char* name;
  void* ours;
};

std::vector<Replacement> Replacements();

}  // namespace adocd
