// Tests of the kernels that are not element-wise, run on each kind of GPU. A device's test includes this header and
// instantiates GpuKernels. tests/gpu compares the same kernels with the CPU's, for more shapes and types.
#pragma once

#include <cmath>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/kernel/memory_types.h"
#include "core/kernel/variable.h"
#include "core/op/attr_value.h"
#include "core/tensor/resource_handle.h"
#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/elementwise/elementwise_conformance_testing.h"
#include "kernels/random/philox.h"

namespace weir {

class GpuKernels : public OneGpu {
 protected:
  static Op Of(const char* name) { return Op(name).Attr("T: type"); }
  // Runs one node of `op`: inputs that its kernel wants on the device are copied there, outputs back. reader_ then has
  // what somebody has who read the reference among the inputs before.
  absl::StatusOr<std::vector<Tensor>> Run(const Op& op, std::vector<Tensor> inputs, tensorflow::NodeDef node = {}) {
    OpRegistry ops;
    RETURN_IF_ERROR(ops.Register(op));
    const tensorflow::OpDef& op_def = *ops.All()[0]->op_def;
    node.set_name("node");
    node.set_op(op_def.name());
    for (size_t i = 0; i < inputs.size(); ++i) node.add_input(absl::StrCat("in", i));
    AddDefaultAttrs(op_def, &node);
    ASSIGN_OR_RETURN(const NodeMemory memory, MemoryOfNode(kernels_, node, op_def, kDeviceGpu));
    ASSIGN_OR_RETURN(const std::unique_ptr<OpKernel> kernel, CreateKernel(kernels_, node, op_def, device_.get()));
    std::vector<TensorValue> values;
    DataTypeVector input_types, types;
    RETURN_IF_ERROR(InOutTypesForNode(node, op_def, &input_types, &types));
    std::mutex ref_mutex;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (memory.inputs[i] == MemoryType::kDevice) {
        ASSIGN_OR_RETURN(inputs[i], device_->ToDevice(inputs[i]));
      }
      values.push_back({&inputs[i]});
      if (!IsRefType(input_types[i])) continue;
      values.back().ref_mutex = &ref_mutex;
      reader_ = inputs[i];
    }
    StepContext step;
    step.device = device_.get();
    std::vector<OpOutput> outputs(types.size());
    OpKernelContext ctx(&step, &node, values, types, absl::MakeSpan(outputs));
    RETURN_IF_ERROR(kernel->Compute(ctx));
    std::vector<Tensor> results;
    for (OpOutput& output : outputs) {
      ASSIGN_OR_RETURN(results.emplace_back(), Fetch(output.ref != nullptr ? *output.ref : output.value));
    }
    return results;
  }
  void Expect(const Op& op, std::vector<Tensor> inputs, const tensorflow::NodeDef& node,
              const std::vector<Tensor>& expected) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, Run(op, std::move(inputs), node));
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < outputs.size(); ++i) ExpectTensorNear(outputs[i], expected[i]);
    GetParam().check(device_->runtime());
  }
  template <typename V>
  static tensorflow::NodeDef Attr(const char* name, const V& value, tensorflow::NodeDef node = {}) {
    SetNodeAttr(name, value, &node);
    return node;
  }
  static tensorflow::NodeDef Float() { return Attr("T", DT_FLOAT); }
  static Tensor CastForTest(const Tensor& from, DataType type) {
    if (type == DT_FLOAT) return from;
    Tensor to(type, from.shape());
    for (int64_t i = 0; i < from.NumElements(); ++i) {
      if (type == DT_HALF) to.data<half>()[i] = half(from.data<float>()[i]);
      if (type == DT_BFLOAT16) to.data<bfloat16>()[i] = bfloat16(from.data<float>()[i]);
    }
    return to;
  }
  // A variable of the device, and a tensor that holds its handle.
  std::pair<std::shared_ptr<Variable>, Tensor> NewVariable(const std::string& name, const Tensor& value) {
    auto variable = std::make_shared<Variable>(value.dtype());
    *variable->tensor() = *device_->ToDevice(value);
    variable->set_initialized(true);
    EXPECT_THAT(device_->resources()->Create("localhost", name, variable), IsOk());
    return {variable,
            Tensor::Scalar(device_->resources()->MakeHandle<Variable>(device_->name(), "localhost", name, "Variable"))};
  }

  Tensor reader_;
};

TEST_P(GpuKernels, MatMul) {
  const Op op = Of("MatMul")
                    .Input("a: T")
                    .Input("b: T")
                    .Output("c: T")
                    .Attr("transpose_a: bool = false")
                    .Attr("transpose_b: bool = false");
  const Tensor a = AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3}), b = AsTensor<float>({1, 0, 2, 1, 0, 3}, {3, 2});
  const Tensor product = AsTensor<float>({5, 11, 14, 23}, {2, 2});
  Expect(op, {a, b}, Float(), {product});
  Expect(op, {AsTensor<float>({1, 4, 2, 5, 3, 6}, {3, 2}), b}, Attr("transpose_a", true, Float()), {product});
  Expect(op, {a, AsTensor<float>({1, 2, 0, 0, 1, 3}, {2, 3})}, Attr("transpose_b", true, Float()), {product});
  EXPECT_THAT(Run(op, {a, a}, Float()),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("Matrix size-incompatible")));
}

TEST_P(GpuKernels, ProductsWithWhatFollowsThem) {
  const Op op = Of("_FusedMatMul")
                    .Input("a: T")
                    .Input("b: T")
                    .Input("args: num_args * T")
                    .Output("product: T")
                    .Attr("transpose_a: bool = false")
                    .Attr("transpose_b: bool = false")
                    .Attr("num_args: int")
                    .Attr("fused_ops: list(string)");
  const auto attrs = [](std::vector<std::string> ops) {
    return Attr("fused_ops", ops, Attr("num_args", int64_t{1}, Float()));
  };
  const Tensor a = AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3}), b = AsTensor<float>({1, 0, 2, 1, 0, 3}, {3, 2});
  const Tensor bias = AsTensor<float>({-10, 1});
  Expect(op, {a, b, bias}, attrs({"BiasAdd"}), {AsTensor<float>({-5, 12, 4, 24}, {2, 2})});
  Expect(op, {a, b, bias}, attrs({"BiasAdd", "Relu"}), {AsTensor<float>({0, 12, 4, 24}, {2, 2})});
  Expect(op, {a, b, bias}, attrs({"BiasAdd", "Relu6"}), {AsTensor<float>({0, 6, 4, 6}, {2, 2})});
  const Tensor nothing(DT_FLOAT, TensorShape({2, 0})), none(DT_FLOAT, TensorShape({0, 2}));
  Expect(op, {nothing, none, bias}, attrs({"BiasAdd", "Relu"}), {AsTensor<float>({0, 1, 0, 1}, {2, 2})});
  EXPECT_THAT(Run(op, {a, b, AsTensor<float>({1})}, attrs({"BiasAdd"})),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("bias")));
  EXPECT_THAT(Run(op, {a, b, bias}, attrs({"FusedBatchNorm"})),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("does not fuse [FusedBatchNorm]")));
}

TEST_P(GpuKernels, Reductions) {
  const auto op = [](const char* name) {
    return Of(name)
        .Input("input: T")
        .Input("reduction_indices: int32")
        .Output("output: T")
        .Attr("keep_dims: bool = false");
  };
  const Tensor x = AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  Expect(op("Sum"), {x, AsTensor<int32_t>({0})}, Float(), {AsTensor<float>({5, 7, 9})});
  Expect(op("Mean"), {x, AsTensor<int32_t>({1})}, Attr("keep_dims", true, Float()), {AsTensor<float>({2, 5}, {2, 1})});
  Expect(op("Max"), {x, AsTensor<int32_t>({0, 1})}, Float(), {AsScalar<float>(6)});
  Expect(op("Min"), {AsTensor<float>({1, NAN}), AsTensor<int32_t>({0})}, Float(), {AsScalar<float>(NAN)});
  std::vector<float> many(5000, 1);
  Expect(op("Sum"), {AsTensor<float>(many), AsTensor<int32_t>({0})}, Float(), {AsScalar<float>(5000)});
  EXPECT_THAT(Run(op("Sum"), {x, AsTensor<int32_t>({2})}, Float()),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("Invalid reduction dimension (2")));
}

TEST_P(GpuKernels, CastsAndFills) {
  const Op cast = Op("Cast")
                      .Input("x: SrcT")
                      .Output("y: DstT")
                      .Attr("SrcT: type")
                      .Attr("DstT: type")
                      .Attr("Truncate: bool = false");
  Expect(cast, {AsTensor<float>({1.5, -2.5, 0})}, Attr("SrcT", DT_FLOAT, Attr("DstT", DT_INT32)),
         {AsTensor<int32_t>({1, -2, 0})});
  Expect(cast, {AsTensor<int64_t>({3, 0})}, Attr("SrcT", DT_INT64, Attr("DstT", DT_BOOL)),
         {AsTensor<bool>({true, false})});
  const Op fill = Of("Fill").Input("dims: int32").Input("value: T").Output("output: T");
  Expect(fill, {AsTensor<int32_t>({2, 2}), AsScalar<float>(7)}, Float(), {AsTensor<float>({7, 7, 7, 7}, {2, 2})});
  Expect(Of("OnesLike").Input("x: T").Output("y: T"), {AsTensor<float>({3, 4})}, Float(), {AsTensor<float>({1, 1})});
}

TEST_P(GpuKernels, MovesElements) {
  const Tensor x = AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  Expect(Of("Transpose").Input("x: T").Input("perm: int32").Output("y: T"), {x, AsTensor<int32_t>({1, 0})}, Float(),
         {AsTensor<float>({1, 4, 2, 5, 3, 6}, {3, 2})});
  Expect(Of("Slice").Input("input: T").Input("begin: int32").Input("size: int32").Output("output: T"),
         {x, AsTensor<int32_t>({0, 1}), AsTensor<int32_t>({2, -1})}, Float(), {AsTensor<float>({2, 3, 5, 6}, {2, 2})});
  const Op gather = Op("GatherV2")
                        .Input("params: Tparams")
                        .Input("indices: Tindices")
                        .Input("axis: int32")
                        .Output("output: Tparams")
                        .Attr("Tparams: type")
                        .Attr("Tindices: type")
                        .Attr("batch_dims: int = 0");
  Expect(gather, {x, AsTensor<int32_t>({2, 0, 7}), AsScalar<int32_t>(1)},
         Attr("Tparams", DT_FLOAT, Attr("Tindices", DT_INT32)), {AsTensor<float>({3, 1, 0, 6, 4, 0}, {2, 3})});
  const Op concat =
      Op("ConcatV2").Input("values: N * T").Input("axis: int32").Output("output: T").Attr("N: int").Attr("T: type");
  Expect(concat, {x, AsTensor<float>({7, 8}, {2, 1}), AsScalar<int32_t>(1)}, Attr("N", int64_t{2}, Float()),
         {AsTensor<float>({1, 2, 3, 7, 4, 5, 6, 8}, {2, 4})});
}

TEST_P(GpuKernels, LooksAlongRows) {
  std::vector<float> ones(5000, 1), counted(5000);
  std::iota(counted.begin(), counted.end(), 1.0f);
  const Op cumsum = Of("Cumsum")
                        .Input("x: T")
                        .Input("axis: int32")
                        .Output("out: T")
                        .Attr("exclusive: bool = false")
                        .Attr("reverse: bool = false");
  Expect(cumsum, {AsTensor<float>(ones), AsScalar<int32_t>(0)}, Float(), {AsTensor<float>(counted)});
  const Op argmax = Of("ArgMax")
                        .Input("input: T")
                        .Input("dimension: int32")
                        .Output("output: int64")
                        .Attr("output_type: type = DT_INT64");
  counted[17] = 9000;
  counted[4000] = 9000;
  Expect(argmax, {AsTensor<float>(counted), AsScalar<int32_t>(0)}, Float(), {AsScalar<int64_t>(17)});
  const Op top = Of("TopKV2")
                     .Input("input: T")
                     .Input("k: int32")
                     .Output("values: T")
                     .Output("indices: index_type")
                     .Attr("sorted: bool = true")
                     .Attr("index_type: type = DT_INT32");
  Expect(top, {AsTensor<float>(counted), AsScalar<int32_t>(4)}, Float(),
         {AsTensor<float>({9000, 9000, 5000, 4999}), AsTensor<int32_t>({17, 4000, 4999, 4998})});
  std::vector<float> descending(5000);
  std::vector<int32_t> columns(1000);
  std::iota(columns.begin(), columns.end(), 0);
  for (size_t i = 0; i < descending.size(); ++i) descending[i] = static_cast<float>(5000 - i);
  Expect(
      top, {AsTensor<float>(descending), AsScalar<int32_t>(1000)}, Float(),
      {AsTensor<float>(std::vector<float>(descending.begin(), descending.begin() + 1000)), AsTensor<int32_t>(columns)});
  Expect(Of("L2Loss").Input("t: T").Output("output: T"), {Tensor(DT_FLOAT, TensorShape({0}))}, Float(),
         {AsScalar<float>(0)});
}

TEST_P(GpuKernels, RowsOfOneSegmentAddUpWhateverTheirOrder) {
  const Op sum = Op("UnsortedSegmentSum")
                     .Input("data: T")
                     .Input("segment_ids: Tindices")
                     .Input("num_segments: int32")
                     .Output("output: T")
                     .Attr("T: type")
                     .Attr("Tindices: type");
  constexpr int kRows = 2000;
  Tensor ids(DT_INT32, TensorShape({kRows}));
  for (int i = 0; i < kRows; ++i) ids.data<int32_t>()[i] = i % 3 - 1;  // a third is left out
  const Tensor counts = AsTensor<float>({667, 666, 0});
  const auto attrs = [](DataType type) { return Attr("T", type, Attr("Tindices", DT_INT32)); };
  Expect(sum, {AsTensor<float>(std::vector<float>(kRows, 1)), ids, AsScalar<int32_t>(3)}, attrs(DT_FLOAT), {counts});
  Expect(sum, {AsTensor<half>(std::vector<half>(kRows, half(1.f))), ids, AsScalar<int32_t>(3)}, attrs(DT_HALF),
         {AsTensor<half>({half(667.f), half(666.f), half(0.f)})});
}

TEST_P(GpuKernels, DrawsTheNumbersOfTheCpu) {
  const Op op = Op("RandomUniform")
                    .Input("shape: int32")
                    .Output("output: dtype")
                    .Attr("dtype: type")
                    .Attr("seed: int = 0")
                    .Attr("seed2: int = 0");
  constexpr int kCount = 4001;
  Philox stream(3, 4);
  Tensor expected(DT_FLOAT, TensorShape({kCount}));
  Philox::Group group;
  for (int i = 0; i < kCount; ++i) {
    if (i % 4 == 0) group = stream.Next();
    expected.data<float>()[i] = UniformFloat(group[i % 4]);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> drawn,
                       Run(op, {AsTensor<int32_t>({kCount})},
                           Attr("dtype", DT_FLOAT, Attr("seed", int64_t{3}, Attr("seed2", int64_t{4})))));
  ExpectTensorEqual(drawn[0], expected);
}

TEST_P(GpuKernels, Networks) {
  const Tensor x = AsTensor<float>({0, 0, 0, 1, 2, 3}, {2, 3});
  Expect(Of("BiasAdd").Input("value: T").Input("bias: T").Output("output: T"), {x, AsTensor<float>({10, 20, 30})},
         Float(), {AsTensor<float>({10, 20, 30, 11, 22, 33}, {2, 3})});
  Expect(Of("BiasAddGrad").Input("out_backprop: T").Output("output: T"), {x}, Float(), {AsTensor<float>({1, 2, 3})});
  const float e = std::exp(1.0f), sum = 1 / e + 1 + e, third = 1.0f / 3;
  const std::vector<float> row = {1 / e / sum, 1 / sum, e / sum};
  Expect(Of("Softmax").Input("logits: T").Output("softmax: T"), {x}, Float(),
         {AsTensor<float>({third, third, third, row[0], row[1], row[2]}, {2, 3})});
  const Op loss = Of("SparseSoftmaxCrossEntropyWithLogits")
                      .Input("features: T")
                      .Input("labels: Tlabels")
                      .Output("loss: T")
                      .Output("backprop: T")
                      .Attr("Tlabels: type");
  Expect(loss, {x, AsTensor<int64_t>({1, 2})}, Attr("Tlabels", DT_INT64, Float()),
         {AsTensor<float>({std::log(3.0f), -std::log(row[2])}),
          AsTensor<float>({third, third - 1, third, row[0], row[1], row[2] - 1}, {2, 3})});
}

TEST_P(GpuKernels, OptimizersChangeVariablesThatNobodyElseReads) {
  const Op op = Of("ResourceApplyGradientDescent").Input("var: resource").Input("alpha: T").Input("delta: T");
  const auto [variable, handle] = NewVariable("v", AsTensor<float>({1, 2}));
  const Tensor before = *variable->tensor();  // a reader
  for (const float expected : {0.5f, 0.0f}) {
    ASSERT_THAT(Run(op, {handle, AsScalar<float>(0.5), AsTensor<float>({1, 1})}, Float()), IsOk());
    ASSERT_OK_AND_ASSIGN(const Tensor now, Fetch(*variable->tensor()));
    ExpectTensorNear(now, AsTensor<float>({expected, expected + 1}));
  }
  ASSERT_OK_AND_ASSIGN(const Tensor kept, Fetch(before));
  ExpectTensorNear(kept, AsTensor<float>({1, 2}));
  GetParam().check(device_->runtime());
}

// As often as it takes a library to try all that it has.
// docs/decisions/0012-readers-of-references-see-updates.md
TEST_P(GpuKernels, UpdatesOfReferencesAreSeenByReaders) {
  const auto op = [](const char* name) {
    return Op(name).Input("ref: Ref(T)").Input("value: T").Output("output_ref: Ref(T)").Attr("T: type");
  };
  const Op assign = op("Assign").Attr("validate_shape: bool = true").Attr("use_locking: bool = true");
  const Tensor value = AsTensor<float>({1, 2}), other = AsTensor<float>({10, 20});
  Expect(op("AssignAdd"), {value, other}, Float(), {AsTensor<float>({11, 22})});
  ExpectTensorEqual(*Fetch(reader_), AsTensor<float>({11, 22}));
  Expect(assign, {value, other}, Float(), {other});
  ExpectTensorEqual(*Fetch(reader_), other);
  Expect(assign, {value, AsTensor<float>({5})}, Attr("validate_shape", false, Float()), {AsTensor<float>({5})});
  ExpectTensorEqual(*Fetch(reader_), value);
  const tensorflow::NodeDef int64 = Attr("T", DT_INT64);
  Expect(op("AssignSub"), {AsTensor<int64_t>({1, 2}), AsTensor<int64_t>({3, 5})}, int64, {AsTensor<int64_t>({-2, -3})});
  ExpectTensorEqual(*Fetch(reader_), AsTensor<int64_t>({1, 2}));
  Expect(op("AssignSub"), {AsScalar<int64_t>(1), AsScalar<int64_t>(3)}, int64, {AsScalar<int64_t>(-2)});
  ExpectTensorEqual(*Fetch(reader_), AsScalar<int64_t>(-2));
}

// What counted saw fewer than there are now.
TEST_P(GpuKernels, CoordinatesAreNoMoreThanWereCounted) {
  ASSERT_OK_AND_ASSIGN(const GpuKernel write, FindBody("WriteNonZero", DT_FLOAT));
  ASSERT_OK_AND_ASSIGN(const Tensor in, device_->ToDevice(AsTensor<float>({1, 0, 2, 3, 4})));
  ASSERT_OK_AND_ASSIGN(const Tensor totals, device_->ToDevice(AsTensor<int64_t>({2})));
  ASSERT_OK_AND_ASSIGN(const Tensor out, device_->ToDevice(AsTensor<int64_t>({-1, -1, -1, -1})));
  NonZeroArgs args{.in = in.raw_data(), .length = 5, .rank = 1, .sizes = {5}, .count = 1};
  args.totals = totals.data<int64_t>();
  args.out = const_cast<int64_t*>(out.data<int64_t>());
  ASSERT_THAT(device_->compute().LaunchWith(write, args, {ReadOf(in), ReadOf(totals), WriteOf(out)}), IsOk());
  ExpectTensorEqual(*Fetch(out), AsTensor<int64_t>({0, 2, -1, -1}));
  GetParam().check(device_->runtime());
}

TEST_P(GpuKernels, ConvolutionsByAnyPlan) {
  constexpr int kTimes = 34;
  const auto op = [](const char* name, const char* first, const char* second) {
    return Of(name).Input(first).Input(second).Attr("strides: list(int)").Attr("padding: string");
  };
  const Op forward = op("Conv2D", "input: T", "filter: T").Output("output: T");
  const Op data = op("Conv2DBackpropInput", "input_sizes: int32", "filter: T").Input("out: T").Output("output: T");
  const Op filter = op("Conv2DBackpropFilter", "input: T", "filter_sizes: int32").Input("out: T").Output("output: T");
  const auto attrs = [](DataType type) {
    return Attr("T", type, Attr("strides", std::vector<int64_t>{1, 2, 2, 1}, Attr("padding", std::string("SAME"))));
  };
  const auto ones = [](DataType type, const TensorShape& shape) {
    Tensor tensor(DT_FLOAT, shape);
    std::fill_n(tensor.data<float>(), tensor.NumElements(), 1.0f);
    return CastForTest(tensor, type);
  };
  // Two rows and columns of filter over five: the last window sees one, and padding behind it.
  const TensorShape in({1, 5, 5, 8}), weights({2, 2, 8, 8}), out({1, 3, 3, 8});
  Tensor seen(DT_FLOAT, out), made(DT_FLOAT, in), used(DT_FLOAT, weights);
  for (int i = 0; i < 9 * 8; ++i) seen.data<float>()[i] = 8.0f * (i / 24 < 2 ? 2 : 1) * (i / 8 % 3 < 2 ? 2 : 1);
  std::fill_n(made.data<float>(), made.NumElements(), 8.0f);
  for (int i = 0; i < 4 * 64; ++i) used.data<float>()[i] = (i / 128 == 0 ? 3.0f : 2.0f) * (i / 64 % 2 == 0 ? 3 : 2);
  for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
    for (int i = 0; i < kTimes; ++i) {
      Expect(forward, {ones(type, in), ones(type, weights)}, attrs(type), {CastForTest(seen, type)});
      Expect(data, {AsTensor<int32_t>({1, 5, 5, 8}), ones(type, weights), ones(type, out)}, attrs(type),
             {CastForTest(made, type)});
      Expect(filter, {ones(type, in), AsTensor<int32_t>({2, 2, 8, 8}), ones(type, out)}, attrs(type),
             {CastForTest(used, type)});
    }
  }
}

}  // namespace weir
