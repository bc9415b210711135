// Opens one kind of link.
#pragma once

#include <functional>
#include <memory>

#include "core/status.h"
#include "distribute/transport/frames/frame_link.h"
#include "weir/transport.pb.h"

namespace weir {

// For one peer task. Thread-safe. Outlives the links that it opens.
class LinkOpener {
 public:
  // Creates this end's receiver for a link.
  using MakeReceiver = std::function<std::shared_ptr<FrameLink::Receiver>(const std::shared_ptr<FrameLink>&)>;
  using Done = std::function<void(const absl::StatusOr<std::shared_ptr<FrameLink>>&)>;

  virtual ~LinkOpener() = default;
  // `done` runs once, on any thread, with an open link or with the reason why there is none.
  virtual void Open(LinkUse use, const MakeReceiver& make, const Done& done) = 0;
  // The transport of such links, for the log: "shared memory".
  virtual const char* name() const = 0;
};

}  // namespace weir
