// A way to come to links with a task.
#pragma once

#include <functional>
#include <memory>

#include "core/status.h"
#include "distribute/transport/frames/frame_link.h"
#include "weir/transport.pb.h"

namespace weir {

// For one task. Thread-safe. Outlives what it opens.
class LinkOpener {
 public:
  // Makes what receives at this end, from the link.
  using MakeReceiver = std::function<std::shared_ptr<FrameLink::Receiver>(const std::shared_ptr<FrameLink>&)>;
  using Done = std::function<void(const absl::StatusOr<std::shared_ptr<FrameLink>>&)>;

  virtual ~LinkOpener() = default;
  // `done` runs once, on any thread, with an open link or the reason why there is none.
  virtual void Open(LinkUse use, const MakeReceiver& make, const Done& done) = 0;
  // What such links go through, for the log: "shared memory".
  virtual const char* name() const = 0;
};

}  // namespace weir
