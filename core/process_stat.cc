#include "core/process_stat.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace weir {

std::optional<ProcessStat> ReadProcessStat(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  // The read fails if the process ends after the file was opened: getline reports it, an iterator over the buffer
  // throws.
  if (!std::getline(file, line)) return std::nullopt;
  // "pid (name) state parent …"; the name may contain anything but a line end.
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(absl::string_view(line).substr(name_end + 2), ' ');
  ProcessStat stat;
  if (fields.size() < 2 || fields[0].size() != 1 || !absl::SimpleAtoi(fields[1], &stat.parent)) return std::nullopt;
  stat.state = fields[0][0];
  return stat;
}

}  // namespace weir
