#include "tests/interop/tensorflow_python.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weir {
namespace {

const char* Interpreter() { return std::getenv("WEIR_TF_PYTHON"); }

}  // namespace

bool HasTensorFlow() {
  const char* const python = Interpreter();
  if (python != nullptr && *python != '\0') return true;
  std::puts("skipped: WEIR_TF_PYTHON does not name a Python interpreter that can import TensorFlow");
  return false;
}

bool RunWithTensorFlow(const char* script, const std::string& command, const std::string& directory) {
  const char* const python = Interpreter();
  const pid_t child = fork();
  if (child == 0) {
    execlp(python, python, script, command.c_str(), directory.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace weir
