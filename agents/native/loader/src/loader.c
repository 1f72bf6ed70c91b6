// Loads the agent into a running program and calls its entry, on the thread that the injector has started.
//
// frida maps what it injects by a linker of its own, which knows no thread-local storage of other libraries, and the
// unwinder finds no exception tables in it. So it gets this file, which needs nothing but libc, and the agent is loaded
// by the program's own dynamic linker.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void (*Entry)(const char* asked);

// Copies the value of the line `name=value`; returns whether it is there and fits.
static int Value(const char* asked, const char* name, char* value, size_t size) {
  const size_t length = strlen(name);
  for (const char* line = asked; line; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, name, length) != 0 || line[length] != '=') continue;
    const char* begin = line + length + 1;
    const size_t bytes = strcspn(begin, "\n");
    if (bytes >= size) return 0;
    memcpy(value, begin, bytes);
    value[bytes] = '\0';
    return 1;
  }
  return 0;
}

// Answers as the agent would, whose JSON this is; whoever has asked makes a sentence of it.
static void Fail(const char* asked, const char* why) {
  char file[4096], text[1024], safe[900];
  size_t at = 0;
  for (; *why && at < sizeof safe - 1; ++why) safe[at++] = *why == '"' || *why == '\\' || *why < ' ' ? '\'' : *why;
  safe[at] = '\0';
  if (!Value(asked, "answer", file, sizeof file)) return;
  const int fd = open(file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  const int length = snprintf(text, sizeof text, "{\"error\":\"%s\",\"left_alone\":{}}", safe);
  if (write(fd, text, (size_t)length) < 0) { /* whoever has asked waits until its time is over */
  }
  close(fd);
}

__attribute__((visibility("default"))) void adocd_load(const char* asked) {
  char library[4096];
  if (!Value(asked, "agent", library, sizeof library)) return Fail(asked, "no agent was named");
  void* agent = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!agent) return Fail(asked, dlerror());
  const Entry entry = (Entry)dlsym(agent, "adocd_agent_attach");
  if (!entry) return Fail(asked, "this agent cannot be loaded late");
  entry(asked);
}
