// Fused ops give what their parts give one after another.
#include "core/tensor/numeric_types.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

// Numbers in [-4, 4) without a pattern.
Tensor Scrambled(DataType type, const TensorShape& shape, uint32_t seed, float least = -4) {
  Tensor tensor(type, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    seed = seed * 1664525 + 1013904223;
    const float value = least + static_cast<float>(seed >> 8) * ((4 - least) / 16777216.0f);
    switch (type) {
      case DT_DOUBLE:
        tensor.data<double>()[i] = value;
        break;
      case DT_HALF:
        tensor.data<half>()[i] = static_cast<half>(value);
        break;
      case DT_BFLOAT16:
        tensor.data<bfloat16>()[i] = static_cast<bfloat16>(value);
        break;
      default:
        tensor.data<float>()[i] = value;
    }
  }
  return tensor;
}

class FusedTest : public OpTest {
 protected:
  Tensor Run(absl::string_view op, std::vector<TestInput> inputs, const Attrs& attrs = {}) {
    absl::StatusOr<std::vector<Tensor>> out = RunOp(op, std::move(inputs), attrs);
    EXPECT_THAT(out, IsOk()) << op;
    return out.ok() ? (*out)[0] : Tensor();
  }
  Tensor AsFloat(const Tensor& tensor) { return Run("Cast", {tensor}, Attrs().Set("DstT", DT_FLOAT)); }

  Tensor Activated(const std::string& activation, const Tensor& x) {
    if (activation.empty()) return x;
    return Run(activation, {x}, activation == "LeakyRelu" ? Attrs().Set("alpha", 0.3f) : Attrs());
  }
  static Attrs Fused(std::vector<std::string> ops) {
    if (ops.back().empty()) ops.pop_back();
    const int64_t num_args = ops[0] == "BiasAdd" ? 1 : 4;
    return Attrs().Set("fused_ops", ops).Set("num_args", num_args).Set("leakyrelu_alpha", 0.3f);
  }
  static Attrs FusedConvolution(std::vector<std::string> ops, DataType type) {
    const DataTypeVector types(ops[0] == "BiasAdd" ? 1 : 4, type);
    return Fused(std::move(ops)).Set("TArgs", types).Set("num_host_args", int64_t{0});
  }
};

const std::vector<std::string> kActivations = {"", "Relu", "Relu6", "LeakyRelu", "Elu", "Tanh", "Sigmoid"};

TEST_F(FusedTest, MatMul) {
  struct Size {
    int64_t m, k, n;
  };
  for (const Size s : {Size{3, 4, 5}, Size{1, 300, 3000}, Size{700, 64, 33}, Size{2, 0, 3}, Size{0, 2, 3}}) {
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      const Tensor a = Scrambled(type, {s.k, s.m}, 1), b = Scrambled(type, {s.k, s.n}, 2);
      const Tensor bias = Scrambled(type, {s.n}, 3);
      const Tensor sum = Run("BiasAdd", {Run("MatMul", {a, b}, Attrs().Set("transpose_a", true)), bias});
      for (const std::string& activation : kActivations) {
        const Tensor fused = Run("_FusedMatMul", {a, b, bias}, Fused({"BiasAdd", activation}).Set("transpose_a", true));
        const double tolerance = type == DT_FLOAT ? 1e-5 : type == DT_HALF ? 2e-3 : 2e-2;
        ExpectTensorNear(AsFloat(fused), AsFloat(Activated(activation, sum)), tolerance, tolerance,
                         absl::StrCat(activation, " ", DataTypeName(type), " ", s.m, "x", s.k, "x", s.n));
      }
    }
  }
}

TEST_F(FusedTest, Conv2D) {
  for (const std::string format : {"NHWC", "NCHW"}) {
    for (const int64_t batch : {0, 1, 5}) {
      for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF}) {
        const bool first = format == "NCHW";
        const Tensor x = Scrambled(type, first ? TensorShape{batch, 3, 24, 20} : TensorShape{batch, 24, 20, 3}, 1);
        const Tensor filter = Scrambled(type, {3, 3, 3, 40}, 2), bias = Scrambled(type, {40}, 3);
        const auto attrs = [&](Attrs a) {
          return a.Set("strides", std::vector<int64_t>{1, 1, 1, 1}).Set("padding", "SAME").Set("data_format", format);
        };
        const Tensor product = Run("Conv2D", {x, filter}, attrs({}));
        const Tensor sum = Run("BiasAdd", {product, bias}, Attrs().Set("data_format", format));
        for (const std::string& activation : kActivations) {
          const Tensor fused =
              Run("_FusedConv2D", {x, filter, bias}, attrs(FusedConvolution({"BiasAdd", activation}, type)));
          const double tolerance = type == DT_HALF ? 2e-3 : 1e-5;
          ExpectTensorNear(AsFloat(fused), AsFloat(Activated(activation, sum)), tolerance, tolerance,
                           absl::StrCat(activation, " ", format, " ", DataTypeName(type), " ", batch));
        }
      }
    }
  }
}

TEST_F(FusedTest, Conv2DWithBatchNormalization) {
  const Tensor x = Scrambled(DT_FLOAT, {2, 6, 7, 3}, 1), filter = Scrambled(DT_FLOAT, {3, 3, 3, 8}, 2);
  const Tensor scale = Scrambled(DT_FLOAT, {8}, 3), offset = Scrambled(DT_FLOAT, {8}, 4);
  const Tensor mean = Scrambled(DT_FLOAT, {8}, 5), variance = Scrambled(DT_FLOAT, {8}, 6, /*least=*/0.5);
  const std::vector<int64_t> strides = {1, 1, 1, 1};
  const Tensor product = Run("Conv2D", {x, filter}, Attrs().Set("strides", strides).Set("padding", "VALID"));
  const Tensor normalized = Run("FusedBatchNorm", {product, scale, offset, mean, variance},
                                Attrs().Set("is_training", false).Set("epsilon", 0.001f));
  const Tensor fused = Run("_FusedConv2D", {x, filter, scale, offset, mean, variance},
                           FusedConvolution({"FusedBatchNorm", "Relu"}, DT_FLOAT)
                               .Set("epsilon", 0.001f)
                               .Set("strides", strides)
                               .Set("padding", "VALID"));
  ExpectTensorNear(fused, Run("Relu", {normalized}), 1e-4, 1e-4, "batch normalization");
}

TEST_F(FusedTest, RefusesWhatItDoesNotFuse) {
  const Tensor a = Scrambled(DT_FLOAT, {2, 3}, 1), b = Scrambled(DT_FLOAT, {3, 4}, 2);
  const Tensor bias = Scrambled(DT_FLOAT, {4}, 3), wrong = Scrambled(DT_FLOAT, {3}, 3);
  const auto run = [&](std::vector<TestInput> inputs, std::vector<std::string> ops) {
    return RunOp("_FusedMatMul", std::move(inputs), Attrs().Set("fused_ops", ops)).status();
  };
  EXPECT_THAT(run({a, b, bias}, {"BiasAdd", "Cos"}),
              StatusIs(Code::kUnimplemented, HasSubstr("_FusedMatMul does not fuse [BiasAdd, Cos]")));
  EXPECT_THAT(run({a, b, bias}, {}), StatusIs(Code::kUnimplemented, HasSubstr("does not fuse []")));
  EXPECT_THAT(run({a, b, bias, bias}, {"BiasAdd"}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Fused BiasAdd takes 1 argument, not 2")));
  EXPECT_THAT(run({a, b, wrong}, {"BiasAdd"}),
              StatusIs(Code::kInvalidArgument, HasSubstr("must be a vector of 4 elements, not [3]")));
}

}  // namespace
}  // namespace weir
