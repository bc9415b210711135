// Tests of the weir program's command line: help, errors, exit codes, documentation and logs.
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/command_line/weir_output.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

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
  output = RunWeir("trace 127.0.0.1:1");
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.text, HasSubstr("expected grpc://HOST:PORT"));
  output = RunWeir("server --log-level loud");
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.text, HasSubstr("'loud' is none of debug, info, warning, error"));
}

TEST(CommandLineProcessTest, AServerWhoseParentHasGoneDoesNotStart) {
  const WeirOutput server =
      RunWeir("server --parent 2147483647 --job worker --port 0 --cluster '{\"worker\": [\"127.0.0.1:0\"]}'");
  EXPECT_EQ(server.code, 1);
  EXPECT_THAT(server.text, HasSubstr("Process 2147483647, given by --parent, has ended or did not start this one"));
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
  EXPECT_GE(commands.size(), 18);
  for (const std::string& command : commands) {
    const WeirOutput help = RunWeir(command + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.text, AllOf(ContainsRegex("\nExamples?:\n"), HasSubstr("\nExit status:\n"))) << command;
    EXPECT_EQ(RunWeir("help " + command).text, help.text) << command;
    for (const absl::string_view line : absl::StrSplit(help.text, '\n')) EXPECT_LE(line.size(), 120) << line;
  }
}

TEST(CommandLineProcessTest, ManPagesAndCompletionsAgreeWithHelp) {
  const ScratchDirectory directory;
  ASSERT_EQ(RunWeir("write-documentation " + directory.path()).code, 0);
  const std::string bash = Content(directory.Path("completion/weir.bash"));
  EXPECT_EQ(RunWeir("completion bash").text, bash);
  EXPECT_EQ(RunWeir("completion zsh").text, Content(directory.Path("completion/_weir")));
  EXPECT_EQ(RunWeir("completion fish").text, Content(directory.Path("completion/weir.fish")));
  for (const std::string& command : AllCommands()) {
    const std::string top(command.substr(0, command.find(' ')));
    const std::string page = Content(directory.Path(absl::StrCat("man/weir", top.empty() ? "" : "-", top, ".1")));
    ASSERT_NE(page, "") << command;
    const std::string help = RunWeir(command + " --help").text;
    const std::regex option("\n +(-[a-z], )?(--[a-z-]+)");
    for (auto it = std::sregex_iterator(help.begin(), help.end(), option); it != std::sregex_iterator(); ++it) {
      const std::string name = (*it)[2];
      EXPECT_THAT(page, HasSubstr(absl::StrReplaceAll(name, {{"-", "\\-"}}))) << command;
      EXPECT_THAT(bash, HasSubstr(name)) << command;
    }
  }
}

TEST(CommandLineProcessTest, BashCompletesTheProgram) {
  FILE* const pipe =
      popen("bash --norc --noprofile -c 'source <(" WEIR_PROGRAM
            " completion bash); COMP_WORDS=(weir server --log-f); COMP_CWORD=2; _weir; echo ${COMPREPLY[@]}; "
            "COMP_WORDS=(weir server --log-format \"\"); COMP_CWORD=3; _weir; echo ${COMPREPLY[@]}; "
            "COMP_WORDS=(weir checkpoint v); COMP_CWORD=2; _weir; echo ${COMPREPLY[@]}; complete -p weir' 2>&1",
            "r");
  char text[4096] = {};
  const size_t size = fread(text, 1, sizeof(text) - 1, pipe);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(std::string(text, size), "--log-format\ntext json\nverify\ncomplete -F _weir weir\n");
}

TEST(ServerLogTest, JsonLogsAreOneObjectALine) {
  ASSERT_OK_AND_ASSIGN(const auto cluster,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .flags = {"--log-format", "json"}}));
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(cluster->Log("worker", 0), '\n', absl::SkipEmpty())) {
    const auto object = nlohmann::json::parse(std::string(line));
    EXPECT_THAT(object["time"].get<std::string>(),
                ContainsRegex("^[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+[.][0-9]{6}Z$"));
    EXPECT_TRUE(object["level"].is_string() && object["message"].is_string()) << line;
    if (object["message"] == "serving") {
      EXPECT_EQ(object["task"], "/job:worker/replica:0/task:0");
      EXPECT_TRUE(object["fields"]["address"].is_string()) << line;
    }
    ++lines;
  }
  EXPECT_GE(lines, 1);
}

TEST(ServerLogTest, TheLevelIsAFlagOrTensorFlowsVariable) {
  ASSERT_OK_AND_ASSIGN(const auto quiet,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .flags = {"--log-level", "error"}}));
  EXPECT_THAT(quiet->Log("worker", 0), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto tensorflow,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .environment = {"TF_CPP_MIN_LOG_LEVEL=2"}}));
  EXPECT_THAT(tensorflow->Log("worker", 0), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto both, ProcessCluster::Start({.program = WEIR_PROGRAM,
                                                               .flags = {"--log-level", "info"},
                                                               .environment = {"TF_CPP_MIN_LOG_LEVEL=2"}}));
  EXPECT_THAT(both->Log("worker", 0), HasSubstr("serving"));
}

}  // namespace
}  // namespace weir
