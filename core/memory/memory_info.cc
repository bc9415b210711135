#include "core/memory/memory_info.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace weir {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number after `key` in lines of "key number"; kUnknown if there is none. An empty key: the file's first word.
int64_t ReadNumber(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  int64_t number;
  if (key.empty()) return file >> number ? number : kUnknown;
  while (file >> word) {
    if (word == key) return file >> number ? number : kUnknown;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return kUnknown;
}

// An unset limit reads "max", or a number larger than any memory.
int64_t GroupLeaves(const std::string& limit_path, const std::string& usage_path, const std::string& stat_path,
                    const std::string& cache_key) {
  const int64_t limit = ReadNumber(limit_path, ""), usage = ReadNumber(usage_path, "");
  if (limit == kUnknown || usage == kUnknown) return kUnknown;
  const int64_t cache = ReadNumber(stat_path, cache_key);
  const int64_t used = usage - (cache == kUnknown ? 0 : cache);
  return std::max<int64_t>(0, limit - std::max<int64_t>(0, used));
}

}  // namespace

int64_t AvailableMemory(const std::string& root) {
  const int64_t kib = ReadNumber(root + "/proc/meminfo", "MemAvailable:");
  const int64_t machine = kib == kUnknown ? kUnknown : kib * 1024;
  const std::string two = root + "/sys/fs/cgroup/", one = root + "/sys/fs/cgroup/memory/";
  return std::min({machine,
                   GroupLeaves(two + "memory.max", two + "memory.current", two + "memory.stat", "inactive_file"),
                   GroupLeaves(one + "memory.limit_in_bytes", one + "memory.usage_in_bytes", one + "memory.stat",
                               "total_inactive_file")});
}

int64_t PhysicalMemory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages * page : 0;
}

}  // namespace weir
