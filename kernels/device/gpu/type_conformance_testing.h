// Tests of kernels with the rarer types on each kind of device: narrow and unsigned integers, complex numbers.
// Part of the suite GpuKernels.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "kernels/device/gpu/kernel_conformance_testing.h"

namespace weir {

inline Op UnaryOp(const char* name) { return Op(name).Input("x: T").Output("y: T").Attr("T: type"); }
inline Op BinaryOp(const char* name) { return Op(name).Input("x: T").Input("y: T").Output("z: T").Attr("T: type"); }
inline Op ComparisonOp(const char* name) {
  return Op(name).Input("x: T").Input("y: T").Output("z: bool").Attr("T: type");
}

TEST_P(GpuKernels, SmallIntegersWrap) {
  Expect(BinaryOp("AddV2"), {AsTensor<int8_t>({127, -128, 5}), AsTensor<int8_t>({1, -1, 2})}, Attr("T", DT_INT8),
         {AsTensor<int8_t>({-128, 127, 7})});
  Expect(BinaryOp("Sub"), {AsTensor<uint8_t>({0, 9}), AsTensor<uint8_t>({1, 4})}, Attr("T", DT_UINT8),
         {AsTensor<uint8_t>({255, 5})});
  Expect(BinaryOp("Mul"), {AsTensor<uint16_t>({65535, 300}), AsTensor<uint16_t>({65535, 300})}, Attr("T", DT_UINT16),
         {AsTensor<uint16_t>({1, 24464})});
  Expect(BinaryOp("Mul"), {AsTensor<uint32_t>({UINT32_MAX, 7}), AsScalar<uint32_t>(UINT32_MAX)}, Attr("T", DT_UINT32),
         {AsTensor<uint32_t>({1, UINT32_MAX - 6})});
  Expect(BinaryOp("AddV2"), {AsTensor<uint64_t>({UINT64_MAX}), AsTensor<uint64_t>({2})}, Attr("T", DT_UINT64),
         {AsTensor<uint64_t>({1})});
  Expect(UnaryOp("Neg"), {AsTensor<int16_t>({INT16_MIN, 3})}, Attr("T", DT_INT16),
         {AsTensor<int16_t>({INT16_MIN, -3})});
  Expect(UnaryOp("Invert"), {AsTensor<uint16_t>({0, 65535})}, Attr("T", DT_UINT16), {AsTensor<uint16_t>({65535, 0})});
}

TEST_P(GpuKernels, IntegersAreComparedByTheirSign) {
  const Tensor bytes = AsTensor<uint8_t>({200, 3}), signed_bytes = AsTensor<int8_t>({-56, 3});
  Expect(ComparisonOp("Less"), {bytes, AsScalar<uint8_t>(100)}, Attr("T", DT_UINT8), {AsTensor<bool>({false, true})});
  Expect(ComparisonOp("Less"), {signed_bytes, AsScalar<int8_t>(1)}, Attr("T", DT_INT8),
         {AsTensor<bool>({true, false})});
  const Tensor wide = AsTensor<uint64_t>({UINT64_MAX, 3});
  Expect(ComparisonOp("GreaterEqual"), {wide, AsScalar<uint64_t>(4)}, Attr("T", DT_UINT64),
         {AsTensor<bool>({true, false})});
  Expect(BinaryOp("Maximum"), {wide, AsScalar<uint64_t>(4)}, Attr("T", DT_UINT64),
         {AsTensor<uint64_t>({UINT64_MAX, 4})});
  Expect(BinaryOp("Minimum"), {AsTensor<uint32_t>({UINT32_MAX, 1}), AsScalar<uint32_t>(2)}, Attr("T", DT_UINT32),
         {AsTensor<uint32_t>({2, 1})});
  Expect(ComparisonOp("Equal"), {AsTensor<bool>({true, false}), AsScalar<bool>(true)}, Attr("T", DT_BOOL),
         {AsTensor<bool>({true, false})});
}

TEST_P(GpuKernels, IntegersAreDividedAndShifted) {
  Expect(BinaryOp("FloorDiv"), {AsTensor<int8_t>({-128, 7, -7, 5}), AsTensor<int8_t>({-1, -2, 2, 0})},
         Attr("T", DT_INT8), {AsTensor<int8_t>({-128, -4, -4, 0})});
  Expect(BinaryOp("FloorMod"), {AsTensor<int16_t>({7, -7}), AsTensor<int16_t>({-3, 3})}, Attr("T", DT_INT16),
         {AsTensor<int16_t>({-2, 2})});
  Expect(BinaryOp("Div"), {AsTensor<uint64_t>({UINT64_MAX, 9}), AsTensor<uint64_t>({2, 0})}, Attr("T", DT_UINT64),
         {AsTensor<uint64_t>({UINT64_MAX / 2, 0})});
  Expect(BinaryOp("LeftShift"), {AsTensor<int8_t>({1, 1, 3}), AsTensor<int8_t>({7, 100, -1})}, Attr("T", DT_INT8),
         {AsTensor<int8_t>({-128, -128, 3})});
  Expect(BinaryOp("RightShift"), {AsTensor<int16_t>({-4, -4}), AsTensor<int16_t>({1, 200})}, Attr("T", DT_INT16),
         {AsTensor<int16_t>({-2, -1})});
  Expect(BinaryOp("RightShift"), {AsTensor<uint64_t>({UINT64_MAX}), AsTensor<uint64_t>({UINT64_MAX})},
         Attr("T", DT_UINT64), {AsTensor<uint64_t>({1})});
}

TEST_P(GpuKernels, CastsFromAnyTypeToAny) {
  const auto cast = [this](const Tensor& from, const Tensor& to) {
    const Op op = Op("Cast")
                      .Input("x: SrcT")
                      .Output("y: DstT")
                      .Attr("SrcT: type")
                      .Attr("DstT: type")
                      .Attr("Truncate: bool = false");
    Expect(op, {from}, Attr("SrcT", from.dtype(), Attr("DstT", to.dtype())), {to});
  };
  cast(AsTensor<float>({3.75f, 0, 255}), AsTensor<uint8_t>({3, 0, 255}));
  cast(AsTensor<double>({-3.75, 1e19}), AsTensor<complex128>({-3.75, 1e19}));
  cast(AsTensor<double>({1e19}), AsTensor<uint64_t>({10000000000000000000u}));
  cast(AsTensor<half>({half(-2.5f)}), AsTensor<int16_t>({-2}));
  cast(AsTensor<int8_t>({-1, 5}), AsTensor<uint64_t>({UINT64_MAX, 5}));
  cast(AsTensor<int8_t>({-1, 5}), AsTensor<bfloat16>({bfloat16(-1.f), bfloat16(5.f)}));
  cast(AsTensor<uint64_t>({UINT64_MAX}), AsTensor<float>({18446744073709551616.f}));
  cast(AsTensor<uint64_t>({UINT64_MAX}), AsTensor<int16_t>({-1}));
  cast(AsTensor<int64_t>({(int64_t{1} << 53) + 1}), AsTensor<uint32_t>({1}));
  cast(AsTensor<bool>({true, false}), AsTensor<uint16_t>({1, 0}));
  cast(AsTensor<uint32_t>({UINT32_MAX, 0}), AsTensor<bool>({true, false}));
  cast(AsTensor<uint32_t>({UINT32_MAX}), AsTensor<double>({4294967295.0}));
  cast(AsTensor<complex64>({{1.5f, 2}, {-3, 0}}), AsTensor<float>({1.5f, -3}));
  cast(AsTensor<complex64>({{1.5f, 2}}), AsTensor<complex128>({{1.5, 2}}));
  cast(AsTensor<complex128>({{7.5, 2}}), AsTensor<int8_t>({7}));
  cast(AsTensor<int32_t>({-9}), AsTensor<complex64>({{-9, 0}}));
}

TEST_P(GpuKernels, MovesElementsOfAnySize) {
  const Op transpose = UnaryOp("Transpose").Input("perm: int32");
  const Tensor turned = AsTensor<int32_t>({1, 0});
  Expect(transpose, {AsTensor<int8_t>({1, 2, 3, 4, 5, 6}, {2, 3}), turned}, Attr("T", DT_INT8),
         {AsTensor<int8_t>({1, 4, 2, 5, 3, 6}, {3, 2})});
  const Tensor pairs = AsTensor<complex128>({{1, 2}, {3, 4}, {5, 6}, {7, 8}}, {2, 2});
  Expect(transpose, {pairs, turned}, Attr("T", DT_COMPLEX128),
         {AsTensor<complex128>({{1, 2}, {5, 6}, {3, 4}, {7, 8}}, {2, 2})});
  Expect(UnaryOp("ConjugateTranspose").Input("perm: int32"), {pairs, turned}, Attr("T", DT_COMPLEX128),
         {AsTensor<complex128>({{1, -2}, {5, -6}, {3, -4}, {7, -8}}, {2, 2})});
  const Op pad =
      Op("PadV2").Input("x: T").Input("paddings: int32").Input("constant_values: T").Output("y: T").Attr("T: type");
  Expect(pad, {AsTensor<complex128>({{1, 2}}), AsTensor<int32_t>({1, 0}, {1, 2}), AsScalar<complex128>({-8, 9})},
         Attr("T", DT_COMPLEX128), {AsTensor<complex128>({{-8, 9}, {1, 2}})});
  const Op fill = Op("Fill").Input("dims: int32").Input("value: T").Output("y: T").Attr("T: type");
  Expect(fill, {AsTensor<int32_t>({2}), AsScalar<complex128>({3, -4})}, Attr("T", DT_COMPLEX128),
         {AsTensor<complex128>({{3, -4}, {3, -4}})});
  Expect(UnaryOp("OnesLike"), {AsTensor<complex64>({{3, 4}})}, Attr("T", DT_COMPLEX64), {AsTensor<complex64>({1})});
  Expect(UnaryOp("OnesLike"), {AsTensor<half>({half(3.f)})}, Attr("T", DT_HALF), {AsTensor<half>({half(1.f)})});
  Expect(UnaryOp("OnesLike"), {AsTensor<uint16_t>({3})}, Attr("T", DT_UINT16), {AsTensor<uint16_t>({1})});
  Expect(UnaryOp("ZerosLike"), {AsTensor<bool>({true})}, Attr("T", DT_BOOL), {AsTensor<bool>({false})});
}

TEST_P(GpuKernels, ComplexArithmetic) {
  const auto attrs = Attr("T", DT_COMPLEX64);
  const Tensor x = AsTensor<complex64>({{1, 2}, {-3, 0.5f}}), y = AsTensor<complex64>({{0, -1}, {2, 4}});
  Expect(BinaryOp("Mul"), {x, y}, attrs, {AsTensor<complex64>({{2, -1}, {-8, -11}})});
  Expect(BinaryOp("RealDiv"), {x, y}, attrs, {AsTensor<complex64>({{-2, 1}, {-0.2f, 0.65f}})});
  Expect(BinaryOp("DivNoNan"), {x, AsScalar<complex64>({0, 0})}, attrs, {AsTensor<complex64>({0, 0})});
  Expect(BinaryOp("RealDiv"), {AsTensor<complex128>({{1e300, 1e300}}), AsTensor<complex128>({{1e300, 1e300}})},
         Attr("T", DT_COMPLEX128), {AsTensor<complex128>({{1, 0}})});
  Expect(BinaryOp("SquaredDifference"), {x, y}, attrs, {AsTensor<complex64>({10, 37.25f})});
  Expect(ComparisonOp("NotEqual"), {x, AsScalar<complex64>({1, 2})}, attrs, {AsTensor<bool>({false, true})});
  const auto part = [](const char* name) {
    return Op(name).Input("x: T").Output("y: Tout").Attr("T: type").Attr("Tout: type");
  };
  const auto to_float = Attr("Tout", DT_FLOAT, attrs);
  Expect(part("Real"), {x}, to_float, {AsTensor<float>({1, -3})});
  Expect(part("Imag"), {x}, to_float, {AsTensor<float>({2, 0.5f})});
  Expect(part("ComplexAbs"), {AsTensor<complex64>({{3e30f, 4e30f}})}, to_float, {AsTensor<float>({5e30f})});
  Expect(part("Angle"), {AsTensor<complex64>({{0, 2}})}, to_float, {AsTensor<float>({1.5707964f})});
  EXPECT_THAT(Run(part("Real"), {x}, Attr("Tout", DT_DOUBLE, attrs)), testing::Not(IsOk()));
  const Op join = Op("Complex").Input("x: T").Input("y: T").Output("z: Tout").Attr("T: type").Attr("Tout: type");
  Expect(join, {AsTensor<double>({1, 2}), AsScalar<double>(5)}, Attr("T", DT_DOUBLE, Attr("Tout", DT_COMPLEX128)),
         {AsTensor<complex128>({{1, 5}, {2, 5}})});
  const Op mean = Op("Mean")
                      .Input("input: T")
                      .Input("reduction_indices: int32")
                      .Output("output: T")
                      .Attr("T: type")
                      .Attr("keep_dims: bool = false");
  Expect(mean, {x, AsTensor<int32_t>({0})}, attrs, {AsScalar<complex64>({-1, 1.25f})});
}

// Where parts of the formulas grow without bound, too.
TEST_P(GpuKernels, ComplexFunctions) {
  const auto expect = [this](const char* name, complex128 x, complex128 y) {
    Expect(UnaryOp(name), {AsTensor<complex128>({x})}, Attr("T", DT_COMPLEX128), {AsTensor<complex128>({y})});
  };
  expect("Exp", {0, 0}, {1, 0});
  expect("Exp", {-1000, 1}, {0, 0});
  expect("Log", {0, 1}, {0, 1.5707963267948966});
  expect("Sqrt", {-4, 0}, {0, 2});
  expect("Sqrt", {0, 0}, {0, 0});
  expect("Sqrt", {-5, -12}, {2, -3});
  expect("Rsqrt", {-0.25, 0}, {0, -2});
  expect("Sin", {0, 0}, {0, 0});
  expect("Cos", {0, 0}, {1, 0});
  expect("Tanh", {1000, 1}, {1, 0});
  expect("Tanh", {-1000, 1}, {-1, 0});
  expect("Sigmoid", {-1000, 1}, {0, 0});
  expect("Sigmoid", {1000, 1}, {1, 0});
}

TEST_P(GpuKernels, ComplexProducts) {
  const auto attrs = Attr("T", DT_COMPLEX64);
  const Op matmul = Op("MatMul")
                        .Input("a: T")
                        .Input("b: T")
                        .Output("c: T")
                        .Attr("T: type")
                        .Attr("transpose_a: bool = false")
                        .Attr("transpose_b: bool = false");
  const Tensor a = AsTensor<complex64>({{1, 1}, {0, 2}}, {1, 2}), b = AsTensor<complex64>({{3, -1}, {1, 1}}, {2, 1});
  Expect(matmul, {a, b}, attrs, {AsTensor<complex64>({{2, 4}}, {1, 1})});
  // As it is transposed, and as it is conjugated too.
  const Tensor turned = AsTensor<complex64>({{3, -1}, {1, 1}}, {1, 2});
  Expect(matmul, {a, turned}, Attr("transpose_b", true, attrs), {AsTensor<complex64>({{2, 4}}, {1, 1})});
  const Op batched = Op("BatchMatMulV2")
                         .Input("x: T")
                         .Input("y: T")
                         .Output("z: T")
                         .Attr("T: type")
                         .Attr("adj_x: bool = false")
                         .Attr("adj_y: bool = false");
  Expect(batched, {a, turned}, Attr("adj_y", true, attrs), {AsTensor<complex64>({{4, 6}}, {1, 1})});
}

}  // namespace weir
