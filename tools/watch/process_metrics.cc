#include "tools/watch/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

// The fields of /proc/self/stat behind the name, which may contain anything: field 3 of proc(5) comes first.
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return {};
  return absl::StrSplit(line.substr(name_end + 2), ' ');
}

double Number(const std::vector<std::string>& fields, size_t number) {
  constexpr size_t kFirst = 3;
  double value = 0;
  return number - kFirst < fields.size() && absl::SimpleAtod(fields[number - kFirst], &value) ? value : 0;
}

// When the machine started.
double BootSeconds() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    double value = 0;
    if (line.rfind("btime ", 0) == 0 && absl::SimpleAtod(line.substr(6), &value)) return value;
  }
  return 0;
}

int64_t CountOpenFiles() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int64_t count = -1;  // the folder's own
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(folder);
  return count;
}

}  // namespace

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  return file >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

ProcessMetrics ReadProcessMetrics() {
  // Numbers of proc(5).
  constexpr size_t kUserTime = 14, kSystemTime = 15, kThreads = 20, kStartTime = 22, kVirtualBytes = 23;
  const std::vector<std::string> fields = StatFields();
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessMetrics metrics;
  metrics.start_time_seconds = BootSeconds() + Number(fields, kStartTime) / ticks;
  metrics.cpu_seconds = (Number(fields, kUserTime) + Number(fields, kSystemTime)) / ticks;
  metrics.virtual_bytes = static_cast<int64_t>(Number(fields, kVirtualBytes));
  metrics.threads = static_cast<int64_t>(Number(fields, kThreads));
  metrics.resident_bytes = ResidentBytes();
  metrics.open_files = CountOpenFiles();
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    metrics.max_open_files = static_cast<int64_t>(limit.rlim_cur);
  }
  return metrics;
}

}  // namespace weir
