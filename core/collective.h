// Collectives as kernels see them: every member of a group gives a tensor and gets what all of them make together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/cancellation.h"
#include "core/device.h"
#include "core/resource_manager.h"
#include "core/status.h"
#include "core/tensor.h"
#include "core/wire/wire_options.h"

namespace weir {

// Numbers are those of TensorFlow's CompleteGroup and CompleteInstance; an executor serves no others.
enum class CollectiveType : int32_t {
  kReduce = 0,
  kBroadcast = 1,
  kGather = 2,
  kPermute = 3,
  kAllToAll = 4,
  kReduceScatter = 5,
};

enum class Reduction : uint8_t { kAdd, kMul, kMin, kMax };

// Who takes part. All members name the same key and size.
struct CollectiveGroup {
  int32_t key = 0;
  int32_t size = 0;
  int32_t rank = -1;  // -1: by the order of the devices
};

// One member's op.
struct CollectiveParams {
  std::string name;  // for messages: "CollectiveReduce_1: Reduce(Add,Id)"
  CollectiveGroup group;
  int32_t instance_key = 0;
  std::string execution;  // tells apart the frames and iterations of a loop
  CollectiveType type = CollectiveType::kReduce;
  Reduction reduction = Reduction::kAdd;
  bool is_mean = false;    // divides what was reduced by the group's size
  bool is_source = false;  // this member broadcasts
  WireOptions wire;        // all members say the same
  absl::Duration timeout = absl::InfiniteDuration();
};

// The collectives of one step on one task. Thread-safe. Found in the step's container under kName; a step whose graph
// has no collectives has none.
class CollectiveExecutor : public Resource {
 public:
  static constexpr char kName[] = "collective_executor";
  using DoneCallback = std::function<void(absl::Status)>;

  // `input` and `*output`, which may share a buffer but for all-to-all and gather, are plain tensors of one type;
  // `*output` has the shape of the result. Both live until `done`, which runs exactly once, with no lock held, perhaps
  // before the call returns. A failure of one member ends the op on all of them; `cancellation` ends it here.
  virtual void RunAsync(const CollectiveParams& params, Device* device, const Tensor& input, Tensor* output,
                        CancellationManager* cancellation, DoneCallback done) = 0;
  // Waits until the group is complete.
  virtual void JoinGroupAsync(const CollectiveGroup& group, const std::string& name, Device* device,
                              absl::Duration timeout, CancellationManager* cancellation, DoneCallback done) = 0;
};

}  // namespace weir
