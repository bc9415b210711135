#include "tools/cli/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/cli/option_list.h"

namespace weir {
namespace {

std::string Bold(absl::string_view text) { return absl::StrCat("\\fB", EscapeRoff(text), "\\fR"); }
std::string Italic(absl::string_view text) { return absl::StrCat("\\fI", EscapeRoff(text), "\\fR"); }

std::string Paragraphs(absl::string_view text) {
  std::string out;
  for (const absl::string_view paragraph : absl::StrSplit(text, "\n\n", absl::SkipWhitespace())) {
    absl::StrAppend(&out, ".PP\n", EscapeRoff(absl::StrReplaceAll(paragraph, {{"\n", " "}})), "\n");
  }
  return out;
}

std::string PageOption(const OptionEntry& option) {
  const std::string names = absl::StrJoin(
      option.names, ", ", [](std::string* out, const std::string& name) { absl::StrAppend(out, Bold(name)); });
  return absl::StrCat(".TP\n", names, option.value.empty() ? "" : absl::StrCat(" ", Italic(option.value)), "\n",
                      EscapeRoff(option.text), "\n");
}

std::string PageOptions(const CLI::App& command) {
  std::string out;
  for (const OptionEntry& option : PositionalsOf(command)) out += PageOption(option);
  for (const OptionGroup& group : OptionGroupsOf(command)) {
    absl::StrAppend(&out, ".PP\n", EscapeRoff(group.title), ":\n");
    for (const OptionEntry& option : group.options) out += PageOption(option);
  }
  return out;
}

std::string PageExamples(const CommandDocs& docs) {
  std::string out;
  for (const CommandDocs::Example& example : docs.examples) {
    if (!example.explanation.empty()) absl::StrAppend(&out, ".PP\n", EscapeRoff(example.explanation), ":\n");
    absl::StrAppend(&out, ".PP\n.in +4n\n.nf\n", EscapeRoff(example.command), "\n.fi\n.in\n");
  }
  return out;
}

std::string PageExitCodes(const CommandDocs& docs) {
  std::string out;
  for (const CommandDocs::ExitCode& exit : docs.exit_codes) {
    absl::StrAppend(&out, ".TP\n", Bold(exit.code), "\n", EscapeRoff(exit.meaning), "\n");
  }
  return out;
}

std::string Titled(absl::string_view title, const std::string& text) {
  return text.empty() ? "" : absl::StrCat(".SH ", EscapeRoff(title), "\n", text);
}

std::string PageSections(const CommandDocs& docs) {
  std::string out;
  for (const CommandDocs::Section& section : docs.sections) out += Titled(section.title, Paragraphs(section.text));
  return out;
}

std::string PageName(const CLI::App& command) { return absl::StrReplaceAll(FullName(command), {{" ", "-"}}); }

// The commands of a command, each with its options and examples.
std::string SubPages(const CommandLine& line, const CLI::App& command) {
  std::string out;
  for (const CLI::App* sub : VisibleCommands(command)) {
    const CommandDocs& docs = line.docs(*sub);
    absl::StrAppend(&out, ".SS ", EscapeRoff(UsageOf(*sub, docs.usage)), "\n",
                    EscapeRoff(absl::StrCat(sub->get_description(), ".")), "\n", Paragraphs(docs.description),
                    PageOptions(*sub), PageExamples(docs), PageExitCodes(docs));
  }
  return out;
}

std::string SeeAlso(const CommandLine& line, const CLI::App& command) {
  std::vector<std::string> pages;
  if (&command != &line.root()) pages.push_back(line.root().get_name());
  for (const CLI::App* sub : VisibleCommands(line.root())) {
    if (sub != &command) pages.push_back(PageName(*sub));
  }
  return absl::StrCat(
      absl::StrJoin(pages, ", ",
                    [](std::string* out, const std::string& page) { absl::StrAppend(out, Bold(page), "(1)"); }),
      "\n");
}

std::string CommandTable(const CLI::App& root) {
  std::string out;
  for (const CLI::App* sub : VisibleCommands(root)) {
    absl::StrAppend(&out, ".TP\n", Bold(PageName(*sub)), "(1)\n", EscapeRoff(sub->get_description()), "\n");
  }
  return out;
}

ManPage PageOf(const CommandLine& line, const CLI::App& command) {
  const bool is_root = &command == &line.root();
  const CommandDocs& docs = line.docs(command);
  const std::string name = PageName(command);
  const std::string program = absl::StrCat(line.root().get_name(), " ", line.version());
  std::string text = absl::StrCat(".\\\" Made from the definitions of the command line.\n.TH ",
                                  absl::AsciiStrToUpper(EscapeRoff(name)), " 1 \"\" \"", EscapeRoff(program),
                                  "\" \"User Commands\"\n.nh\n.ad l\n");
  text += Titled("NAME", absl::StrCat(EscapeRoff(name), " \\- ", EscapeRoff(command.get_description()), "\n"));
  text += Titled("SYNOPSIS", absl::StrCat(EscapeRoff(UsageOf(command, docs.usage)), "\n"));
  text += Titled("DESCRIPTION", Paragraphs(docs.description));
  text += Titled("COMMANDS", is_root ? CommandTable(command) : SubPages(line, command));
  text += Titled("OPTIONS", PageOptions(command));
  text += Titled("EXAMPLES", PageExamples(docs));
  text += PageSections(docs);
  text += Titled("EXIT STATUS", PageExitCodes(docs));
  text += Titled("SEE ALSO", SeeAlso(line, command));
  return {.name = name, .text = std::move(text)};
}

}  // namespace

std::vector<ManPage> ManPages(const CommandLine& line) {
  std::vector<ManPage> pages = {PageOf(line, line.root())};
  for (const CLI::App* command : VisibleCommands(line.root())) pages.push_back(PageOf(line, *command));
  return pages;
}

std::string EscapeRoff(absl::string_view text) {
  const std::string escaped = absl::StrReplaceAll(
      text, {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"\"", "\\(dq"}, {"…", "..."}, {"`", "\\(ga"}});
  // A line that begins with one of these is a request.
  return absl::StartsWith(escaped, ".") ? absl::StrCat("\\&", escaped) : escaped;
}

}  // namespace weir
