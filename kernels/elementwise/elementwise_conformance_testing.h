// Conformance suite of element-wise kernels for each kind of device. A device's test includes this header and
// instantiates GpuElementwise.
#pragma once

#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/gpu/gpu_device.h"
#include "core/kernel/kernel_registry.h"
#include "core/op/op_registry.h"
#include "core/tensor/numeric_types.h"
#include "core/testing.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {

struct GpuKernelWorld {
  std::string name;
  // UNAVAILABLE, with the reason, if there is no such device: the tests skip.
  std::function<absl::StatusOr<std::shared_ptr<GpuRuntime>>()> make;
  // Races and the like, after each op.
  std::function<void(GpuRuntime&)> check = [](GpuRuntime&) {};
};
inline void PrintTo(const GpuKernelWorld& world, std::ostream* os) { *os << world.name; }

// One GPU of a world, and all GPU kernels.
class OneGpu : public testing::TestWithParam<GpuKernelWorld> {
 protected:
  void SetUp() override {
    auto runtime = GetParam().make();
    if (absl::IsUnavailable(runtime.status())) GTEST_SKIP() << runtime.status().message();
    ASSERT_THAT(runtime, IsOk());
    device_ = *GpuDevice::Create(*std::move(runtime), work_queue_.get(),
                                 {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                  .config = {.memory_limit = memory_limit()},
                                  .retry_for = absl::ZeroDuration()});
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
  }
  virtual size_t memory_limit() const { return size_t{1} << 20; }
  absl::StatusOr<Tensor> Fetch(const Tensor& device) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<Tensor>>>();
    device_->ToHost(device, [promise](absl::StatusOr<Tensor> host) { promise->set_value(std::move(host)); });
    return promise->get_future().get();
  }

  std::unique_ptr<WorkQueue> work_queue_ = WorkQueue::Create({.compute_threads = 1});
  std::unique_ptr<GpuDevice> device_;
  KernelRegistry kernels_;
};

// Runs single ops: inputs are copied to the GPU, outputs back.
class GpuElementwise : public OneGpu {
 protected:
  void SetUp() override {
    OneGpu::SetUp();
    for (const char* op : {"Neg", "Tanh", "Rint", "Elu", "Selu", "Softplus", "Softsign"}) {
      Define(Op(op).Input("x: T").Output("y: T").Attr("T: type"));
    }
    for (const char* op : {"IsFinite", "IsInf", "IsNan"}) {
      Define(Op(op).Input("x: T").Output("y: bool").Attr("T: type"));
    }
    for (const char* op : {"AddV2", "Mul", "Maximum", "RealDiv", "EluGrad", "SoftplusGrad", "SoftsignGrad", "TanhGrad",
                           "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"}) {
      Define(Op(op).Input("x: T").Input("y: T").Output("z: T").Attr("T: type"));
    }
    Define(Op("Less").Input("x: T").Input("y: T").Output("z: bool").Attr("T: type"));
    Define(Op("LogicalAnd").Input("x: bool").Input("y: bool").Output("z: bool"));
  }
  void Define(const Op& op) { EXPECT_THAT(ops_.Register(op), IsOk()); }

  absl::StatusOr<Tensor> Run(const std::string& op, std::vector<Tensor> inputs) {
    tensorflow::NodeDef node;
    node.set_name("node");
    node.set_op(op);
    for (size_t i = 0; i < inputs.size(); ++i) node.add_input(absl::StrCat("in", i));
    if (op != "LogicalAnd") (*node.mutable_attr())["T"].set_type(static_cast<tensorflow::DataType>(inputs[0].dtype()));
    ASSIGN_OR_RETURN(const tensorflow::OpDef* op_def, ops_.LookUp(op));
    ASSIGN_OR_RETURN(const std::unique_ptr<OpKernel> kernel, CreateKernel(kernels_, node, *op_def, device_.get()));
    std::vector<TensorValue> values;
    for (Tensor& input : inputs) {
      ASSIGN_OR_RETURN(input, device_->ToDevice(input));
      values.push_back({&input});
    }
    StepContext step;
    step.device = device_.get();
    const bool is_predicate = op_def->output_arg(0).type() == tensorflow::DT_BOOL;
    const DataType types[] = {is_predicate ? DT_BOOL : inputs[0].dtype()};
    OpOutput outputs[1];
    OpKernelContext ctx(&step, &node, values, types, absl::MakeSpan(outputs));
    RETURN_IF_ERROR(kernel->Compute(ctx));
    return Fetch(outputs[0].value);
  }
  void Expect(const std::string& op, std::vector<Tensor> inputs, const Tensor& expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor output, Run(op, std::move(inputs)));
    ExpectTensorNear(output, expected);
    GetParam().check(device_->runtime());
  }

  OpRegistry ops_;
};

TEST_P(GpuElementwise, OneOperand) {
  Expect("Neg", {AsTensor<float>({1, -2, 0})}, AsTensor<float>({-1, 2, 0}));
  Expect("Neg", {AsTensor<int64_t>({INT64_MIN, 5})}, AsTensor<int64_t>({INT64_MIN, -5}));
  Expect("Tanh", {AsTensor<double>({0.5, 100})}, AsTensor<double>({std::tanh(0.5), 1}));
  Expect("Rint", {AsTensor<half>({half(0.5f), half(1.5f)})}, AsTensor<half>({half(0.f), half(2.f)}));
  Expect("Rint", {AsTensor<bfloat16>({bfloat16(0.5f), bfloat16(-1.5f)})},
         AsTensor<bfloat16>({bfloat16(0.f), bfloat16(-2.f)}));
  Expect("Neg", {Tensor(DT_FLOAT, TensorShape({0, 3}))}, Tensor(DT_FLOAT, TensorShape({0, 3})));
}

TEST_P(GpuElementwise, Activations) {
  const Tensor x = AsTensor<float>({-1, 2, NAN});
  const float e = std::exp(-1.F);
  Expect("Elu", {x}, AsTensor<float>({std::expm1(-1.F), 2, NAN}));
  Expect("Selu", {x}, AsTensor<float>({1.7580993F * std::expm1(-1.F), 2 * 1.050701F, NAN}));
  Expect("Softplus", {AsTensor<double>({-40, 1000})}, AsTensor<double>({std::exp(-40.0), 1000}));
  Expect("Softsign", {x}, AsTensor<float>({-0.5F, 2 / 3.F, NAN}));
  const Tensor g = AsTensor<float>({2, 2, 2});
  Expect("EluGrad", {g, x}, AsTensor<float>({0, 2, 2}));
  Expect("SoftplusGrad", {g, AsTensor<float>({-1, 0, 1000})}, AsTensor<float>({2 * e / (1 + e), 1, 2}));
  Expect("SoftsignGrad", {g, AsTensor<float>({-1, 0, 1})}, AsTensor<float>({0.5F, 2, 0.5F}));
}

TEST_P(GpuElementwise, Predicates) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = AsTensor<half>({half(1.F), half(-infinity), half(NAN)});
  Expect("IsFinite", {x}, AsTensor<bool>({true, false, false}));
  Expect("IsInf", {x}, AsTensor<bool>({false, true, false}));
  Expect("IsNan", {x}, AsTensor<bool>({false, false, true}));
}

TEST_P(GpuElementwise, OperandsOfOneShape) {
  Expect("AddV2", {AsTensor<float>({1, 2}), AsTensor<float>({10, 20})}, AsTensor<float>({11, 22}));
  Expect("Mul", {AsTensor<bfloat16>({bfloat16(3.f)}), AsTensor<bfloat16>({bfloat16(4.f)})},
         AsTensor<bfloat16>({bfloat16(12.f)}));
  Expect("Maximum", {AsTensor<float>({1, NAN}), AsTensor<float>({2, 3})}, AsTensor<float>({2, NAN}));
  Expect("Less", {AsTensor<int64_t>({1, 2}), AsTensor<int64_t>({2, 2})}, AsTensor<bool>({true, false}));
  Expect("LogicalAnd", {AsTensor<bool>({true, true}), AsTensor<bool>({true, false})}, AsTensor<bool>({true, false}));
}

TEST_P(GpuElementwise, Broadcasts) {
  Expect("AddV2", {AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3}), AsScalar<float>(10)},
         AsTensor<float>({11, 12, 13, 14, 15, 16}, {2, 3}));
  Expect("AddV2", {AsTensor<float>({1, 2}, {2, 1}), AsTensor<float>({10, 20, 30}, {3})},
         AsTensor<float>({11, 21, 31, 12, 22, 32}, {2, 3}));
  Expect("Mul", {AsTensor<float>({1, 2, 3, 4}, {2, 1, 2}), AsTensor<float>({1, 10, 100}, {1, 3, 1})},
         AsTensor<float>({1, 2, 10, 20, 100, 200, 3, 4, 30, 40, 300, 400}, {2, 3, 2}));
  Expect("AddV2", {Tensor(DT_FLOAT, TensorShape({0, 2})), AsTensor<float>({1}, {1, 1})},
         Tensor(DT_FLOAT, TensorShape({0, 2})));
  Expect("AddV2", {AsTensor<float>({1}, {1, 1}), AsScalar<float>(2)}, AsTensor<float>({3}, {1, 1}));
}

TEST_P(GpuElementwise, ShapesThatDoNotMatchAreRefused) {
  EXPECT_THAT(Run("AddV2", {AsTensor<float>({1, 2}), AsTensor<float>({1, 2, 3})}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("Incompatible shapes: [2] vs. [3]")));
}

TEST_P(GpuElementwise, GradientsWantAsManyElementsAndDoNotBroadcast) {
  for (const char* op : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"}) {
    EXPECT_THAT(Run(op, {AsTensor<float>({1, 2}), AsScalar<float>(1)}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         testing::HasSubstr("must have same number of elements, got 2 and 1")))
        << op;
  }
  // Of different shapes, the first one's is the output's.
  Expect("InvGrad", {AsTensor<float>({1, 2}, {2, 1}), AsTensor<float>({1, 3})}, AsTensor<float>({-1, -12}, {2, 1}));
  Expect("SqrtGrad", {Tensor(DT_FLOAT, TensorShape({0, 3})), Tensor(DT_FLOAT, TensorShape({0}))},
         Tensor(DT_FLOAT, TensorShape({0, 3})));
}

TEST_P(GpuElementwise, OutOfMemoryNamesTheNode) {
  EXPECT_THAT(Run("AddV2", {Tensor(DT_FLOAT, TensorShape({100000, 1})), Tensor(DT_FLOAT, TensorShape({1, 1000}))}),
              StatusIs(absl::StatusCode::kResourceExhausted, testing::HasSubstr("{{node node}}; GPU_0_bfc has no")));
}

}  // namespace weir
