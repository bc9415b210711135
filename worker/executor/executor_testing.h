// Hand-made graphs for the tests of this folder.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "core/kernel/kernel_registry.h"
#include "core/op/op_registry.h"
#include "graph/graph.h"
#include "worker/executor/executor.h"

namespace weir {

// Every op and kernel of this build, and:
//   TestFail: fails with Internal, its attribute `message`
//   TestNothing: sets no output
//   TestWait: asynchronous; its input, from another thread
//   TestBurn: its int64 input plus 1, after `micros` microseconds of work
//   TestHold: asynchronous; ends when HeldKernels releases it, whatever happens to its step
//   TestHoldCancel: asynchronous; ends once it is cancelled and HeldKernels has released the thread that cancels it
const OpRegistry& ExecutorTestOps();
const KernelRegistry& ExecutorTestKernels();

// The running TestHold kernels of this process, and the threads that cancel a TestHoldCancel kernel. Thread-safe.
class HeldKernels {
 public:
  // Blocks until `count` kernels are held.
  static void Await(size_t count);
  // Blocks until `count` threads are held in a cancellation.
  static void AwaitCancels(size_t count);
  // Ends all that are held.
  static void Release();
};

struct Out {
  Node* node;
  int index = 0;
};

// Adds nodes and edges; aborts the test program if the graph rejects them.
class TestGraph {
 public:
  using Attr = std::pair<std::string, tensorflow::AttrValue>;

  TestGraph();
  template <typename V>
  static Attr A(std::string name, const V& value);

  Out Add(const std::string& op, const std::vector<Out>& inputs = {}, const std::vector<Attr>& attrs = {},
          const std::vector<Node*>& controls = {}, std::string name = "");
  Out Const(const Tensor& value, const std::vector<Node*>& controls = {});
  Out Int(int64_t value, const std::vector<Node*>& controls = {}) {
    return Const(Tensor::Scalar<int64_t>(value), controls);
  }
  // An op whose only type attribute is T = int64.
  Out I64(const std::string& op, const std::vector<Out>& inputs, const std::vector<Node*>& controls = {});
  Out Arg(int index, DataType type = DT_INT64);
  void Ret(int index, Out value, DataType type = DT_INT64);
  void Connect(Out from, Node* to, int input);

  Graph& graph() { return *graph_; }
  std::unique_ptr<Graph> Take() { return std::move(graph_); }

 private:
  std::unique_ptr<Graph> graph_;
};

// A device, its threads, and plans for it.
class ExecutorHarness {
 public:
  explicit ExecutorHarness(int threads = 2);
  Device* device() { return device_.get(); }
  Plan::Options Options(bool is_function = true);
  absl::StatusOr<std::shared_ptr<Executor>> Compile(std::unique_ptr<Graph> graph);
  // Compiles, and runs one step with a rendezvous and a cancellation manager.
  absl::StatusOr<std::vector<Tensor>> Run(std::unique_ptr<Graph> graph, std::vector<Tensor> args = {});
  absl::StatusOr<std::vector<Tensor>> RunStep(Executor& executor, std::vector<Tensor> args = {},
                                              Rendezvous* rendezvous = nullptr,
                                              CancellationManager* cancellation = nullptr);

 private:
  std::unique_ptr<WorkQueue> queue_;
  std::unique_ptr<Device> device_;
};

}  // namespace weir
