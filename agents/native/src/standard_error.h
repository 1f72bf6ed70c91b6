#pragma once
#include <string>

namespace adocd {

// Writes a line to the standard error that the program was loaded with. Does nothing if descriptor 2 is another file by
// now: a daemon closes it, and the next file that RocksDB opens gets its number. A pipe that nobody reads any more does
// not end the host by SIGPIPE. Leaves errno as it is.
void SayOnStandardError(const std::string& line) noexcept;

}  // namespace adocd
