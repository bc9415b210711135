#include "tools/cli/command_line.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/help_text.h"
#include "tools/cli/tool_testing.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CommandLineTest, RunsACommandAndReturnsItsCode) {
  TestTool tool;
  const TestTool::Result result = tool.Run({"list", "a.txt", "x", "y"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_EQ(tool.ran, "list");
  EXPECT_EQ(tool.names, (std::vector<std::string>{"x", "y"}));
}

TEST(CommandLineTest, WithoutArgumentsItShowsItsHelpAsAnError) {
  TestTool tool;
  const TestTool::Result result = tool.Run({});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("Usage: tool [OPTION]... COMMAND\n"));
}

TEST(CommandLineTest, ACommandWithoutItsOwnCommandShowsItsHelpAsAnError) {
  TestTool tool;
  const TestTool::Result result = tool.Run({"box"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(StartsWith("Usage: tool box [OPTION]... COMMAND\n"), HasSubstr("open")));
}

TEST(CommandLineTest, UnknownCommandsGetTheNearestOne) {
  TestTool tool;
  TestTool::Result result = tool.Run({"srve", "--level", "debug"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err,
            "tool: there is no command 'srve'. Did you mean 'serve'?\nRun 'tool --help' to see the commands.\n");
  result = tool.Run({"box", "clsoe"});
  EXPECT_THAT(result.err, StartsWith("tool box: there is no command 'clsoe'. Did you mean 'close'?\n"));
  result = tool.Run({"zzzzzz"});
  EXPECT_THAT(result.err, StartsWith("tool: there is no command 'zzzzzz'\n"));
  result = tool.Run({"secrt"});
  EXPECT_THAT(result.err, Not(HasSubstr("Did you mean")));
}

TEST(CommandLineTest, UnknownOptionsGetTheNearestOne) {
  TestTool tool;
  TestTool::Result result = tool.Run({"serve", "--levle=debug"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err,
            "tool serve: there is no option '--levle'. Did you mean '--level'?\nRun 'tool serve --help' to see its "
            "options.\n");
  EXPECT_EQ(tool.ran, "");
}

TEST(CommandLineTest, WrongValuesAreNamedWithTheCommandToAsk) {
  for (const std::vector<const char*>& arguments : std::vector<std::vector<const char*>>{
           {"serve", "--level", "loud"}, {"serve", "--number", "many"}, {"list"}, {"serve", "extra"}}) {
    TestTool tool;
    const TestTool::Result result = tool.Run(arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, AllOf(StartsWith("tool "), HasSubstr(" --help' to see its options.\n"))) << result.err;
    EXPECT_EQ(tool.ran, "");
  }
  TestTool tool;
  EXPECT_THAT(tool.Run({"serve", "--level", "loud"}).err, HasSubstr("'loud' is none of debug, info"));
}

TEST(CommandLineTest, HelpGroupsOptionsAndShowsExamples) {
  TestTool tool;
  const TestTool::Result result = tool.Run({"serve", "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out,
            "Usage: tool serve [OPTION]...\n"
            "\n"
            "Serve.\n"
            "\n"
            "Output:\n"
            "  --level debug|info      What [it] says: it's \"all\" or less (default: info)\n"
            "  --loud                  Say it loud\n"
            "\n"
            "Options:\n"
            "  -d, --directory DIR     Where to serve\n"
            "  --number N              How often\n"
            "  -h, --help              Print this help and exit\n"
            "\n"
            "Example:\n"
            "  tool serve\n");
}

TEST(CommandLineTest, HelpListsCommandsButNoHiddenOnes) {
  TestTool tool;
  EXPECT_THAT(tool.Run({"--help"}).out, AllOf(HasSubstr("  serve                   Serve\n"),
                                              HasSubstr("  box                     Handle a box\n"),
                                              Not(HasSubstr("secret")), HasSubstr("'tool COMMAND --help'")));
}

TEST(CommandLineTest, PrintsItsVersion) {
  TestTool tool;
  const TestTool::Result result = tool.Run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "tool 1.2.3\n");
}

TEST(HelpTextTest, WrapsBetweenWords) {
  EXPECT_EQ(Wrapped("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(Wrapped("…… ……", 0, 5), "…… ……\n");
  EXPECT_EQ(Wrapped("muchtoolong b", 1, 5), " muchtoolong\n b\n");
}

TEST(NearestTest, PrefersFewerChangesAndRefusesMany) {
  EXPECT_EQ(Nearest("statsu", {"start", "status"}), "status");
  EXPECT_EQ(Nearest("sevrer", {"server", "status"}), "server");
  EXPECT_EQ(Nearest("abcdef", {"server", "status"}), "");
  EXPECT_EQ(Nearest("", {"ab"}), "");
}

}  // namespace
}  // namespace weir
