// The suite that every store passes.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "core/testing.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// One store, empty at first, and clients of it.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual std::shared_ptr<Store> NewClient() = 0;
  // Lets leases expire: advances the clock if there is a fake one; otherwise tests wait.
  virtual void Advance(absl::Duration duration) = 0;
};

struct StoreKind {
  std::string name;
  std::function<absl::StatusOr<std::unique_ptr<StoreUnderTest>>()> start;  // NOT_FOUND: cannot be tested here, and why
};
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

// INSTANTIATE_TEST_SUITE_P(…, StoreConformance, testing::Values(StoreKind{…}), StoreKindName);
class StoreConformance : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override;

  std::unique_ptr<StoreUnderTest> server_;
  std::shared_ptr<Store> store_;
};

inline std::string StoreKindName(const testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

// A minute: for what is expected to happen.
CallOptions Soon();
// Waits until `count` keys have the prefix.
void AwaitKeys(Store& store, absl::string_view prefix, size_t count);
std::unique_ptr<Lease> NewLease(Store& store, absl::Duration ttl = absl::Seconds(30));

}  // namespace weir::coordination
