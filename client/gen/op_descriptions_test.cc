#include "client/gen/op_descriptions.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OpDescriptionsTest, LinesBelongToTheOpAboveThem) {
  OpDescriptions descriptions;
  ASSERT_THAT(AddOpDescriptions("ops.txt", "Abs\n  One.\nMul\n  Two\n  lines.\n", &descriptions), IsOk());
  EXPECT_THAT(descriptions["Abs"], ElementsAre("One."));
  EXPECT_THAT(descriptions["Mul"], ElementsAre("Two", "lines."));
}

TEST(OpDescriptionsTest, ErrorsNameFileAndLine) {
  const auto error_of = [](const std::string& text) {
    OpDescriptions descriptions;
    return AddOpDescriptions("a/ops.txt", text, &descriptions);
  };
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "a/ops.txt:1: not the name"},
           {"  One.\n", "a/ops.txt:1: a description without an op"},
           {"Abs\nMul\n  Two.\n", "a/ops.txt:2: the op before this line has no description"},
           {"Abs\n  One.\nMul\n", "a/ops.txt:3: the last op has no description"},
           {"Abs\n  One.\n\nMul\n  Two.\n", "a/ops.txt:3: not the name"},
           {"Abs\n  One.\nAbs\n  Two.\n", "a/ops.txt:3: Abs is described already"}}) {
    EXPECT_THAT(error_of(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message))) << text;
  }
}

}  // namespace
}  // namespace weir
