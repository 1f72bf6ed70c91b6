// What `adocd exec` wants to know of the program that it became: whether it ever opened a database.
#pragma once

namespace adocd {

// Notes that this process opened a database under the agent.
void NoteOpened();

}  // namespace adocd
