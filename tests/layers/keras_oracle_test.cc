// Runs Keras, then compares: see keras_oracle.py.
#include <gtest/gtest.h>

#include <cstdio>

#include "core/files/scratch_directory_testing.h"
#include "tests/interop/tensorflow_python.h"
#include "tests/layers/keras_values.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!weir::HasTensorFlow()) return weir::kTestsSkipped;
  const weir::ScratchDirectory directory;
  weir::KerasDirectory() = directory.path();
  for (const char* command : {"layers", "training"}) {
    if (weir::RunWithTensorFlow(WEIR_KERAS_ORACLE, command, directory.path())) continue;
    std::printf("keras_oracle.py %s failed\n", command);
    return 1;
  }
  return RUN_ALL_TESTS();
}
