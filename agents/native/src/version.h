#pragma once

namespace adocd {

inline constexpr const char* kProtocolVersion = "1.8";
inline constexpr const char* kAgentVersion = ADOCD_AGENT_VERSION;  // from CMake

}  // namespace adocd
