#include "tools/trace/lanes.h"

namespace weir {

size_t LaneAssignment::Place(int64_t start, int64_t end, uint64_t owner) {
  size_t free = lanes_.size();
  for (size_t i = 0; i < lanes_.size(); ++i) {
    std::vector<Open>& open = lanes_[i];
    while (!open.empty() && open.back().end <= start) open.pop_back();
    const bool nests = !open.empty() && owner != 0 && open.back().owner == owner && open.back().end >= end;
    if (nests) {
      open.push_back({end, owner});
      return i;
    }
    if (open.empty() && free == lanes_.size()) free = i;
  }
  if (free == lanes_.size()) lanes_.emplace_back();
  lanes_[free].push_back({end, owner});
  return free;
}

}  // namespace weir
