#include "tools/cli/command_line.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/cli/help_text.h"
#include "tools/cli/option_list.h"

namespace weir {
namespace {

// The number of letters to insert, remove, replace or swap with their neighbour.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const OptionGroup& group : OptionGroupsOf(command)) {
    for (const OptionEntry& option : group.options) {
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : VisibleCommands(command)) names.push_back(sub->get_name());
  return names;
}

std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : absl::StrCat(". Did you mean '", nearest, "'?");
}

// An argument where a command is expected, but that names none.
struct UnknownCommand {
  const CLI::App* parent = nullptr;
  std::string word;
};
UnknownCommand FindUnknownCommand(const CLI::App& root, int argc, const char* const* argv) {
  const CLI::App* app = &root;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto subs = app->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == argv[i]; });
    if (!subs.empty()) {
      app = subs.front();
    } else if (!VisibleCommands(*app).empty()) {
      return {app, argv[i]};
    } else {
      break;
    }
  }
  return {};
}

}  // namespace

CommandLine::CommandLine(const std::string& name, const std::string& summary, const std::string& version,
                         CommandDocs docs)
    : version_(version), root_(summary, name) {
  docs_[&root_] = std::move(docs);
  root_.set_help_flag("-h,--help", "Print this help and exit");
  root_.set_version_flag("--version", absl::StrCat(name, " ", version), "Print the version and exit");
  root_.require_subcommand(1);
}

CLI::App* CommandLine::Add(CLI::App& parent, const std::string& name, const std::string& summary, CommandDocs docs) {
  CLI::App* const command = parent.add_subcommand(name, summary);
  docs_[command] = std::move(docs);
  if (&parent != &root_) parent.require_subcommand(1);
  return command;
}

CLI::App* CommandLine::AddHidden(CLI::App& parent, const std::string& name, const std::string& summary) {
  CLI::App* const command = Add(parent, name, summary, {});
  command->group("");
  return command;
}

void CommandLine::Runs(CLI::App* command, std::function<int()> run) {
  command->callback([this, run = std::move(run)] { chosen_ = run; });
}

const CommandDocs& CommandLine::docs(const CLI::App& command) const { return docs_.at(&command); }

std::string CommandLine::HelpOf(const CLI::App& command) const { return HelpText(*this, command); }

const CLI::App& CommandLine::Chosen() const {
  const CLI::App* chosen = &root_;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().back();
  return *chosen;
}

int CommandLine::Report(const CLI::ParseError& error, std::ostream& err) const {
  const CLI::App& command = Chosen();
  const std::string name = FullName(command);
  const bool has_commands = !VisibleCommands(command).empty();
  const std::vector<std::string> extras = root_.remaining(/*recurse=*/true);
  if (has_commands && extras.empty()) {  // no command was given
    err << HelpOf(command);
    return kBadUsage;
  }
  std::string what = error.what();
  if (!extras.empty()) {
    const std::string& word = extras.front();
    const std::string option = word.substr(0, word.find('='));
    what = absl::StartsWith(word, "-")
               ? absl::StrCat("there is no option '", option, "'", DidYouMean(option, OptionNames(command)))
               : absl::StrCat("the argument '", word, "' is not expected");
  }
  err << name << ": " << what << "\nRun '" << name << " --help' to see its options.\n";
  return kBadUsage;
}

int CommandLine::Run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  if (const UnknownCommand unknown = FindUnknownCommand(root_, argc, argv); unknown.parent != nullptr) {
    const std::string name = FullName(*unknown.parent);
    err << name << ": there is no command '" << unknown.word << "'"
        << DidYouMean(unknown.word, CommandNames(*unknown.parent)) << "\nRun '" << name
        << " --help' to see the commands.\n";
    return kBadUsage;
  }
  try {
    root_.parse(argc, argv);
    return chosen_();
  } catch (const CLI::CallForHelp&) {
    out << HelpOf(Chosen());
    return kSuccess;
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << "\n";
    return kSuccess;
  } catch (const CLI::ParseError& error) {
    return Report(error, err);
  } catch (const std::exception& error) {  // out of memory or threads
    err << root_.get_name() << ": " << error.what() << "\n";
    return kFailed;
  }
}

std::string FullName(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : absl::StrCat(FullName(*parent), " ", command.get_name());
}

std::vector<const CLI::App*> VisibleCommands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

CLI::Option* AddChoice(CLI::App& command, const std::string& name, std::string& value,
                       const std::vector<std::string>& choices, const std::string& description) {
  const auto check = [choices](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string();
    return absl::StrCat("'", text, "' is none of ", absl::StrJoin(choices, ", "));
  };
  return command.add_option(name, value, description)
      ->check(CLI::Validator(check, "", "choice"))
      ->type_name(absl::StrJoin(choices, "|"));
}

std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(word.substr(0, 64), absl::string_view(candidate).substr(0, 64));
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace weir
