// Tests of man pages and completions.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/files/scratch_directory_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/completion.h"
#include "tools/cli/man_page.h"
#include "tools/cli/tool_testing.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string OutputOf(const std::string& command, int* code) {
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof(part), pipe)) > 0;) output.append(part, n);
  *code = pclose(pipe);
  return output;
}

bool HasProgram(const std::string& name) { return system(("command -v " + name + " > /dev/null 2>&1").c_str()) == 0; }

TEST(ManPageTest, ThereIsAPageForEachVisibleCommand) {
  TestTool tool;
  std::vector<std::string> names;
  for (const ManPage& page : ManPages(tool.line())) names.push_back(page.name);
  EXPECT_THAT(names, ElementsAre("tool", "tool-serve", "tool-list", "tool-box"));
}

TEST(ManPageTest, APageHasWhatHelpHasAndItsSections) {
  TestTool tool;
  const std::vector<ManPage> pages = ManPages(tool.line());
  EXPECT_THAT(pages[0].text,
              AllOf(HasSubstr(".TH TOOL 1 \"\" \"tool 1.2.3\" \"User Commands\"\n"),
                    HasSubstr(".SH NAME\ntool \\- Do what tests need\n"), HasSubstr(".PP\nThe first paragraph.\n"),
                    HasSubstr(".PP\n\\&.The second one\\(aqs dots and \\ebackslashes stay.\n"),
                    HasSubstr("\\fBtool\\-serve\\fR(1)"), HasSubstr(".SH EXIT STATUS\n.TP\n\\fB0\\fR\nSuccess.\n")));
  EXPECT_THAT(pages[1].text,
              AllOf(HasSubstr("\\fB\\-\\-level\\fR \\fIdebug|info\\fR\n"), HasSubstr("(default: info)"),
                    HasSubstr(".SH FILES\n.PP\n/etc/tool\n"), HasSubstr(".SH SEE ALSO\n\\fBtool\\fR(1), ")));
  EXPECT_THAT(pages[3].text, AllOf(HasSubstr(".SS tool box open [OPTION]..."), HasSubstr(".SS tool box close")));
  for (const ManPage& page : pages) EXPECT_THAT(page.text, Not(HasSubstr("secret")));
}

TEST(ManPageTest, GroffPrintsPagesWithoutWarnings) {
  if (!HasProgram("groff")) GTEST_SKIP() << "groff is not installed";
  const ScratchDirectory directory;
  TestTool tool;
  for (const ManPage& page : ManPages(tool.line())) {
    const std::string path = directory.Path(page.name);
    FILE* const file = fopen(path.c_str(), "w");
    fwrite(page.text.data(), 1, page.text.size(), file);
    fclose(file);
    int code = -1;
    const std::string warnings = OutputOf(absl::StrCat("groff -man -Tascii -ww -z ", path, " 2>&1"), &code);
    EXPECT_EQ(code, 0);
    EXPECT_EQ(warnings, "") << page.name;
  }
}

// The completions that bash offers for the last word of a command line, after sourcing the script.
class BashCompletionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string script = BashCompletion(tool_.line());
    FILE* const file = fopen(directory_.Path("script").c_str(), "w");
    fwrite(script.data(), 1, script.size(), file);
    fclose(file);
  }
  std::string Offers(const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    for (const std::string& word : words) quoted.push_back(absl::StrCat("'", word, "'"));
    int code = -1;
    // As bash calls it, with the words of the line.
    std::string offered = OutputOf(
        absl::StrCat("cd ", directory_.path(), " && bash --norc --noprofile -c \"source ./script; COMP_WORDS=(tool ",
                     absl::StrJoin(quoted, " "), "); COMP_CWORD=", words.size(),
                     "; _tool tool; printf '%s ' \\\"\\${COMPREPLY[@]}\\\"\" 2>&1"),
        &code);
    EXPECT_EQ(code, 0) << offered;
    while (!offered.empty() && offered.back() == ' ') offered.pop_back();
    return offered;
  }

  TestTool tool_;
  ScratchDirectory directory_;
};

TEST_F(BashCompletionTest, OffersCommands) {
  EXPECT_EQ(Offers({""}), "serve list box");
  EXPECT_EQ(Offers({"s"}), "serve");
  EXPECT_EQ(Offers({"box", ""}), "open close");
}

TEST_F(BashCompletionTest, OffersOptionsAndTheirValues) {
  EXPECT_EQ(Offers({"serve", "--l"}), "--level --loud");
  EXPECT_EQ(Offers({"-"}), "--version -h --help");
  EXPECT_EQ(Offers({"serve", "--level", ""}), "debug info");
  EXPECT_EQ(Offers({"serve", "--level", "=", "d"}), "debug");
  EXPECT_EQ(Offers({"serve", "--level", "="}), "debug info");
  EXPECT_EQ(Offers({"serve", "--number", ""}), "");
}

TEST_F(BashCompletionTest, OffersFilesAndDirectories) {
  EXPECT_EQ(Offers({"list", ""}), "script");
  EXPECT_EQ(Offers({"serve", "-d", ""}), "");
  EXPECT_EQ(Offers({"serve", "--", "program", "scr"}), "script");
}

TEST(ZshCompletionTest, TheScriptIsValid) {
  TestTool tool;
  const std::string script = ZshCompletion(tool.line());
  EXPECT_THAT(script,
              HasSubstr("'--level=[What \\[it\\] says\\: it'\\''s \"all\" or less (default\\: info)]:debug|info:"
                        "(debug info)'"));
  if (!HasProgram("zsh")) GTEST_SKIP() << "zsh is not installed";
  const ScratchDirectory directory;
  FILE* const file = fopen(directory.Path("_tool").c_str(), "w");
  fwrite(script.data(), 1, script.size(), file);
  fclose(file);
  int code = -1;
  const std::string output =
      OutputOf(absl::StrCat("zsh -fc 'autoload -U compinit; compinit -u -D; source ", directory.Path("_tool"),
                            "; print -r -- ${_comps[tool]}; whence -w _tool_box_open' 2>&1"),
               &code);
  EXPECT_EQ(output, "_tool\n_tool_box_open: function\n");
}

TEST(FishCompletionTest, TheScriptOffersCommandsAndOptions) {
  TestTool tool;
  const std::string script = FishCompletion(tool.line());
  EXPECT_THAT(script, HasSubstr("-n '__fish_seen_subcommand_from serve' -l level -x -a 'debug info' -d "));
  if (!HasProgram("fish")) GTEST_SKIP() << "fish is not installed";
  const ScratchDirectory directory;
  FILE* const file = fopen(directory.Path("tool.fish").c_str(), "w");
  fwrite(script.data(), 1, script.size(), file);
  fclose(file);
  int code = -1;
  const std::string output =
      OutputOf(absl::StrCat("HOME=", directory.path(), " fish --no-config -c 'source ", directory.Path("tool.fish"),
                            "; complete -C \"tool serve --level \"; complete -C \"tool box \"' 2>&1"),
               &code);
  EXPECT_THAT(output, AllOf(HasSubstr("debug"), HasSubstr("info"), HasSubstr("open"), HasSubstr("close")));
}

}  // namespace
}  // namespace weir
