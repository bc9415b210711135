// The rows of a trace viewer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// Assigns slices, in the order of their starts (the longer one first), to lanes, so that those of one lane are disjoint
// or nested. Only slices of one owner nest: a call and the nodes that it runs on its thread.
class LaneAssignment {
 public:
  // The lane for the slice; `owner` 0: it nests in nothing.
  size_t Place(int64_t start, int64_t end, uint64_t owner);
  size_t size() const { return lanes_.size(); }

 private:
  struct Open {
    int64_t end = 0;
    uint64_t owner = 0;
  };
  std::vector<std::vector<Open>> lanes_;  // the slices that are open, each inside of the one before
};

}  // namespace weir
