#pragma once
#include <string>

namespace adocd {

// Returns the GNU build id (hexadecimal) of the loaded object that contains `address`, empty if it has none, and sets
// `file` to the object's path.
std::string BuildIdAt(const void* address, std::string* file);

}  // namespace adocd
