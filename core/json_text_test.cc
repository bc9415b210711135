#include "core/json_text.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(JsonTextTest, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(JsonString("a \"b\" \\ \n\t"), R"("a \"b\" \\ \n\t")");
  EXPECT_EQ(JsonString(absl::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(JsonString(""), R"("")");
}

TEST(JsonTextTest, KeepsUtf8) {
  const std::string text = "ä € 🙂 \xED\x9F\xBF \xF4\x8F\xBF\xBF";
  EXPECT_EQ(JsonString(text), "\"" + text + "\"");
}

TEST(JsonTextTest, ReplacesBytesThatAreNotUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(JsonString("a\xFFz"), "\"a" + bad + "z\"");
  EXPECT_EQ(JsonString("\x80"), "\"" + bad + "\"");
  EXPECT_EQ(JsonString("\xE2\x82"), "\"" + bad + bad + "\"");                      // cut short
  EXPECT_EQ(JsonString("\xC0\x80"), "\"" + bad + bad + "\"");                      // longer than necessary
  EXPECT_EQ(JsonString("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"");            // a surrogate
  EXPECT_EQ(JsonString("\xF4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"");  // beyond U+10FFFF
  EXPECT_EQ(JsonString("\xE2\"z"), "\"" + bad + "\\\"z\"");
}

}  // namespace
}  // namespace weir
