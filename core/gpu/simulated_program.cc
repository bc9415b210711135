#include "core/gpu/simulated_program.h"

#include <algorithm>

namespace weir {

int SimulatedCapture::AddLane(SimulatedStream* stream) {
  lanes.push_back(stream);
  for (Counts& counts : before) counts.resize(lanes.size());
  for (Counts& counts : at_signal) counts.resize(lanes.size());
  before.emplace_back(lanes.size());
  return static_cast<int>(lanes.size()) - 1;
}

void SimulatedCapture::Append(int lane, SimulatedStep step) {
  ++before[lane][lane];
  step.lane = lane;
  program->steps.push_back(std::move(step));
}

int SimulatedCapture::Record(int lane) {
  const int signal = program->num_signals++;
  Append(lane, {.kind = SimulatedStep::Kind::kRecord, .name = "record", .signal = signal});
  at_signal.push_back(before[lane]);
  return signal;
}

void SimulatedCapture::Wait(int lane, int signal) {
  Append(lane, {.kind = SimulatedStep::Kind::kWait, .name = "wait", .signal = signal});
  for (size_t i = 0; i < lanes.size(); ++i) before[lane][i] = std::max(before[lane][i], at_signal[signal][i]);
}

bool SimulatedCapture::IsJoined() const {
  for (size_t lane = 1; lane < lanes.size(); ++lane) {
    // A trailing wait or record needs no join.
    size_t last_work = 0, position = 0;
    for (const SimulatedStep& step : program->steps) {
      if (step.lane != lane) continue;
      ++position;
      if (step.kind != SimulatedStep::Kind::kRecord) last_work = position;
    }
    if (before[0][lane] < last_work) return false;
  }
  return true;
}

}  // namespace weir
