// What one rank does in a collective: a program of moves, made by an algorithm before anything is sent.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace weir {

enum class BufferId : uint8_t { kInput, kOutput, kScratch };

// Elements from `offset` on.
struct Place {
  BufferId buffer = BufferId::kInput;
  int64_t offset = 0;
};

struct Move {
  enum class Kind : uint8_t {
    kCopy,           // to = from
    kSend,           // from, to the peer
    kReceive,        // to = what the peer sends
    kReceiveReduce,  // to = from combined with what the peer sends
    kDivide,         // to = to divided by the call's divisor
  };
  Kind kind = Kind::kCopy;
  int peer = -1;
  Place from, to;
  int64_t count = 0;
};

// Moves that begin together, copies and divisions first; a step ends when its receives have. Messages carry lane and
// round as their tag, so a pair of ranks exchanges at most one in each direction per lane and round.
struct Step {
  int round = 0;
  uint32_t first_move = 0, num_moves = 0;
};

// Steps that follow one another. Lanes run side by side, on different parts of the output.
struct Lane {
  uint32_t first_step = 0, num_steps = 0;
};

struct Schedule {
  std::vector<Move> moves;
  std::vector<Step> steps;
  std::vector<Lane> lanes;
  int64_t scratch_elements = 0;
  bool divides = false;  // results are divided before they are handed on; else the caller does it in the end
};

// Writes a schedule front to back. Moves of no elements are left out, as they are on the other side.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(bool divides = false) { schedule_.divides = divides; }

  void BeginLane();
  // In the current lane. Rounds grow.
  void BeginStep(int round);

  void Copy(Place from, Place to, int64_t count);
  void Send(int peer, Place from, int64_t count);
  void Receive(int peer, Place to, int64_t count);
  void ReceiveReduce(int peer, Place from, Place to, int64_t count);
  // What is there is reduced. Divides it where the schedule divides.
  void Reduced(Place place, int64_t count);

  // Scratch memory from here on.
  Place AddScratch(int64_t count);
  Schedule Finish() && { return std::move(schedule_); }

 private:
  void Add(const Move& move);
  Schedule schedule_;
};

// Block `index` of `count` elements in `parts`: the first ones are one element longer where it does not divide.
struct Block {
  int64_t offset = 0, count = 0;
};
Block BlockOf(int64_t count, int parts, int index);
// Blocks [first, first + num) together; they do not wrap.
Block BlocksOf(int64_t count, int parts, int first, int num);

}  // namespace weir
