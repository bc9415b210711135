// One rank's program of moves for a collective, made by an algorithm before anything is sent.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace weir {

enum class BufferId : uint8_t { kInput, kOutput, kScratch };

// Elements starting at `offset`.
struct Place {
  BufferId buffer = BufferId::kInput;
  int64_t offset = 0;
};

struct Move {
  enum class Kind : uint8_t {
    kCopy,           // to = from
    kSend,           // from, to the peer
    kReceive,        // to = the peer's message
    kReceiveReduce,  // to = from combined with the peer's message
    kDivide,         // to = to divided by the call's divisor
  };
  Kind kind = Kind::kCopy;
  int peer = -1;
  Place from, to;
  int64_t count = 0;
};

// Moves that start together, copies and divisions first. A step ends when its receives end. A message's tag is its lane
// and round, so two ranks exchange at most one message in each direction per lane and round.
struct ScheduleStep {
  int round = 0;
  uint32_t first_move = 0, num_moves = 0;
};

// A sequence of steps. Lanes run concurrently, on different parts of the output.
struct Lane {
  uint32_t first_step = 0, num_steps = 0;
};

struct Schedule {
  std::vector<Move> moves;
  std::vector<ScheduleStep> steps;
  std::vector<Lane> lanes;
  int64_t scratch_elements = 0;
  bool divides = false;  // results are divided before they are passed on; else the caller divides at the end
};

// Writes a schedule front to back. Moves without elements are omitted, as on the peer's side.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(bool divides = false) { schedule_.divides = divides; }

  void BeginLane();
  // In the current lane. Rounds increase.
  void BeginStep(int round);

  void Copy(Place from, Place to, int64_t count);
  void Send(int peer, Place from, int64_t count);
  void Receive(int peer, Place to, int64_t count);
  void ReceiveReduce(int peer, Place from, Place to, int64_t count);
  // Marks a place as reduced, and divides it if the schedule divides.
  void Reduced(Place place, int64_t count);

  // Allocates scratch memory.
  Place AddScratch(int64_t count);
  Schedule Finish() && { return std::move(schedule_); }

 private:
  void Add(const Move& move);
  Schedule schedule_;
};

// Block `index` of `count` elements in `parts`; if these do not divide evenly, the first blocks have one element more.
struct Block {
  int64_t offset = 0, count = 0;
};
Block BlockOf(int64_t count, int parts, int index);
// Blocks [first, first + num) as one; they do not wrap around.
Block BlocksOf(int64_t count, int parts, int first, int num);

}  // namespace weir
