/* adocd native agent: the C interface for programs that link the library instead of preloading it.
 *
 * Link with -ladocd_agent BEFORE -lrocksdb, so that the agent's definitions are found first, and call
 * adocd_agent_start() once, before the first database is opened. The call itself starts no thread and
 * opens no socket: both appear with the first successful open.
 */
#ifndef ADOCD_AGENT_H
#define ADOCD_AGENT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Checks that the agent will observe every open in this process: that its definitions come before librocksdb's,
 * that the running librocksdb is the one it was built for, that it is not switched off, and that the run
 * directory can be used. Returns 0, or -1 with one sentence in `error` (always terminated; may be NULL when
 * error_size is 0). A program may ignore the result: without the agent it runs as it would without the library.
 */
int adocd_agent_start(char* error, size_t error_size);

/* The agent's version, for example "0.1.0". Never NULL. */
const char* adocd_agent_version(void);

#ifdef __cplusplus
}
#endif
#endif
