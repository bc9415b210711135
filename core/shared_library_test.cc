#include "core/shared_library.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(SharedLibrary, FindsFunctions) {
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open("libm", {"", "libm.so.6"}));
  double (*root)(double) = nullptr;
  double (*floor)(double) = nullptr;
  ASSERT_THAT(library.Find({{"sqrt", &root}, {"floor", &floor}}), IsOk());
  EXPECT_EQ(root(floor(4.5)), 2);
}

TEST(SharedLibrary, TakesTheFirstThatIsThere) {
  EXPECT_THAT(SharedLibrary::Open("libm", {"libnowhere.so.1", "libm.so.6"}), IsOk());
}

TEST(SharedLibrary, SaysWhatIsMissing) {
  EXPECT_THAT(SharedLibrary::Open("Nowhere", {"libnowhere.so.1", "", "/nowhere/libnowhere.so.2"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Nowhere cannot be loaded: libnowhere.so.1:")));
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open("libm", {"libm.so.6"}));
  void (*function)() = nullptr;
  EXPECT_THAT(library.Find({{"weir_has_none", &function}}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("libm.so.6 has no weir_has_none: it is too old")));
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace weir
