// A partition compiled for execution: flat arrays with everything that steps need.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/kernel/op_kernel.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

class Graph;
class Node;

// How the executor handles a node. Only the two kernel actions call kernels.
enum class NodeAction : uint8_t {
  kNothing,  // NoOp, ControlTrigger, a constant or an argument that waits for control inputs
  kKernel,
  kAsyncKernel,
  kForward,  // Identity and similar ops: the input becomes the output
  kResult,   // the input becomes a result of the step
  kSwitch,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
};

struct PlanNode {
  static constexpr uint16_t kMayBeCostly = 1;       // the kernel may be costly; learned cost decides
  static constexpr uint16_t kReferenceInputs = 2;   // some input is a reference
  static constexpr uint16_t kUnreadOutputs = 4;     // some output has no reader
  static constexpr uint16_t kMayOutputNothing = 8;  // an output that is not set is dead, not an error
  static constexpr uint16_t kRunsWhenDead = 16;     // _Send and _Recv carry deadness to other partitions
  static constexpr uint16_t kNeverDead = 32;        // ControlTrigger
  static constexpr uint16_t kAllowsUninitialized = 64;
  static constexpr uint16_t kConstantEnter = 128;  // its value is the same in every iteration
  static constexpr uint16_t kUsesState = 256;      // some input is a resource or a reference
  static constexpr uint16_t kWaits = 512;          // it may wait for other steps, and updates nothing

  OpKernel* kernel = nullptr;
  const Node* node = nullptr;
  uint32_t first_input = 0, num_inputs = 0;    // into Plan::inputs
  uint32_t first_output = 0, num_outputs = 0;  // slots of the frame
  uint32_t first_edge = 0, num_edges = 0;      // into Plan::successors or Plan::edges
  uint32_t first_copy = 0,
           num_copies = 0;  // into Plan::copies; framed plans: how many edges carry data (they go first)
  uint32_t index = 0;       // the result's, or for Enter the child's place in its frame
  uint32_t frame = 0;
  uint32_t local = 0;  // the pending count within the frame
  NodeAction action = NodeAction::kNothing;
  uint16_t flags = 0;
  bool is(uint16_t flag) const { return (flags & flag) != 0; }
};

// An input's source: a slot (>= 0), or constant ~source.
using InputSource = int32_t;

// Straight plans: when the node is done, its output is copied to another reader's slot. The last reader uses the
// output's own slot.
struct PlanCopy {
  uint32_t output;
  uint32_t slot;
};

// An edge of a framed plan. `slot` belongs to the reader's frame.
struct PlanEdge {
  static constexpr uint32_t kNoSlot = ~0u;  // a control edge, or the reader uses the output's own slot
  uint32_t dst = 0;
  uint32_t slot = kNoSlot;
  uint16_t output = 0;
  uint16_t input = 0;  // the Merge's
  bool is_control = false;
  bool dst_is_merge = false;
  bool only = false;  // dst waits for no other edge
};

// Frame 0 is the graph outside loops; each other frame is opened by the Enter nodes of one frame_name.
struct PlanFrame {
  std::string name;
  uint64_t name_hash = 0;  // equal in every process, TensorFlow's included
  uint32_t parent = 0;
  uint32_t place = 0;  // among the parent's children
  uint32_t num_children = 0;
  int num_enters = 0;
  int parallel_iterations = 1;
  uint32_t first_slot = 0;  // in Plan::slot_is_read
  uint32_t num_slots = 0;
  std::vector<uint64_t> pending;      // initial counts, by PlanNode::local
  std::vector<const Node*> nodes;     // by PlanNode::local
  std::vector<uint32_t> merge_slots;  // inputs of Merges, freed with the iteration
};

// Immutable, except for the kernels' own synchronised state; shared by all steps. Owns its graph, and shares its
// kernels.
//
// Invariants: every data input has exactly one source. A slot has one writer and one reader per step (per iteration
// within loops). Constants and arguments without control inputs are settled: no node waits for them.
struct Plan {
  using KernelSource = std::function<absl::StatusOr<std::shared_ptr<OpKernel>>(const Node&)>;
  struct Options {
    Device* device = nullptr;
    KernelSource kernels;
    // Keys of client-terminated _Recv and _Send nodes, which become arguments and results in this order.
    std::vector<std::string> feed_keys, fetch_keys;
    // Moves a constant to its memory; null: constants stay where they are.
    std::function<absl::StatusOr<Tensor>(const Node&, Tensor value)> place_constant;
    // _Arg and _Retval nodes become arguments and results, by their attribute `index`.
    bool is_function = false;
  };
  // InvalidArgument, with the nodes' names, for cycles, frames that do not nest, and feed or fetch keys without a node;
  // the kernel's error if one is missing or rejects its node.
  static absl::StatusOr<std::shared_ptr<const Plan>> Compile(std::unique_ptr<Graph> graph, const Options& options);
  Plan();
  ~Plan();

  // The destinations of an argument: the slots (in frame 0) of all its readers.
  struct Argument {
    const Node* node = nullptr;
    std::vector<uint32_t> slots;
  };

  std::unique_ptr<Graph> graph;
  Device* device = nullptr;
  std::vector<std::shared_ptr<OpKernel>> kernels;
  bool framed = false;
  std::vector<PlanNode> nodes;
  std::vector<InputSource> inputs;
  std::vector<Tensor> constants;
  std::vector<Tensor> constant_holds;  // a second reference, so that no kernel reuses a constant's buffer
  std::vector<uint32_t> roots;
  std::vector<Argument> arguments;
  std::vector<const Node*> results;
  bool has_async = false;

  std::vector<PlanCopy> copies;
  std::vector<uint32_t> successors;  // node * 2, plus 1 if the node waits for other inputs too
  std::vector<uint32_t> pending;
  std::vector<PlanFrame> frames;      // at least frame 0
  std::vector<uint8_t> slot_is_read;  // by PlanFrame::first_slot + slot; see kUnreadOutputs
  std::vector<PlanEdge> edges;
};

// The key under which a client-terminated _Send or _Recv exchanges its tensor; empty for other nodes.
std::string ClientTerminalKey(const Node& node);

}  // namespace weir
