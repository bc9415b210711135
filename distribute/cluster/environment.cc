#include "distribute/cluster/environment.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr size_t kQuotedBytes = 80;

bool ParseNumber(absl::string_view text, int* number) {
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return absl::SimpleAtoi(text, number);
}

}  // namespace

Environment Environment::OfThisProcess() {
  std::map<std::string, std::string> values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    values.emplace(text.substr(0, equals), text.substr(equals + 1));  // the first of duplicates, as in getenv
  }
  return Environment(std::move(values));
}

const std::string* Environment::Find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? nullptr : &found->second;
}

absl::StatusOr<std::optional<int>> Environment::Number(const std::string& name, int least, int most) const {
  const std::string* text = Find(name);
  if (text == nullptr) return std::optional<int>();
  int number = 0;
  if (!ParseNumber(*text, &number) || number < least || number > most) {
    return errors::InvalidArgument(QuoteVariable(name, *text), " is not a number from ", least, " to ", most);
  }
  return std::optional<int>(number);
}

absl::StatusOr<std::string> Environment::Required(const std::string& name, absl::string_view advice) const {
  const std::string* text = Find(name);
  if (text == nullptr) return errors::InvalidArgument(name, " is not set: ", advice);
  return *text;
}

absl::StatusOr<int> Environment::RequiredNumber(const std::string& name, int least, int most,
                                                absl::string_view advice) const {
  ASSIGN_OR_RETURN(const std::optional<int> number, Number(name, least, most));
  if (!number.has_value()) return errors::InvalidArgument(name, " is not set: ", advice);
  return *number;
}

std::vector<std::string> EnvironmentWith(absl::string_view name, const std::optional<std::string>& value) {
  const std::string prefix = absl::StrCat(name, "=");
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!absl::StartsWith(*entry, prefix)) environment.emplace_back(*entry);
  }
  if (value.has_value()) environment.push_back(prefix + *value);
  return environment;
}

std::string QuoteVariable(absl::string_view name, absl::string_view value) {
  const absl::string_view cut = value.substr(0, kQuotedBytes);
  return absl::StrCat(name, "='", absl::CHexEscape(cut), cut.size() < value.size() ? "...'" : "'");
}

}  // namespace weir
