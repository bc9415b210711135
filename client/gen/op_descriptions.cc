#include "client/gen/op_descriptions.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

constexpr char kIndent[] = "  ";

}  // namespace

absl::Status AddOpDescriptions(const std::string& file, const std::string& text, OpDescriptions* descriptions) {
  std::vector<std::string>* lines = nullptr;
  int number = 0;
  const auto error = [&](absl::string_view what) { return errors::InvalidArgument(file, ":", number, ": ", what); };
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    ++number;
    if (absl::ConsumePrefix(&line, kIndent)) {
      if (lines == nullptr) return error("a description without an op");
      lines->emplace_back(line);
      continue;
    }
    if (lines != nullptr && lines->empty()) return error("the op before this line has no description");
    if (line.empty() || absl::StrContains(line, ' ')) return error("not the name of an op");
    const auto [entry, is_new] = descriptions->try_emplace(std::string(line));
    if (!is_new) return error(absl::StrCat(line, " is described already"));
    lines = &entry->second;
  }
  return lines == nullptr || lines->empty() ? error("the last op has no description") : absl::OkStatus();
}

}  // namespace weir
