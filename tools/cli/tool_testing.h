// A program with commands of every kind, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/cli/command_line.h"

namespace weir {

// "tool": serve, list, box open, box close and a hidden command.
class TestTool {
 public:
  TestTool();

  struct Result {
    int code = -1;
    std::string out, err;
  };
  Result Run(std::vector<const char*> arguments);
  CommandLine& line() { return line_; }

  std::string level = "info", directory, file;
  int number = 0;
  bool loud = false;
  std::vector<std::string> names;
  std::string ran;  // the command that ran last

 private:
  CommandLine line_;
};

}  // namespace weir
