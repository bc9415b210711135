// Runs Keras, then compares: see keras_oracle.py.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/files/scratch_directory_testing.h"
#include "tests/layers/keras_values.h"

namespace {

bool RunKeras(const char* python, const char* command, const std::string& directory) {
  const pid_t child = fork();
  if (child == 0) {
    execlp(python, python, WEIR_KERAS_ORACLE, command, directory.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const python = std::getenv("WEIR_TF_PYTHON");
  if (python == nullptr || *python == '\0') {
    std::puts("skipped: WEIR_TF_PYTHON does not name a Python interpreter that can import TensorFlow");
    return 77;
  }
  const weir::ScratchDirectory directory;
  weir::KerasDirectory() = directory.path();
  for (const char* command : {"layers", "training"}) {
    if (RunKeras(python, command, directory.path())) continue;
    std::printf("keras_oracle.py %s failed\n", command);
    return 1;
  }
  return RUN_ALL_TESTS();
}
