// Starts moto for all tests of this program; skips them without it.

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "absl/strings/string_view.h"
#include "tests/object_store/counting_run.h"
#include "tests/object_store/moto_server.h"

int main(int argc, char** argv) {
  if (argc == 3 && absl::string_view(argv[1]) == weir::kTrainFlag) {
    const auto result = weir::RunCounting(argv[2], 0);
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  const char* const python = std::getenv("WEIR_DATA_PYTHON");
  if (python == nullptr || *python == '\0') {
    std::puts("skipped: WEIR_DATA_PYTHON does not name a Python interpreter that can import moto");
    return 77;
  }
  const auto server = weir::MotoServer::Start(python);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  return RUN_ALL_TESTS();
}
