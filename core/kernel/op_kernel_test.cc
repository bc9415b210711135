#include "core/kernel/op_kernel.h"

#include "core/kernel/op_kernel_testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AddKernel : public OpKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    if (a.shape() != b.shape()) return errors::InvalidArgument("Incompatible shapes");
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, a.shape()));
    for (int64_t i = 0; i < a.NumElements(); ++i) out->data<float>()[i] = a.data<float>()[i] + b.data<float>()[i];
    return absl::OkStatus();
  }
};

// Writes into its input's buffer if allowed.
class NegateKernel : public OpKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    const float* from = ctx.input(0).data<float>();
    const TensorShape shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(Tensor * out, ctx.forward_input_or_allocate_output({0}, 0, shape));
    for (int64_t i = 0; i < shape.num_elements(); ++i) out->data<float>()[i] = -from[i];
    return absl::OkStatus();
  }
};

class HugeKernel : public OpKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    return ctx.allocate_output(0, TensorShape({int64_t{1} << 58})).status();
  }
};

class ScaleKernel : public OpKernel {
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("factor", &factor_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<float>(ctx.input(0).scalar<float>() * factor_));
    return absl::OkStatus();
  }
  float factor_ = 0;
};

// Completes on another thread.
class LaterKernel : public AsyncOpKernel {
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    ctx.work_queue()->Schedule([&ctx, done = std::move(done)] {
      ctx.set_output(0, ctx.input(0));
      done(absl::OkStatus());
    });
  }
};

// Adds to a variable and forwards the reference.
class AddToRefKernel : public OpKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    {
      std::lock_guard<std::mutex> lock(*ctx.ref_mutex(0));
      ctx.ref_input(0)->scalar<float>() += ctx.input(1).scalar<float>();
    }
    ctx.forward_ref_input_to_ref_output(0, 0);
    return absl::OkStatus();
  }
};

absl::Status RegisterTestOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("TestAdd").Input("a: T").Input("b: T").Output("c: T").Attr("T: {float, int32}")));
  RETURN_IF_ERROR(ops.Register(Op("TestNegate").Input("a: float").Output("b: float")));
  RETURN_IF_ERROR(ops.Register(Op("TestHuge").Output("b: float")));
  RETURN_IF_ERROR(ops.Register(Op("TestScale").Input("a: float").Output("b: float").Attr("factor: float = 2")));
  RETURN_IF_ERROR(ops.Register(Op("TestLater").Input("a: T").Output("b: T").Attr("T: type")));
  return ops.Register(Op("TestAddToRef").Input("v: Ref(float)").Input("x: float").Output("out: Ref(float)"));
}

absl::Status RegisterTestKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<AddKernel>(Kernel("TestAdd").Cpu().Type<float>("T")));
  RETURN_IF_ERROR(kernels.Register<NegateKernel>(Kernel("TestNegate").Cpu()));
  RETURN_IF_ERROR(kernels.Register<HugeKernel>(Kernel("TestHuge").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ScaleKernel>(Kernel("TestScale").Cpu()));
  RETURN_IF_ERROR(kernels.Register<LaterKernel>(Kernel("TestLater").Cpu()));
  return kernels.Register<AddToRefKernel>(Kernel("TestAddToRef").Cpu());
}

class OpKernelTest : public KernelTest {
  void SetUp() override { Register(RegisterTestOps, RegisterTestKernels); }
};

TEST_F(OpKernelTest, AllocatesItsOutput) {
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("TestAdd", {AsTensor<float>({1, 2}), AsTensor<float>({3, 4})}));
  ExpectTensorEqual(sum, AsTensor<float>({4, 6}));
}

TEST_F(OpKernelTest, ErrorNamesNodeAndSizeWhenMemoryIsExhausted) {
  auto result = RunOp1("TestHuge", {});
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("OOM when allocating tensor with shape[288230376151711744]"),
                                     HasSubstr("{{node test}}"))));
  ASSERT_TRUE(OriginOf(result.status()).has_value());
  EXPECT_EQ(OriginOf(result.status())->op, "TestHuge");
}

TEST_F(OpKernelTest, ReadsAttributesWithDefaults) {
  ASSERT_OK_AND_ASSIGN(Tensor twice, RunOp1("TestScale", {AsScalar<float>(3)}));
  EXPECT_EQ(twice.scalar<float>(), 6);
  ASSERT_OK_AND_ASSIGN(Tensor more, RunOp1("TestScale", {AsScalar<float>(3)}, Attrs().Set("factor", 10.0f)));
  EXPECT_EQ(more.scalar<float>(), 30);
}

TEST_F(OpKernelTest, ForwardsABufferThatNobodyElseHolds) {
  Tensor in = AsTensor<float>({1, -2});
  const void* const buffer = in.raw_data();
  ASSERT_OK_AND_ASSIGN(auto kernel, MakeOp("TestNegate", {in}));
  std::vector<TestInput> inputs;
  inputs.emplace_back(std::move(in));
  in = Tensor();
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunKernel(*kernel, std::move(inputs)));
  EXPECT_EQ(out[0].raw_data(), buffer);
  ExpectTensorEqual(out[0], AsTensor<float>({-1, 2}));
}

TEST_F(OpKernelTest, LeavesASharedInputAlone) {
  const Tensor in = AsTensor<float>({1, -2});
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("TestNegate", {in}));
  EXPECT_NE(out.raw_data(), in.raw_data());
  ExpectTensorEqual(in, AsTensor<float>({1, -2}));
}

TEST_F(OpKernelTest, WaitsForAnAsynchronousKernel) {
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("TestLater", {AsScalar<int64_t>(7)}));
  EXPECT_EQ(out.scalar<int64_t>(), 7);
}

TEST_F(OpKernelTest, ReferenceInputsAreUpdatedInPlace) {
  Tensor variable = AsScalar<float>(1);
  std::mutex mutex;
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("TestAddToRef", {TestInput::Ref(&variable, &mutex), AsScalar<float>(2)}));
  EXPECT_EQ(variable.scalar<float>(), 3);
  EXPECT_TRUE(out.SharesBufferWith(variable));
}

TEST_F(OpKernelTest, InputsOfTheWrongTypeAreRefused) {
  EXPECT_THAT(RunOp1("TestNegate", {AsScalar<int32_t>(1)}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      RunOp1("TestAdd", {AsScalar<double>(1), AsScalar<double>(1)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not in the list of allowed values: float, int32")));
}

TEST_F(OpKernelTest, MissingKernelIsNamed) {
  EXPECT_THAT(RunOp1("TestAdd", {AsScalar<int32_t>(1), AsScalar<int32_t>(1)}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("No OpKernel was registered to support Op 'TestAdd' used by {{node test}}"),
                             HasSubstr("T=DT_INT32"), HasSubstr("on device type CPU"), HasSubstr("T in [float]"))));
  EXPECT_THAT(RunOp1("NoSuchOp", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("Op type not registered 'NoSuchOp'")));
}

}  // namespace
}  // namespace weir
