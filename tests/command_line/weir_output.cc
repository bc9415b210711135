#include "tests/command_line/weir_output.h"

#include <sys/wait.h>

#include <cstdio>

#include "absl/strings/str_cat.h"

namespace weir {

WeirOutput RunWeir(const std::string& arguments) {
  FILE* const pipe = popen(absl::StrCat("timeout 120 ", WEIR_PROGRAM, " ", arguments, " 2>&1").c_str(), "r");
  WeirOutput output;
  char part[4096];
  while (const size_t size = fread(part, 1, sizeof(part), pipe)) output.text.append(part, size);
  const int status = pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

}  // namespace weir
