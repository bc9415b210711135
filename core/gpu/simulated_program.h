// Operations of the simulated device's streams and graphs. Private to the simulated_*.cc files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/gpu/gpu_runtime.h"
#include "core/gpu/race_checker.h"

namespace weir {

class SimulatedStream;
struct SimulatedProgram;

// One Record of an event outside of graphs.
struct SimulatedMark {
  bool reached = false;
  RaceChecker::Clock clock;
};

struct SimulatedStep {
  enum class Kind { kWork, kCallback, kRecord, kWait, kGraph };
  Kind kind = Kind::kWork;
  std::string name;
  std::function<void()> work;
  std::vector<GpuAccess> accesses;
  std::shared_ptr<SimulatedMark> mark;              // kRecord and kWait in a stream
  std::shared_ptr<const SimulatedProgram> program;  // kGraph
  int lane = 0;                                     // in a program
  int signal = -1;                                  // kRecord and kWait in a program
};

// A captured graph: the steps in call order, each in the lane of the stream that it was captured on.
struct SimulatedProgram {
  std::vector<SimulatedStep> steps;
  int num_signals = 0;
  std::vector<int> lane_actors;  // lane 0 is the stream that began the capture
};

// A step as issued to the race checker; for a graph, its steps in turn.
struct SimulatedIssue {
  RaceChecker::OperationRef operation;
  std::vector<SimulatedIssue> steps;
};

// An active capture, owned by its streams and by events recorded in it.
struct SimulatedCapture {
  using Counts = std::vector<size_t>;  // by lane: how many of its steps are ordered before

  GpuCaptureMode mode = GpuCaptureMode::kGlobal;
  std::thread::id thread;
  bool active = true;
  bool valid = true;
  std::shared_ptr<SimulatedProgram> program = std::make_shared<SimulatedProgram>();
  std::vector<SimulatedStream*> lanes;
  std::vector<Counts> before;     // by lane
  std::vector<Counts> at_signal;  // by signal

  int AddLane(SimulatedStream* stream);
  void Append(int lane, SimulatedStep step);
  int Record(int lane);
  void Wait(int lane, int signal);
  // Whether all work of the lanes is ordered before the end of lane 0.
  bool IsJoined() const;
};

}  // namespace weir
