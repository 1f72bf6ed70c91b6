// Loads librocksdb, opens nothing. Prints "ready", waits for a line (or the end) of stdin, exits with 0. The agent
// must leave no trace in it: no thread, no socket, no output.
#include <iostream>
#include <string>

int main() {
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  return 0;
}
