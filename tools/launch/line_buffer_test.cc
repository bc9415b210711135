#include "tools/launch/line_buffer.h"

#include <vector>

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

class LineBufferTest : public testing::Test {
 protected:
  void Append(absl::string_view bytes) { buffer_.Append(bytes, Keep()); }
  void Finish() { buffer_.Finish(Keep()); }
  std::vector<std::string> lines_;

 private:
  struct Keeper {
    std::vector<std::string>* lines;
    void operator()(absl::string_view line) const { lines->emplace_back(line); }
  };
  const Keeper& Keep() { return keeper_; }

  LineBuffer buffer_;
  Keeper keeper_{&lines_};
};

TEST_F(LineBufferTest, LinesComeWhole) {
  Append("a");
  Append("b\n\nc");
  EXPECT_THAT(lines_, ElementsAre("ab", ""));
  Append("\nd");
  Finish();
  Finish();
  EXPECT_THAT(lines_, ElementsAre("ab", "", "c", "d"));
}

TEST_F(LineBufferTest, BytesArePassedAsTheyAre) {
  Append(absl::string_view("\0\xff\r\n", 4));
  EXPECT_THAT(lines_, ElementsAre(std::string("\0\xff\r", 3)));
}

TEST_F(LineBufferTest, ALineWithoutEndIsCut) {
  const std::string long_line(LineBuffer::kMaxLine, 'x');
  Append(long_line);
  EXPECT_TRUE(lines_.empty());
  Append("y\nz");
  EXPECT_THAT(lines_, ElementsAre(long_line, "y"));
  lines_.clear();
  Append(std::string(3 * LineBuffer::kMaxLine, 'w'));
  EXPECT_EQ(lines_.size(), 3);
}

}  // namespace
}  // namespace weir
