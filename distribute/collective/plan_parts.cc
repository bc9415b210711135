#include "distribute/collective/plan_parts.h"

#include <numeric>

namespace weir {
namespace {

Place At(BufferId buffer, int64_t offset) { return {buffer, offset}; }

// For a number of ranks that is not a power of two, the first ranks form pairs: the even one gives its vector to the
// odd one, pauses, and gets the result.
struct Folding {
  explicit Folding(const Team& team)
      : active(FloorPowerOfTwo(team.size())), pairs(team.size() - active), is_paired(team.me < 2 * pairs) {
    sits_out = is_paired && team.me % 2 == 0;
    id = is_paired ? team.me / 2 : team.me - pairs;
  }
  // The team member with number `i` among the active ones.
  int Member(int i) const { return i < pairs ? 2 * i + 1 : i + pairs; }

  int active, pairs;
  bool is_paired, sits_out = false;
  int id = 0;  // among the active ones
};

// Children and parent of `v` in the binomial tree with root 0 of `size` nodes.
int BinomialParent(int v) { return v & (v - 1); }
int BinomialReach(int v, int size) {  // children are v + 1, v + 2, v + 4 … below v + reach
  return v == 0 ? 1 << CeilLog2(size) : v & -v;
}

// Renumbers members so that the root is 0.
struct Rooted {
  Rooted(const Team& team, int root) : team(team), root(root), v((team.me - root + team.size()) % team.size()) {}
  int RankOf(int node) const { return team.ranks[(node + root) % team.size()]; }
  const Team& team;
  int root, v;
};

}  // namespace

int FloorLog2(int n) {
  int log = 0;
  while ((n >> (log + 1)) > 0) ++log;
  return log;
}

int FloorPowerOfTwo(int n) { return 1 << FloorLog2(n); }
int CeilLog2(int n) { return FloorLog2(n) + (FloorPowerOfTwo(n) == n ? 0 : 1); }

Team Team::All(int size, int rank) {
  Team team;
  team.ranks.resize(size);
  std::iota(team.ranks.begin(), team.ranks.end(), 0);
  team.me = rank;
  return team;
}

void RingReduceScatter(ScheduleBuilder& builder, const Team& team, BufferId source, Range range, int& round) {
  const int size = team.size();
  const auto block_at = [&](int back) { return range.BlockAt(size, (team.me - back + 2 * size) % size); };
  for (int k = 0; k + 1 < size; ++k) {
    const Block out = block_at(1 + k), in = block_at(2 + k);
    builder.BeginStep(round + k);
    builder.Send(team.At(1), At(k == 0 ? source : BufferId::kOutput, out.offset), out.count);
    builder.ReceiveReduce(team.At(-1), At(source, in.offset), At(BufferId::kOutput, in.offset), in.count);
  }
  round += size - 1;
}

void RingAllGather(ScheduleBuilder& builder, const Team& team, Range range, int& round) {
  const int size = team.size();
  for (int k = 0; k + 1 < size; ++k) {
    const Block out = range.BlockAt(size, (team.me - k + size) % size);
    const Block in = range.BlockAt(size, (team.me - k - 1 + size) % size);
    builder.BeginStep(round + k);
    builder.Send(team.At(1), At(BufferId::kOutput, out.offset), out.count);
    builder.Receive(team.At(-1), At(BufferId::kOutput, in.offset), in.count);
  }
  round += size - 1;
}

void RingAllReduce(ScheduleBuilder& builder, const Team& team, BufferId source, Range range, int& round) {
  RingReduceScatter(builder, team, source, range, round);
  const Block mine = range.BlockAt(team.size(), team.me);
  builder.BeginStep(round++);
  builder.Reduced(At(BufferId::kOutput, mine.offset), mine.count);
  RingAllGather(builder, team, range, round);
}

void HalvingDoublingAllReduce(ScheduleBuilder& builder, const Team& team, BufferId source, Range range, int& round) {
  const Folding fold(team);
  const int logs = FloorLog2(team.size());
  const int last_round = round + 1 + 2 * logs;
  if (fold.sits_out) {
    builder.BeginStep(round);
    builder.Send(team.At(1), At(source, range.offset), range.count);
    builder.BeginStep(last_round);
    builder.Receive(team.At(1), At(BufferId::kOutput, range.offset), range.count);
    round = last_round + 1;
    return;
  }
  if (fold.is_paired) {
    builder.BeginStep(round);
    builder.ReceiveReduce(team.At(-1), At(source, range.offset), At(BufferId::kOutput, range.offset), range.count);
    source = BufferId::kOutput;
  }
  int first = 0, num = fold.active, k = round + 1;
  for (int distance = fold.active / 2; distance > 0; distance /= 2, ++k) {
    const int peer = team.ranks[fold.Member(fold.id ^ distance)];
    num /= 2;
    const bool keeps_upper = (fold.id & distance) != 0;
    const Block gone = range.BlocksAt(fold.active, keeps_upper ? first : first + num, num);
    if (keeps_upper) first += num;
    const Block kept = range.BlocksAt(fold.active, first, num);
    builder.BeginStep(k);
    builder.Send(peer, At(source, gone.offset), gone.count);
    builder.ReceiveReduce(peer, At(source, kept.offset), At(BufferId::kOutput, kept.offset), kept.count);
    source = BufferId::kOutput;
  }
  const Block reduced = range.BlocksAt(fold.active, first, num);
  builder.BeginStep(k);
  builder.Reduced(At(BufferId::kOutput, reduced.offset), reduced.count);
  for (int distance = 1; distance < fold.active; distance *= 2, ++k) {
    const int peer = team.ranks[fold.Member(fold.id ^ distance)];
    const int other = first ^ distance;
    const Block mine = range.BlocksAt(fold.active, first, num), theirs = range.BlocksAt(fold.active, other, num);
    builder.BeginStep(k);
    builder.Send(peer, At(BufferId::kOutput, mine.offset), mine.count);
    builder.Receive(peer, At(BufferId::kOutput, theirs.offset), theirs.count);
    first &= ~distance;
    num *= 2;
  }
  if (fold.is_paired) {
    builder.BeginStep(last_round);
    builder.Send(team.At(-1), At(BufferId::kOutput, range.offset), range.count);
  }
  round = last_round + 1;
}

void RecursiveDoublingAllReduce(ScheduleBuilder& builder, const Team& team, BufferId source, bool in_place, Range range,
                                Place scratch, int& round) {
  const Folding fold(team);
  const int logs = FloorLog2(team.size());
  const int last_round = round + 1 + logs;
  const Place output = At(BufferId::kOutput, range.offset);
  if (fold.sits_out) {
    builder.BeginStep(round);
    builder.Send(team.At(1), At(source, range.offset), range.count);
    builder.BeginStep(last_round);
    builder.Receive(team.At(1), output, range.count);
    round = last_round + 1;
    return;
  }
  // A step sends one buffer while it writes another: results alternate so that the last one is the output.
  int writes = logs + (fold.is_paired ? 1 : 0);
  Place current = At(source, range.offset);
  const auto next_place = [&] { return writes-- % 2 == 1 ? output : scratch; };
  if (in_place && !fold.is_paired && writes % 2 == 1) {
    builder.BeginStep(round);
    builder.Copy(current, scratch, range.count);
    current = scratch;
  }
  if (fold.is_paired) {
    const Place to = next_place();
    builder.BeginStep(round);
    builder.ReceiveReduce(team.At(-1), current, to, range.count);
    current = to;
  }
  int k = round + 1;
  for (int distance = 1; distance < fold.active; distance *= 2, ++k) {
    const int peer = team.ranks[fold.Member(fold.id ^ distance)];
    const Place to = next_place();
    builder.BeginStep(k);
    builder.Send(peer, current, range.count);
    builder.ReceiveReduce(peer, current, to, range.count);
    current = to;
  }
  if (fold.is_paired) {
    builder.BeginStep(last_round);
    builder.Send(team.At(-1), output, range.count);
  }
  round = last_round + 1;
}

void BinomialReduce(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count,
                    int& round) {
  const Rooted tree(team, root);
  const int reach = BinomialReach(tree.v, team.size());
  Place current = from;
  for (int distance = 1; distance < reach && tree.v + distance < team.size(); distance *= 2) {
    builder.BeginStep(round);
    builder.ReceiveReduce(tree.RankOf(tree.v + distance), current, to, count);
    current = to;
  }
  if (tree.v != 0) {
    builder.BeginStep(round);
    builder.Send(tree.RankOf(BinomialParent(tree.v)), current, count);
  } else if (team.size() == 1) {
    builder.BeginStep(round);
    builder.Copy(from, to, count);
  }
  ++round;
}

void BinomialBroadcast(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count,
                       int& round) {
  const Rooted tree(team, root);
  if (tree.v != 0) {
    builder.BeginStep(round);
    builder.Receive(tree.RankOf(BinomialParent(tree.v)), to, count);
  }
  builder.BeginStep(round);
  // The child with the largest subtree comes first.
  for (int distance = BinomialReach(tree.v, team.size()) / 2; distance > 0; distance /= 2) {
    if (tree.v + distance >= team.size()) continue;
    builder.Send(tree.RankOf(tree.v + distance), tree.v == 0 ? from : to, count);
  }
  ++round;
}

void TreeReduce(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count, int& round) {
  const Rooted tree(team, root);
  Place current = from;
  for (int child = 2 * tree.v + 1; child <= 2 * tree.v + 2 && child < team.size(); ++child) {
    builder.BeginStep(round);
    builder.ReceiveReduce(tree.RankOf(child), current, to, count);
    current = to;
  }
  if (tree.v != 0) {
    builder.BeginStep(round);
    builder.Send(tree.RankOf((tree.v - 1) / 2), current, count);
  }
  ++round;
}

void TreeBroadcast(ScheduleBuilder& builder, const Team& team, int root, Place from, Place to, int64_t count,
                   int& round) {
  const Rooted tree(team, root);
  if (tree.v != 0) {
    builder.BeginStep(round);
    builder.Receive(tree.RankOf((tree.v - 1) / 2), to, count);
  }
  builder.BeginStep(round);
  for (int child = 2 * tree.v + 1; child <= 2 * tree.v + 2 && child < team.size(); ++child) {
    builder.Send(tree.RankOf(child), tree.v == 0 ? from : to, count);
  }
  ++round;
}

}  // namespace weir
