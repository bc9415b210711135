// The map from the parts of an embedding to tasks, with the right to change it.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/device/resource_manager.h"
#include "core/kernel/op_kernel.h"
#include "kernels/device/request_line.h"

namespace weir {

// The object behind the EmbeddingMap ops: one for each embedding in parts, on one task. Thread-safe; nothing blocks.
//
// A step that reads the map (Route) counts as being under way until it has ended on the map's task, however it ends. A
// move first closes the map and waits until none is under way (Seal): steps that come meanwhile wait. Then it puts the
// new map in the place of the old one (Commit). So within a step, and until its pushes are applied, the map is one.
//
// Steps whose pushes wait for those of other steps must not be let in one by one: those within would wait for those
// without. For them the map closes at a moment when none is under way, as there is between their rounds.
class EmbeddingPartMap : public Resource, public std::enable_shared_from_this<EmbeddingPartMap> {
 public:
  // Without owners the map is uninitialized.
  struct Parts {
    std::vector<std::string> tasks;
    std::vector<int32_t> owners;  // of each part, in tasks
    int64_t epoch = 0;            // grows with every change
  };
  using RouteCallback = std::function<void(absl::StatusOr<Parts>)>;

  EmbeddingPartMap(std::string name, int64_t parts);
  const std::string& name() const { return name_; }
  int64_t parts() const { return parts_; }
  std::string DebugString() const override;

  Parts Read() const;
  // InvalidArgument for a map that cannot be. Without an epoch, the parts get the next one.
  absl::Status Set(Parts parts);

  // FAILED_PRECONDITION while the map is uninitialized. A step that is under way already does not wait. `together`: its
  // pushes wait for those of other steps.
  void Route(OpKernelContext& ctx, bool together, RouteCallback done);
  // OK when the calling step alone may change the map of this epoch: until it ends. ABORTED for another epoch.
  void Seal(OpKernelContext& ctx, int64_t epoch, std::function<void(absl::Status)> done);
  // Changes what the calling step has sealed, and opens it. Gives how long steps had to wait.
  absl::StatusOr<absl::Duration> Commit(const OpKernelContext& ctx, Parts parts);

 private:
  // Left with the step, on whose end it goes.
  class Visit;

  absl::Status Check(const Parts& parts) const;
  absl::Status CheckInitialized() const;  // the line's mutex is held
  void CloseIfDue();                      // likewise
  void Leave(int64_t step, bool sealed, WorkQueue* work_queue);

  const std::string name_;
  const int64_t parts_;
  // Its mutex guards what follows.
  const std::shared_ptr<RequestLine> line_;
  Parts map_;
  std::set<int64_t> under_way_;  // steps
  int64_t sealing_step_ = 0;     // 0: none
  int64_t sealed_epoch_ = 0;
  bool together_ = false;  // such steps have been here
  bool closed_ = false;
  absl::Time closed_at_;
};

}  // namespace weir
