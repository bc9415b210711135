#include "distribute/cluster/host_list.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "distribute/cluster/environment.h"

namespace weir {
namespace {

constexpr size_t kMaxHostName = 253;
constexpr size_t kMaxDigits = 18;
constexpr int kMaxBrackets = 8;  // in one name
constexpr size_t kMaxJobName = 63;

absl::Status Bad(absl::string_view variable, absl::string_view text, absl::string_view why) {
  return errors::InvalidArgument(QuoteVariable(variable, text), ": ", why);
}

bool ParseDigits(absl::string_view text, int64_t* number) {
  if (text.empty() || text.size() > kMaxDigits) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return absl::SimpleAtoi(text, number);
}

// A number from 1 to kMaxClusterTasks.
bool ParseCount(absl::string_view text, int* count) {
  int64_t number = 0;
  if (!ParseDigits(text, &number) || number < 1 || number > kMaxClusterTasks) return false;
  *count = static_cast<int>(number);
  return true;
}

// Splits at commas outside brackets.
std::vector<absl::string_view> SplitOutsideBrackets(absl::string_view text) {
  std::vector<absl::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::string Padded(int64_t number, size_t width) {
  std::string digits = absl::StrCat(number);
  return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

// "1-3,07" as 1 2 3 07.
absl::Status ExpandRanges(absl::string_view ranges, std::vector<std::string>* numbers) {
  for (const absl::string_view range : absl::StrSplit(ranges, ',')) {
    const size_t dash = range.find('-');
    const absl::string_view low_text = range.substr(0, dash);
    const absl::string_view high_text = dash == absl::string_view::npos ? low_text : range.substr(dash + 1);
    int64_t low = 0, high = 0;
    if (!ParseDigits(low_text, &low) || !ParseDigits(high_text, &high)) {
      return errors::InvalidArgument("'[", range.substr(0, kMaxHostName), "]' is not a range like [1-4] or [1,3]");
    }
    if (low > high) return errors::InvalidArgument("the range [", range, "] ends before it starts");
    if (high - low >= kMaxClusterTasks - static_cast<int64_t>(numbers->size())) {
      return errors::InvalidArgument("[", range, "] makes more than ", kMaxClusterTasks, " hosts");
    }
    for (int64_t number = low; number <= high; ++number) numbers->push_back(Padded(number, low_text.size()));
  }
  return absl::OkStatus();
}

absl::Status CheckHostName(absl::string_view name) {
  if (name.empty()) return errors::InvalidArgument("a host's name is empty");
  if (name.size() > kMaxHostName) return errors::InvalidArgument("a host's name is longer than ", kMaxHostName);
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.' && c != '_') {
      return errors::InvalidArgument("'", name, "' is not a host's name: it has letters, digits, '-', '.' and '_'");
    }
  }
  return absl::OkStatus();
}

// Appends every suffix to every name.
absl::Status Multiply(const std::vector<std::string>& suffixes, std::vector<std::string>* names) {
  if (suffixes.size() * names->size() > kMaxClusterTasks) {
    return errors::InvalidArgument("its brackets make more than ", kMaxClusterTasks, " hosts");
  }
  std::vector<std::string> longer;
  longer.reserve(suffixes.size() * names->size());
  for (const std::string& name : *names) {
    for (const std::string& suffix : suffixes) longer.push_back(absl::StrCat(name, suffix));
  }
  if (longer.front().size() > kMaxHostName) {
    return errors::InvalidArgument("a host's name is longer than ", kMaxHostName);
  }
  *names = std::move(longer);
  return absl::OkStatus();
}

// One part of the list: text alternating with brackets.
absl::StatusOr<std::vector<std::string>> ExpandPart(absl::string_view part) {
  std::vector<std::string> names = {""};
  int brackets = 0;
  while (!part.empty()) {
    const size_t open = part.find('[');
    const absl::string_view plain = part.substr(0, open);
    if (!plain.empty()) {
      RETURN_IF_ERROR(CheckHostName(plain.substr(0, kMaxHostName + 1)));
      RETURN_IF_ERROR(Multiply({std::string(plain)}, &names));
    }
    if (open == absl::string_view::npos) break;
    if (++brackets > kMaxBrackets) return errors::InvalidArgument("a host has more than ", kMaxBrackets, " brackets");
    part.remove_prefix(open + 1);
    const size_t close = part.find(']');
    if (close == absl::string_view::npos) return errors::InvalidArgument("a '[' is not closed");
    std::vector<std::string> numbers;
    RETURN_IF_ERROR(ExpandRanges(part.substr(0, close), &numbers));
    RETURN_IF_ERROR(Multiply(numbers, &names));
    part.remove_prefix(close + 1);
  }
  for (const std::string& name : names) RETURN_IF_ERROR(CheckHostName(name));
  return names;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostList(absl::string_view variable, absl::string_view text) {
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  for (const absl::string_view part : SplitOutsideBrackets(text)) {
    absl::StatusOr<std::vector<std::string>> names = ExpandPart(part);
    if (!names.ok()) return Bad(variable, text, names.status().message());
    if (hosts.size() + names->size() > kMaxClusterTasks) {
      return Bad(variable, text, absl::StrCat("it names more than ", kMaxClusterTasks, " hosts"));
    }
    for (std::string& name : *names) {
      if (!seen.insert(name).second) return Bad(variable, text, absl::StrCat("it names ", name, " twice"));
      hosts.push_back(std::move(name));
    }
  }
  return hosts;
}

absl::StatusOr<std::vector<int>> ExpandTaskCounts(absl::string_view variable, absl::string_view text) {
  std::vector<int> counts;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    int count = 0, times = 1;
    if (const size_t open = part.find("(x"); open != absl::string_view::npos && part.back() == ')') {
      if (!ParseCount(part.substr(open + 2, part.size() - open - 3), &times)) times = 0;
      part = part.substr(0, open);
    }
    if (times == 0 || !ParseCount(part, &count)) {
      return Bad(variable, text,
                 absl::StrCat("it is not a list of counts from 1 to ", kMaxClusterTasks, " like 2(x3),1"));
    }
    if (counts.size() + times > kMaxClusterTasks) {
      return Bad(variable, text, absl::StrCat("it is for more than ", kMaxClusterTasks, " hosts"));
    }
    counts.insert(counts.end(), times, count);
  }
  return counts;
}

absl::StatusOr<std::map<std::string, int>> ParseJobSizes(absl::string_view variable, absl::string_view text) {
  std::map<std::string, int> sizes;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const size_t equals = part.find('=');
    const absl::string_view job = part.substr(0, equals);
    int count = 0;
    if (equals == absl::string_view::npos || job.empty() || job.size() > kMaxJobName ||
        !ParseCount(part.substr(equals + 1), &count)) {
      return Bad(
          variable, text,
          absl::StrCat("it is not a list of jobs and their tasks, 1 to ", kMaxClusterTasks, ", like ps=2,worker=4"));
    }
    if (!sizes.emplace(job, count).second) return Bad(variable, text, absl::StrCat("job ", job, " is given twice"));
    if ((job == "chief" || job == "master") && count > 1) {
      return Bad(variable, text, absl::StrCat("job ", job, " may have one task"));
    }
  }
  if (sizes.count("chief") > 0 && sizes.count("master") > 0) {
    return Bad(variable, text, "a cluster has a chief or a master, not both");
  }
  return sizes;
}

}  // namespace weir
