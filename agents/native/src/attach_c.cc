// The entry that the injector calls in a thread of its own.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

#include "attach.h"
#include "json_text.h"

namespace {

using Members = std::map<std::string, std::string>;

// Lines of `name=value`.
Members Parse(const char* text) {
  Members members;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos) members[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return members;
}

std::vector<uintptr_t> Addresses(const std::string& text) {
  std::vector<uintptr_t> found;
  std::istringstream words(text);
  for (std::string word; words >> word;) found.push_back(std::strtoull(word.c_str(), nullptr, 16));
  return found;
}

std::string Hexadecimal(uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// Does what is asked; returns a JSON object with `error` (empty: done) and `left_alone`.
std::string Do(Members members) {
  std::string error, out;
  std::map<uintptr_t, std::string> left_alone;
  const std::string what = members["do"];
  if (what == "begin") {
    Members environment;
    for (const auto& [name, value] : members) {
      if (name.rfind("ADOCD_", 0) == 0) environment[name] = value;
    }
    error = adocd::attach::Begin(members["librocksdb"], std::move(environment));
  } else if (what == "adopt") {
    left_alone = adocd::attach::Adopt(Addresses(members["databases"]));
  } else if (what == "end") {
    error = adocd::attach::End();
  } else {
    error = "this agent cannot '" + what + "'";
  }
  {
    adocd::JsonObjectWriter writer(&out);
    writer.String("error", error);
    adocd::JsonObjectWriter reasons(writer.Key("left_alone"));
    for (const auto& [address, reason] : left_alone) reasons.String(Hexadecimal(address), reason);
  }
  return out;
}

// Writes the answer to a file that the asker has made, in one call, so that it is never read half.
void Answer(const std::string& file, const std::string& text) {
  const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  (void)!write(fd, text.data(), text.size());
  close(fd);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void adocd_agent_attach(const char* asked) {
  try {
    Members members = Parse(asked);
    const std::string file = members["answer"];
    std::string answer;
    try {
      answer = Do(std::move(members));
    } catch (const std::exception& error) {
      adocd::JsonObjectWriter(&answer).String("error", error.what());
    }
    Answer(file, answer);
  } catch (...) {
    // Out of memory: the asker waits until its time is over.
  }
}
