// The collective interface that kernels use: every member of a group contributes a tensor and receives the result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/device/device.h"
#include "core/device/resource_manager.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"
#include "core/wire/wire_options.h"

namespace weir {

// The values are those of TensorFlow's CompleteGroup and CompleteInstance; an executor supports no others.
enum class CollectiveType : int32_t {
  kReduce = 0,
  kBroadcast = 1,
  kGather = 2,
  kPermute = 3,
  kAllToAll = 4,
  kReduceScatter = 5,
};

enum class Reduction : uint8_t { kAdd, kMul, kMin, kMax };

// The members of a collective. All members pass the same key and size.
struct CollectiveGroup {
  int32_t key = 0;
  int32_t size = 0;
  int32_t rank = -1;  // -1: by the order of the devices
};

// A bool attribute of collective nodes; see CollectiveParams::begins_anew. TensorFlow ignores it.
inline constexpr char kBeginsAnewAttr[] = "_weir_begins_anew";

// The op of one member.
struct CollectiveParams {
  std::string name;  // for messages: "CollectiveReduce_1: Reduce(Add,Id)"
  CollectiveGroup group;
  int32_t instance_key = 0;
  std::string execution;  // distinguishes the frames and iterations of a loop
  CollectiveType type = CollectiveType::kReduce;
  Reduction reduction = Reduction::kAdd;
  bool is_mean = false;    // divides the reduced value by the group's size
  bool is_source = false;  // this member is the broadcast source
  WireOptions wire;        // the same on all members
  // Forms the group anew: members that still wait in an earlier step get ABORTED within two seconds. No effect unless
  // several masters share the step.
  bool begins_anew = false;
  absl::Duration timeout = absl::InfiniteDuration();
};

// The collectives of one step on one task. Thread-safe. Stored in the step's container under kName; absent if the graph
// has no collectives.
class CollectiveExecutor : public Resource {
 public:
  static constexpr char kName[] = "collective_executor";
  using DoneCallback = std::function<void(absl::Status)>;

  // Runs one member's part of a collective.
  // - `input` and `*output` are plain tensors of one type and may share a buffer, except for all-to-all and gather.
  //   `*output` has the shape of the result. Both live until `done` runs.
  // - `done` runs exactly once, with no lock held, possibly before the call returns.
  // - If one member fails, the op fails on all of them; `cancellation` ends it on this one.
  virtual void RunAsync(const CollectiveParams& params, Device* device, const Tensor& input, Tensor* output,
                        CancellationManager* cancellation, DoneCallback done) = 0;
  // Waits until the group is complete.
  virtual void JoinGroupAsync(const CollectiveGroup& group, const std::string& name, Device* device,
                              absl::Duration timeout, CancellationManager* cancellation, DoneCallback done) = 0;
};

}  // namespace weir
