#include "distribute/collective/schedule.h"

#include <algorithm>

namespace weir {

void ScheduleBuilder::BeginLane() {
  schedule_.lanes.push_back({.first_step = static_cast<uint32_t>(schedule_.steps.size())});
}

void ScheduleBuilder::BeginStep(int round) {
  ++schedule_.lanes.back().num_steps;
  schedule_.steps.push_back({.round = round, .first_move = static_cast<uint32_t>(schedule_.moves.size())});
}

void ScheduleBuilder::Add(const Move& move) {
  if (move.count == 0) return;
  schedule_.moves.push_back(move);
  ++schedule_.steps.back().num_moves;
}

void ScheduleBuilder::Copy(Place from, Place to, int64_t count) {
  if (from.buffer == to.buffer && from.offset == to.offset) return;
  Add({.kind = Move::Kind::kCopy, .from = from, .to = to, .count = count});
}

void ScheduleBuilder::Send(int peer, Place from, int64_t count) {
  Add({.kind = Move::Kind::kSend, .peer = peer, .from = from, .count = count});
}

void ScheduleBuilder::Receive(int peer, Place to, int64_t count) {
  Add({.kind = Move::Kind::kReceive, .peer = peer, .to = to, .count = count});
}

void ScheduleBuilder::ReceiveReduce(int peer, Place from, Place to, int64_t count) {
  Add({.kind = Move::Kind::kReceiveReduce, .peer = peer, .from = from, .to = to, .count = count});
}

void ScheduleBuilder::Reduced(Place place, int64_t count) {
  if (schedule_.divides) Add({.kind = Move::Kind::kDivide, .from = place, .to = place, .count = count});
}

Place ScheduleBuilder::AddScratch(int64_t count) {
  const Place place{BufferId::kScratch, schedule_.scratch_elements};
  schedule_.scratch_elements += count;
  return place;
}

Block BlockOf(int64_t count, int parts, int index) {
  const int64_t even = count / parts, longer = count % parts;
  return {.offset = index * even + std::min<int64_t>(index, longer), .count = even + (index < longer ? 1 : 0)};
}

Block BlocksOf(int64_t count, int parts, int first, int num) {
  if (num == 0) return {.offset = BlockOf(count, parts, std::min(first, parts - 1)).offset};
  const Block front = BlockOf(count, parts, first), back = BlockOf(count, parts, first + num - 1);
  return {.offset = front.offset, .count = back.offset + back.count - front.offset};
}

}  // namespace weir
