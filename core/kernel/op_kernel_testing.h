// A fixture for kernel tests. Link weir_testing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "core/op/attr_value.h"
#include "core/op/op_registry.h"
#include "core/testing.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {

// Attributes of the node under test: Attrs().Set("keep_dims", true).Set("T", DT_FLOAT).
class Attrs {
 public:
  template <typename V>
  Attrs& Set(absl::string_view name, const V& value) {
    SetNodeAttr(name, value, &node_);
    return *this;
  }
  const tensorflow::NodeDef& node() const { return node_; }

 private:
  tensorflow::NodeDef node_;
};

// An input of the node under test: a tensor or a reference to one.
struct TestInput {
  TestInput(Tensor value) : tensor(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  static TestInput Ref(Tensor* variable, std::mutex* mutex) {
    TestInput input{Tensor()};
    input.ref = variable;
    input.ref_mutex = mutex;
    return input;
  }

  Tensor tensor;
  Tensor* ref = nullptr;
  std::mutex* ref_mutex = nullptr;
};

// Runs single ops on a CPU device through the registries, as an executor would:
//
//   class MathTest : public KernelTest {
//     void SetUp() override { Register(RegisterMathOps, RegisterMathKernels); }
//   };
//   TEST_F(MathTest, Add) {
//     ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("AddV2", {AsTensor<float>({1, 2}), AsScalar<float>(3)}));
//     ExpectTensorEqual(out[0], AsTensor<float>({4, 5}));
//   }
//
// Type, count and type list attributes that follow from the inputs are filled in; others come from Attrs or have
// defaults. Resources, rendezvous and cancellation are shared by all runs of one test.
class KernelTest : public ::testing::Test {
 public:
  using RegisterOps = std::function<absl::Status(OpRegistry&)>;
  using RegisterKernels = std::function<absl::Status(KernelRegistry&)>;

  KernelTest();
  ~KernelTest() override;

  // Fails the test if registration fails.
  void Register(const RegisterOps& ops, const RegisterKernels& kernels);

  // Builds and validates the node, creates the kernel, runs it, and waits for asynchronous kernels. Reference outputs
  // are returned as a copy of the referenced tensor, dead outputs as uninitialised tensors (see last_outputs).
  absl::StatusOr<std::vector<Tensor>> RunOp(absl::string_view op, std::vector<TestInput> inputs,
                                            const Attrs& attrs = Attrs());
  // The only output of an op.
  absl::StatusOr<Tensor> RunOp1(absl::string_view op, std::vector<TestInput> inputs, const Attrs& attrs = Attrs());

  // The same in two steps, for kernels that run more than once.
  absl::StatusOr<std::unique_ptr<OpKernel>> MakeOp(absl::string_view op, const std::vector<TestInput>& inputs,
                                                   const Attrs& attrs = Attrs());
  // Runs the kernel that MakeOp created last.
  absl::StatusOr<std::vector<Tensor>> RunKernel(OpKernel& kernel, std::vector<TestInput> inputs);
  // Like RunKernel, but does not wait. `done` receives the outputs.
  using DoneCallback = std::function<void(absl::StatusOr<std::vector<Tensor>>)>;
  void RunKernelAsync(AsyncOpKernel& kernel, std::vector<TestInput> inputs, DoneCallback done);

  // The node, with all attributes, that a run of `op` would use.
  absl::StatusOr<tensorflow::NodeDef> MakeNode(absl::string_view op, const std::vector<TestInput>& inputs,
                                               const Attrs& attrs);

  OpRegistry& ops() { return ops_; }
  KernelRegistry& kernels() { return kernels_; }
  Device* device() { return device_.get(); }
  // Passed to kernels; may be changed before a run.
  StepContext& step() { return step_; }
  CancellationManager& cancellation() { return *cancellation_; }
  const std::vector<OpOutput>& last_outputs() const { return last_outputs_; }

 private:
  struct Call;
  std::unique_ptr<Call> MakeCall(std::vector<TestInput> inputs);
  static std::vector<Tensor> Outputs(const std::vector<OpOutput>& outputs);

  OpRegistry ops_;
  KernelRegistry kernels_;
  std::unique_ptr<WorkQueue> work_queue_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<CancellationManager> cancellation_;
  std::unique_ptr<StepContainer> step_container_;
  StepContext step_;
  tensorflow::NodeDef node_;
  DataTypeVector output_types_;
  std::vector<OpOutput> last_outputs_;
};

}  // namespace weir
