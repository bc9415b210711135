// A partition compiled for execution: what every step needs to know about the graph, in flat arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/op_kernel.h"
#include "core/status.h"
#include "core/tensor.h"

namespace weir {

class Graph;
class Node;

// What the executor does with a node. All but the two kernels it does itself.
enum class NodeAction : uint8_t {
  kNothing,  // NoOp, ControlTrigger, a constant or an argument that waits for control inputs
  kKernel,
  kAsyncKernel,
  kForward,  // Identity and the like: the input becomes the output
  kResult,   // the input becomes a result of the step
  kSwitch,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
};

struct PlanNode {
  static constexpr uint8_t kMayBeCostly = 1;       // the kernel says so; learned cost decides
  static constexpr uint8_t kReferenceInputs = 2;   // some input comes as a reference
  static constexpr uint8_t kUnreadOutputs = 4;     // some output has no reader
  static constexpr uint8_t kMayOutputNothing = 8;  // an output that is not set is dead, not an error
  static constexpr uint8_t kRunsWhenDead = 16;     // _Send and _Recv carry deadness to other partitions
  static constexpr uint8_t kNeverDead = 32;        // ControlTrigger
  static constexpr uint8_t kAllowsUninitialized = 64;
  static constexpr uint8_t kConstantEnter = 128;  // its value is the same in every iteration

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
  uint8_t flags = 0;
  bool is(uint8_t flag) const { return (flags & flag) != 0; }
};

// Where an input comes from: a slot (>= 0), or constant ~source.
using InputSource = int32_t;

// Straight plans: when the node is done, its output goes to a further slot. The last reader has the output's own slot.
struct PlanCopy {
  uint32_t output;
  uint32_t slot;
};

// Framed plans: one edge. `slot` belongs to the frame in which the reader runs.
struct PlanEdge {
  static constexpr uint32_t kNoSlot = ~0u;  // a control edge, or the reader has the output's own slot
  uint32_t dst = 0;
  uint32_t slot = kNoSlot;
  uint16_t output = 0;
  uint16_t input = 0;  // the Merge's
  bool is_control = false;
  bool dst_is_merge = false;
  bool only = false;  // the only edge that dst waits for
};

// Frame 0 is the graph outside of loops. Others are what Enter nodes of one frame_name open.
struct PlanFrame {
  std::string name;
  uint64_t name_hash = 0;  // the same in every process, TensorFlow's too
  uint32_t parent = 0;
  uint32_t place = 0;  // among the parent's children
  uint32_t num_children = 0;
  int num_enters = 0;
  int parallel_iterations = 1;
  uint32_t first_slot = 0;  // in Plan::slot_is_read
  uint32_t num_slots = 0;
  std::vector<uint64_t> pending;      // initial counts, by PlanNode::local
  std::vector<const Node*> nodes;     // by PlanNode::local
  std::vector<uint32_t> merge_slots;  // inputs of Merges: freed with the iteration
};

// Immutable but for the kernels' own synchronised state; shared by all steps. Owns its graph and, with others, kernels.
//
// Invariants: every data input has exactly one source. A slot has one writer and one reader per step (per iteration
// within loops). Constants and arguments without control inputs are settled: nobody waits for them.
struct Plan {
  using KernelSource = std::function<absl::StatusOr<std::shared_ptr<OpKernel>>(const Node&)>;
  struct Options {
    Device* device = nullptr;
    KernelSource kernels;
    // Keys of client-terminated _Recv and _Send nodes, which become arguments and results in this order.
    std::vector<std::string> feed_keys, fetch_keys;
    // Gives a constant where it is to lie; null: as it is.
    std::function<absl::StatusOr<Tensor>(const Node&, Tensor value)> place_constant;
    // _Arg and _Retval become arguments and results, by their attribute `index`.
    bool is_function = false;
  };
  // InvalidArgument, naming nodes, for cycles and frames that do not nest; the first kernel's error where one is
  // missing or refuses its node. A feed or fetch key without a node is InvalidArgument too.
  static absl::StatusOr<std::shared_ptr<const Plan>> Compile(std::unique_ptr<Graph> graph, const Options& options);
  Plan();
  ~Plan();

  // Where an argument goes: the slots (of frame 0) of all its readers.
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
  std::vector<Tensor> constant_holds;  // a second reference, so that no kernel takes a constant's buffer for its own
  std::vector<uint32_t> roots;
  std::vector<Argument> arguments;
  std::vector<const Node*> results;
  bool has_async = false;

  std::vector<PlanCopy> copies;
  std::vector<uint32_t> successors;  // node * 2, plus 1 when it waits for others too
  std::vector<uint32_t> pending;
  std::vector<PlanFrame> frames;      // at least frame 0
  std::vector<uint8_t> slot_is_read;  // by PlanFrame::first_slot + slot; see kUnreadOutputs
  std::vector<PlanEdge> edges;
};

// The key under which a client-terminated _Send or _Recv meets the client; empty for other nodes.
std::string ClientTerminalKey(const Node& node);

}  // namespace weir
