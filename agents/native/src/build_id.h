#pragma once
#include <string>

namespace adocd {

// GNU build id (hexadecimal) of the loaded object that contains `address`, empty when it has none. `file` gets the
// object's path.
std::string BuildIdAt(const void* address, std::string* file);

}  // namespace adocd
