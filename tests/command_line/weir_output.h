// Runs the weir program and keeps what it prints.
#pragma once

#include <string>

namespace weir {

struct WeirOutput {
  int code = -1;
  std::string text;  // of standard output and standard error
};

// `arguments` as a shell gets them. A program that hangs is ended after two minutes.
WeirOutput RunWeir(const std::string& arguments);

}  // namespace weir
