// Conformance suite of Collective. A backend's test instantiates it with a factory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "distribute/collective/collective.h"

namespace weir {

// A group whose ranks are all in this process.
class CollectiveTestGroup {
 public:
  virtual ~CollectiveTestGroup() = default;
  virtual int size() const = 0;
  // Makes every rank's call and waits for all that are not absent (empty: none is).
  virtual std::vector<absl::Status> Run(const std::vector<CollectiveCall>& calls, const std::vector<bool>& absent) = 0;
  std::vector<absl::Status> Run(const std::vector<CollectiveCall>& calls) { return Run(calls, {}); }
};

struct CollectiveBackend {
  std::string name;
  std::function<std::unique_ptr<CollectiveTestGroup>(int size)> make_group;
  int largest_group = 33;
  std::string missing;  // if not empty: why its tests are skipped
};

class CollectiveConformanceTest : public testing::TestWithParam<CollectiveBackend> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
  }
};

// How tests are named.
std::string BackendName(const testing::TestParamInfo<CollectiveBackend>& info);

}  // namespace weir
