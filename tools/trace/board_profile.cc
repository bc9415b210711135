#include "tools/trace/board_profile.h"

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

std::string LineOf(const NodeSlice& slice) {
  switch (slice.activity) {
    case Activity::kDevice:
      return absl::StrCat("Stream #", slice.thread);
    case Activity::kReceive:
      return absl::StrCat(slice.device, " from ", slice.peer.empty() ? "elsewhere" : slice.peer);
    case Activity::kCompute:
    case Activity::kSend:
      return absl::StrCat(slice.device, " thread ", slice.thread);
    case Activity::kCall:
    case Activity::kCollective:
    case Activity::kInput:
    case Activity::kWait:
      break;
  }
  return absl::StrCat(slice.device, " ", ActivityName(slice.activity));
}

}  // namespace

Profile BoardProfile(const Timeline& timeline) {
  Profile profile;
  for (const NodeSlice& slice : timeline.slices) {
    const bool is_stream = slice.activity == Activity::kDevice;
    profile[ProfileName(slice.task)].Add(is_stream ? absl::StrCat("/device:", slice.device) : "/host:CPU",
                                         LineOf(slice),
                                         {.start = slice.start,
                                          .end = slice.end,
                                          .name = absl::StrCat(slice.name, ":", slice.op),
                                          .label = slice.label});
  }
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    const StepSpan& step = timeline.steps[i];
    for (auto& [name, task] : profile) task.AddStep(static_cast<int64_t>(i) + 1, step.start, step.end);
  }
  return profile;
}

}  // namespace weir
