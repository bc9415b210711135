// Conformance suite of recurrent cells for each kind of device. A device's test includes this header and instantiates
// GpuKernels. tests/gpu compares more of them, gradients above all, with the CPU's.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/device/gpu/kernel_conformance_testing.h"

namespace weir {

inline float SquashedForTest(double x) { return static_cast<float>(1 / (1 + std::exp(-x))); }

// A cell of one number, and what it is to give.
struct LstmCellForTest {
  static Op Define() {
    Op op("LSTMBlockCell");
    for (const char* input : {"x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"}) {
      op.Input(absl::StrCat(input, ": T"));
    }
    for (const char* output : {"i", "cs", "f", "o", "ci", "co", "h"}) op.Output(absl::StrCat(output, ": T"));
    return op.Attr("forget_bias: float = 1.0")
        .Attr("cell_clip: float = 3.0")
        .Attr("use_peephole: bool = false")
        .Attr("T: type");
  }

  float x = 0.5F, cs_prev = -2, h_prev = 0.25F;
  float w[2][4] = {{1, 0.5F, -1, 2}, {-2, 4, 1, 0.5F}};  // i, ci, f, o
  float wci = 0, wcf = 0, wco = 0;
  float b[4] = {0.25F, -0.5F, 0.125F, 1};

  std::vector<Tensor> Inputs() const {
    const auto one = [](float value) { return AsTensor<float>({value}, {1, 1}); };
    return {one(x),
            one(cs_prev),
            one(h_prev),
            AsTensor<float>({w[0][0], w[0][1], w[0][2], w[0][3], w[1][0], w[1][1], w[1][2], w[1][3]}, {2, 4}),
            AsTensor<float>({wci}),
            AsTensor<float>({wcf}),
            AsTensor<float>({wco}),
            AsTensor<float>({b[0], b[1], b[2], b[3]})};
  }
  std::vector<Tensor> Outputs(float forget_bias, float clip) const {
    const auto gate = [this](int g) { return x * w[0][g] + h_prev * w[1][g] + b[g]; };
    const float i = SquashedForTest(gate(0) + cs_prev * wci), ci = std::tanh(gate(1));
    const float f = SquashedForTest(gate(2) + forget_bias + cs_prev * wcf);
    float cs = ci * i + cs_prev * f;
    if (clip > 0) cs = std::fmin(std::fmax(cs, -clip), clip);
    const float o = SquashedForTest(gate(3) + cs * wco), co = std::tanh(cs);
    std::vector<Tensor> outputs;
    for (const float value : {i, cs, f, o, ci, co, o * co}) outputs.push_back(AsTensor<float>({value}, {1, 1}));
    return outputs;
  }
};

TEST_P(GpuKernels, LstmCells) {
  const Op op = LstmCellForTest::Define();
  LstmCellForTest cell;
  Expect(op, cell.Inputs(), Float(), cell.Outputs(1, 3));
  Expect(op, cell.Inputs(), Attr("cell_clip", 0.5F, Float()), cell.Outputs(1, 0.5F));
  cell.wci = 0.5F;
  cell.wcf = -1;
  cell.wco = 2;
  Expect(op, cell.Inputs(), Attr("use_peephole", true, Attr("forget_bias", 0.0F, Attr("cell_clip", -1.0F, Float()))),
         cell.Outputs(0, 0));
}

// Steps behind seq_len_max are zero; version 2 has the forget gate before the candidate, and no bias of its own.
TEST_P(GpuKernels, BlocksOfLstmCells) {
  Op op("BlockLSTMV2");
  op.Input("seq_len_max: int64");
  for (const char* input : {"x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"}) {
    op.Input(absl::StrCat(input, ": T"));
  }
  for (const char* output : {"i", "cs", "f", "o", "ci", "co", "h"}) op.Output(absl::StrCat(output, ": T"));
  op.Attr("cell_clip: float = 0.0").Attr("use_peephole: bool = false").Attr("T: type");
  LstmCellForTest first;
  const std::vector<Tensor> before = first.Outputs(0, 0);
  LstmCellForTest second = first;
  second.x = -1.5F;
  second.cs_prev = before[1].data<float>()[0];
  second.h_prev = before[6].data<float>()[0];
  const std::vector<Tensor> after = second.Outputs(0, 0);
  std::vector<Tensor> inputs = first.Inputs(), expected;
  for (const int at : {3, 7}) {
    float* const data = inputs[at].data<float>();
    for (int64_t row = 0; row < inputs[at].NumElements(); row += 4) std::swap(data[row + 1], data[row + 2]);
  }
  inputs[0] = AsTensor<float>({first.x, second.x, 9}, {3, 1, 1});
  inputs.insert(inputs.begin(), AsScalar<int64_t>(2));
  for (int i = 0; i < 7; ++i) {
    expected.push_back(AsTensor<float>({before[i].data<float>()[0], after[i].data<float>()[0], 0}, {3, 1, 1}));
  }
  Expect(op, inputs, Float(), expected);
  inputs[0] = AsScalar<int64_t>(4);
  EXPECT_THAT(Run(op, inputs, Float()),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("seq_len_max must be in [0, 3], got 4")));
}

TEST_P(GpuKernels, GatedRecurrentCells) {
  Op op("GRUBlockCell");
  for (const char* input : {"x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"}) op.Input(absl::StrCat(input, ": T"));
  for (const char* output : {"r", "u", "c", "h"}) op.Output(absl::StrCat(output, ": T"));
  op.Attr("T: type");
  const auto one = [](float value) { return AsTensor<float>({value}, {1, 1}); };
  const float x = 0.5F, h = -1.5F;
  const float r = SquashedForTest(x * 2 + h * 0.5 + 0.25), u = SquashedForTest(x * -1 + h * 1.5 - 0.5);
  const float c = std::tanh(x * 0.75F + r * h * -2 + 1);
  Expect(op,
         {one(x), one(h), AsTensor<float>({2, -1, 0.5F, 1.5F}, {2, 2}), AsTensor<float>({0.75F, -2}, {2, 1}),
          AsTensor<float>({0.25F, -0.5F}), AsTensor<float>({1})},
         Float(), {one(r), one(u), one(c), one(u * h + (1 - u) * c)});
}

}  // namespace weir
