// The building blocks of algorithms: parts of schedules for some of the ranks, on a range of a vector.
#pragma once

#include <cstdint>
#include <vector>

#include "distribute/collective/schedule.h"

namespace weir {

// Ranks that work together; this one is ranks[me].
struct Team {
  std::vector<int> ranks;
  int me = 0;
  int size() const { return static_cast<int>(ranks.size()); }
  // The member `i` places further round the ring.
  int At(int i) const { return ranks[((me + i) % size() + size()) % size()]; }
  static Team All(int size, int rank);
};

// A part of a vector with the same offsets in input and output.
struct Range {
  int64_t offset = 0, count = 0;
  Block BlockAt(int parts, int index) const {
    Block block = BlockOf(count, parts, index);
    block.offset += offset;
    return block;
  }
  Block BlocksAt(int parts, int first, int num) const {
    Block block = BlocksOf(count, parts, first, num);
    block.offset += offset;
    return block;
  }
};

// Each part adds steps to the current lane with rounds from `round` on, and advances `round` past those that any member
// uses. The range is read from `source`; the result is in the output.
// uses. `source` is where the range lies before; afterwards it is in the output.

// Afterwards member i has the sum of block i.
void RingReduceScatter(ScheduleBuilder& builder, const Team& team, BufferId source, Range range, int& round);
// Member i starts with block i of the output.
void RingAllGather(ScheduleBuilder& builder, const Team& team, Range range, int& round);
void RingAllReduce(ScheduleBuilder& builder, const Team& team, BufferId source, Range range, int& round);
void HalvingDoublingAllReduce(ScheduleBuilder& builder, const Team& team, BufferId source, Range range, int& round);
// `scratch` has room for the range. `in_place`: the source is the output's memory.
void RecursiveDoublingAllReduce(ScheduleBuilder& builder, const Team& team, BufferId source, bool in_place, Range range,
                                Place scratch, int& round);
// Reduces to member `root`, whose result goes to `to`; other members use `to` for intermediate results.
void BinomialReduce(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count,
                    int& round);
// Member `root` sends from `from`; the others receive into `to`.
void BinomialBroadcast(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count,
                       int& round);
// The same along a binary tree.
void TreeReduce(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count, int& round);
void TreeBroadcast(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count,
                   int& round);

// The largest power of two that is at most `n`, and its logarithm.
int FloorPowerOfTwo(int n);
int FloorLog2(int n);
int CeilLog2(int n);

}  // namespace weir
