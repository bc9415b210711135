// Tests of the weir program's command line: help, errors and exit codes.

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "core/testing.h"
#include "tests/command_line/weir_output.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

// The names that a list of commands in a help text begins with.
std::vector<std::string> CommandsIn(const std::string& help) {
  std::vector<std::string> commands;
  bool is_list = false;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    if (line.empty()) is_list = false;
    if (is_list && absl::StartsWith(line, "  ") && line[2] != ' ') {
      commands.emplace_back(line.substr(2, line.find(' ', 2) - 2));
    }
    if (line == "Commands:") is_list = true;
  }
  return commands;
}

// Of every command, with the program itself as "".
std::vector<std::string> AllCommands() {
  std::vector<std::string> all = {""};
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string prefix = all[i].empty() ? "" : all[i] + " ";
    for (const std::string& command : CommandsIn(RunWeir(prefix + "--help").text)) all.push_back(prefix + command);
  }
  return all;
}

TEST(CommandLineProcessTest, WithoutArgumentsItPrintsHelpAndFails) {
  const WeirOutput output = RunWeir("");
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.text, AllOf(StartsWith("Usage: weir "), HasSubstr("\n  server ")));
}

TEST(CommandLineProcessTest, ErrorsSayWhatToDo) {
  WeirOutput output = RunWeir("sevrer");
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.text, AllOf(HasSubstr("Did you mean 'server'?"), HasSubstr("weir --help")));
  output = RunWeir("status --resorces grpc://127.0.0.1:1");
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.text, HasSubstr("Did you mean '--resources'?"));
}

TEST(CommandLineProcessTest, VersionIsACommandAndAFlag) {
  const WeirOutput flag = RunWeir("--version"), command = RunWeir("version");
  EXPECT_EQ(flag.code, 0);
  EXPECT_EQ(command.code, 0);
  EXPECT_THAT(flag.text, StartsWith("weir "));
  EXPECT_EQ(flag.text, command.text);
}

TEST(CommandLineProcessTest, EachCommandHasHelpWithAnExampleAndExitCodes) {
  const std::vector<std::string> commands = AllCommands();
  EXPECT_GE(commands.size(), 16);
  for (const std::string& command : commands) {
    const WeirOutput help = RunWeir(command + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.text, AllOf(ContainsRegex("\nExamples?:\n"), HasSubstr("\nExit status:\n"))) << command;
    EXPECT_EQ(RunWeir("help " + command).text, help.text) << command;
    for (const absl::string_view line : absl::StrSplit(help.text, '\n')) EXPECT_LE(line.size(), 120) << line;
  }
}

}  // namespace
}  // namespace weir
