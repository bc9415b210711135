// Recurrent networks with their parameters in one buffer. Expected values are those of Keras's layers.
#include "kernels/op_testing.h"
#include "kernels/recurrent/args_rnn.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

// (k * factor % modulus - shift) / divisor, for each k.
Tensor Pattern(const TensorShape& shape, int64_t factor, int64_t modulus, int64_t shift, double divisor) {
  Tensor tensor(DT_DOUBLE, shape);
  for (int64_t k = 0; k < tensor.NumElements(); ++k) {
    tensor.data<double>()[k] = static_cast<double>(k * factor % modulus - shift) / divisor;
  }
  return tensor;
}
Tensor X(const TensorShape& shape = TensorShape({3, 2, 2})) { return Pattern(shape, 5, 7, 3, 4); }
Tensor H(const TensorShape& shape = TensorShape({2, 2, 2})) { return Pattern(shape, 3, 5, 2, 4); }
Tensor C(const TensorShape& shape = TensorShape({2, 2, 2})) { return Pattern(shape, 2, 5, 2, 4); }
Tensor Params(int64_t count) { return Pattern(TensorShape({count}), 7, 11, 5, 8); }
Tensor I(int32_t value) { return AsScalar<int32_t>(value); }

// [a, b, c] as [b, a, c].
Tensor Swapped(const Tensor& in) {
  const int64_t a = in.dim_size(0), b = in.dim_size(1), c = in.dim_size(2);
  Tensor out(DT_DOUBLE, TensorShape({b, a, c}));
  for (int64_t i = 0; i < in.NumElements(); ++i) {
    out.data<double>()[(i / c % b * a + i / c / b) * c + i % c] = in.data<double>()[i];
  }
  return out;
}

class CudnnRnnTest : public OpTest {
 protected:
  static Attrs Mode(const std::string& mode, bool is_bidirectional) {
    return Attrs()
        .Set("rnn_mode", mode)
        .Set("direction", std::string(is_bidirectional ? "bidirectional" : "unidirectional"));
  }
  static void ExpectNear(const Tensor& actual, const std::vector<float>& expected, const std::string& what) {
    ASSERT_EQ(actual.NumElements(), static_cast<int64_t>(expected.size())) << what;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual.data<double>()[i], expected[i], 1e-6) << what << " " << i;
    }
  }
};

TEST_F(CudnnRnnTest, LstmInBothDirections) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("CudnnRNN", {X(), H(), C(), Params(96)}, Mode("lstm", true)));
  ExpectNear(out[0], {0.1286775f,  -0.06650907f, 0.02184081f, -0.5394594f,  -0.00792605f, -0.05936344f,
                      0.2097228f,  -0.2511875f,  -0.1836334f, -0.1051874f,  0.08307114f,  -0.3672555f,
                      -0.2143149f, 0.02593018f,  0.182318f,   -0.1522981f,  -0.2470175f,  -0.08360122f,
                      0.1275062f,  -0.3274995f,  0.05733255f, -0.06385413f, -0.04064853f, 0.004144132f},
             "output");
  ExpectNear(out[1],
             {-0.2470175f, -0.08360122f, 0.05733255f, -0.06385413f, 0.02184081f, -0.5394594f, 0.2097228f, -0.2511875f},
             "output_h");
  ExpectNear(out[2],
             {-0.4371133f, -0.1944545f, 0.1178257f, -0.1985094f, 0.02808088f, -1.249084f, 0.3363243f, -0.7116469f},
             "output_c");
}

TEST_F(CudnnRnnTest, GruOfTwoLayers) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("CudnnRNNV2", {X(), H(), C(), Params(72)}, Mode("gru", false)));
  ExpectNear(out[0],
             {0.1186902f, -0.5321819f, 0.1113894f, -0.3703288f, 0.1792901f, -0.5578865f, 0.03203951f, -0.4581284f,
              0.1795845f, -0.5809263f, 0.1156223f, -0.500615f},
             "output");
  ExpectNear(out[1], {-0.3753332f, 0.3154881f, -0.150244f, 0.3150046f, 0.1795845f, -0.5809263f, 0.1156223f, -0.500615f},
             "output_h");
  EXPECT_EQ(out[2].shape(), TensorShape());
  EXPECT_EQ(out[4].NumElements(), 0);
}

// Tanh of sums, and what is above zero.
TEST_F(CudnnRnnTest, OneGate) {
  const Tensor x = AsTensor<double>({0.5, -2}, TensorShape({2, 1, 1})), h = AsTensor<double>({0.25}, {1, 1, 1});
  const Tensor params = AsTensor<double>({2, 3, 0.5, -1});  // on the input, on the state, two biases
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> relu, RunOp("CudnnRNN", {x, h, h, params}, Mode("rnn_relu", false)));
  ExpectNear(relu[0], {1.25f, 0}, "relu");
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> tanh, RunOp("CudnnRNN", {x, h, h, params}, Mode("rnn_tanh", false)));
  ExpectNear(tanh[0], {0.8482836f, std::tanh(-4.5f + 3 * 0.8482836f)}, "tanh");
}

// Rows of other lengths give what they give alone; behind them is zero.
TEST_F(CudnnRnnTest, LengthsCount) {
  for (const char* mode : {"lstm", "gru", "rnn_tanh"}) {
    const Attrs attrs = Mode(mode, true);
    const int64_t gates = std::string(mode) == "lstm" ? 4 : std::string(mode) == "gru" ? 3 : 1;
    const Tensor params = Params(2 * gates * 2 * 6), x = X();
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                         RunOp("CudnnRNNV3", {x, H(), C(), params, AsTensor<int32_t>({3, 2})}, attrs));
    // The second row's first two steps.
    Tensor row(DT_DOUBLE, TensorShape({2, 1, 2})), h(DT_DOUBLE, TensorShape({2, 1, 2})),
        c(DT_DOUBLE, TensorShape({2, 1, 2}));
    for (int i = 0; i < 4; ++i) {
      const int from = i / 2 * 4 + 2 + i % 2;
      row.data<double>()[i] = x.data<double>()[from];
      h.data<double>()[i] = H().data<double>()[from];
      c.data<double>()[i] = C().data<double>()[from];
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> alone, RunOp("CudnnRNN", {row, h, c, params}, attrs));
    for (int t = 0; t < 3; ++t) {
      for (int j = 0; j < 4; ++j) {
        EXPECT_EQ(out[0].data<double>()[(t * 2 + 1) * 4 + j], t == 2 ? 0 : alone[0].data<double>()[t * 4 + j]) << mode;
      }
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(out[1].data<double>()[i / 2 * 4 + 2 + i % 2], alone[1].data<double>()[i]) << mode;
    }
  }
}

TEST_F(CudnnRnnTest, BatchesMayComeFirst) {
  const Tensor params = Params(96), lengths = AsTensor<int32_t>({1, 3});
  Attrs attrs = Mode("lstm", true);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, RunOp("CudnnRNNV3", {X(), H(), C(), params, lengths}, attrs));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> first,
      RunOp("CudnnRNNV3", {Swapped(X()), Swapped(H()), Swapped(C()), params, lengths}, attrs.Set("time_major", false)));
  for (int i = 0; i < 3; ++i) ExpectTensorEqual(Swapped(first[i]), out[i]);
  ExpectTensorEqual(first[3], out[3]);
}

// Against differences of the outputs' sum, weighted.
TEST_F(CudnnRnnTest, GradientsOfLengthsAndLayers) {
  for (const bool time_major : {true, false}) {
    for (const char* mode : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) {
      const bool has_cell = std::string(mode) == "lstm";
      Attrs attrs = Mode(mode, true);
      attrs.Set("time_major", time_major);
      const RnnSizes sizes = *RnnSizes::Of(*RnnModeNamed(mode), true, 2, 2, 2);
      const auto order = [time_major](const Tensor& tensor) { return time_major ? tensor : Swapped(tensor); };
      const TensorShape state({4, 2, 2});
      std::vector<Tensor> in = {order(X()), order(H(state)), order(C(state)), Params(sizes.NumParams())};
      const Tensor lengths = AsTensor<int32_t>({2, 3});
      const auto run = [&](const std::vector<Tensor>& inputs) {
        return RunOp("CudnnRNNV3", {inputs[0], inputs[1], inputs[2], inputs[3], lengths}, attrs);
      };
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, run(in));
      std::vector<Tensor> weights;
      for (int i = 0; i < 3; ++i) weights.push_back(Pattern(out[i].shape(), 5, 11, 4, 5));
      const auto loss = [&](const std::vector<Tensor>& inputs) {
        const auto outputs = run(inputs);
        double sum = 0;
        for (int i = 0; i < (has_cell ? 3 : 2); ++i) {
          for (int64_t k = 0; k < weights[i].NumElements(); ++k) {
            sum += (*outputs)[i].data<double>()[k] * weights[i].data<double>()[k];
          }
        }
        return sum;
      };
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> gradients,
                           RunOp("CudnnRNNBackpropV3",
                                 {in[0], in[1], in[2], in[3], lengths, out[0], out[1], out[2], weights[0], weights[1],
                                  weights[2], out[3], out[4]},
                                 attrs));
      for (int i = 0; i < 4; ++i) {
        if (i == 2 && !has_cell) continue;
        for (int64_t k = 0; k < in[i].NumElements(); ++k) {
          std::vector<Tensor> up = in, down = in;
          up[i] = Tensor(DT_DOUBLE, in[i].shape());
          down[i] = Tensor(DT_DOUBLE, in[i].shape());
          std::copy_n(in[i].data<double>(), in[i].NumElements(), up[i].data<double>());
          std::copy_n(in[i].data<double>(), in[i].NumElements(), down[i].data<double>());
          constexpr double kStep = 1e-6;
          up[i].data<double>()[k] += kStep;
          down[i].data<double>()[k] -= kStep;
          EXPECT_NEAR(gradients[i].data<double>()[k], (loss(up) - loss(down)) / (2 * kStep), 1e-6)
              << mode << " input " << i << " element " << k;
        }
      }
    }
  }
}

TEST_F(CudnnRnnTest, ParametersAreTakenApartAndPutTogether) {
  for (const char* mode : {"lstm", "gru", "rnn_relu"}) {
    for (const bool is_bidirectional : {false, true}) {
      const RnnSizes sizes = *RnnSizes::Of(*RnnModeNamed(mode), is_bidirectional, 2, 3, 5);
      const Attrs attrs = Mode(mode, is_bidirectional);
      Attrs typed = attrs;
      ASSERT_OK_AND_ASSIGN(const Tensor size, RunOp1("CudnnRNNParamsSize", {I(2), I(3), I(5)},
                                                     typed.Set("T", DT_DOUBLE).Set("S", DT_INT32)));
      ExpectTensorEqual(size, AsTensor<int32_t>({static_cast<int32_t>(sizes.NumParams())}));
      const int64_t count = sizes.parts() * sizes.MatricesPerPart();
      Attrs counted = attrs;
      counted.Set("num_params", count);
      const Tensor params = Params(sizes.NumParams());
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                           RunOp("CudnnRNNParamsToCanonical", {I(2), I(3), I(5), params}, counted));
      ASSERT_EQ(static_cast<int64_t>(out.size()), 2 * count);
      EXPECT_EQ(out[0].shape(), TensorShape({3, 5}));
      EXPECT_EQ(out[count - 1].shape(), TensorShape({3, 3}));
      EXPECT_EQ(out[count].shape(), TensorShape({3}));
      EXPECT_EQ(out[0].data<double>()[0], params.data<double>()[0]);
      EXPECT_EQ(out.back().data<double>()[2], params.data<double>()[sizes.NumParams() - 1]);
      std::vector<TestInput> inputs = {I(2), I(3), I(5)};
      for (const Tensor& tensor : out) inputs.emplace_back(tensor);
      ASSERT_OK_AND_ASSIGN(const Tensor again, RunOp1("CudnnRNNCanonicalToParams", inputs, counted));
      ExpectTensorEqual(again, params);
    }
  }
}

// Though the loops have neither.
TEST_F(CudnnRnnTest, ParametersOfProjectionsAndOfInputsThatAreSkipped) {
  const auto size = [this](Attrs attrs, int32_t layers, int32_t input) {
    return RunOp1("CudnnRNNParamsSize", {I(layers), I(3), I(input)}, attrs.Set("T", DT_FLOAT).Set("S", DT_INT32));
  };
  const auto projected = [](int64_t num_proj) { return Mode("lstm", true).Set("num_proj", num_proj); };
  // Of each part: 4 x 3 x 5 or 4 x 3 x 4 on the input, 4 x 3 x 2 on the state, 2 x 3 of the projection, 8 biases of 3.
  ASSERT_OK_AND_ASSIGN(const Tensor with_projection, size(projected(2), 2, 5));
  ExpectTensorEqual(with_projection, AsTensor<int32_t>({2 * (60 + 24 + 6) + 2 * (48 + 24 + 6) + 4 * 24}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, size(Mode("lstm", true), 2, 5));
  ASSERT_OK_AND_ASSIGN(const Tensor as_many, size(projected(3), 2, 5));
  ExpectTensorEqual(as_many, none);
  for (const char* mode : {"skip_input", "auto_select"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor skipped, size(Mode("gru", false).Set("input_mode", std::string(mode)), 1, 3));
    ExpectTensorEqual(skipped, AsTensor<int32_t>({3 * 3 * 3 + 6 * 3}));
  }
  EXPECT_THAT(size(Mode("gru", false).Set("input_mode", std::string("skip_input")), 1, 5),
              StatusIs(Code::kInvalidArgument, HasSubstr("skip_input needs an input of num_units, 3")));
  EXPECT_THAT(size(Mode("gru", false).Set("num_proj", int64_t{2}), 1, 5),
              StatusIs(Code::kInvalidArgument, HasSubstr("Only an lstm has projections")));
  for (const int64_t num_proj : {-1, 4}) {
    EXPECT_THAT(size(projected(num_proj), 1, 5),
                StatusIs(Code::kInvalidArgument, HasSubstr("num_proj must be from 1 to num_units")));
  }

  Attrs counted = projected(2);
  counted.Set("num_params_weights", int64_t{36}).Set("num_params_biases", int64_t{32});
  const Tensor params = Params(432);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("CudnnRNNParamsToCanonicalV2", {I(2), I(3), I(5), params}, counted));
  EXPECT_EQ(out[4].shape(), TensorShape({3, 2}));
  EXPECT_EQ(out[8].shape(), TensorShape({2, 3}));
  EXPECT_EQ(out[8].data<double>()[0], params.data<double>()[60 + 24]);
  EXPECT_EQ(out[18].shape(), TensorShape({3, 4}));
  EXPECT_EQ(out[18].data<double>()[0], params.data<double>()[180]);
  EXPECT_EQ(out[36].data<double>()[0], params.data<double>()[336]);
  std::vector<TestInput> inputs = {I(2), I(3), I(5)};
  for (const Tensor& tensor : out) inputs.emplace_back(tensor);
  ASSERT_OK_AND_ASSIGN(const Tensor again, RunOp1("CudnnRNNCanonicalToParamsV2", inputs, counted));
  ExpectTensorEqual(again, params);
}

TEST_F(CudnnRnnTest, NoRowsOfManySteps) {
  const Tensor x(DT_DOUBLE, TensorShape({0, int64_t{1} << 60, 1})), h(DT_DOUBLE, TensorShape({0, 1, 1}));
  const Tensor params = AsTensor<double>({2, 3, 0.5, -1}), lengths(DT_INT32, TensorShape({0}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, RunOp("CudnnRNNV3", {x, h, h, params, lengths},
                                                            Mode("rnn_tanh", false).Set("time_major", false)));
  EXPECT_EQ(out[0].shape(), x.shape());
}

TEST_F(CudnnRnnTest, RefusesWhatDoesNotFit) {
  const Attrs lstm = Mode("lstm", false);
  const auto expect = [this](const std::vector<TestInput>& inputs, const Attrs& attrs, Code code, const char* text) {
    EXPECT_THAT(RunOp("CudnnRNN", inputs, attrs), StatusIs(code, HasSubstr(text)));
  };
  expect({X(TensorShape({3, 2})), H(), C(), Params(96)}, lstm, Code::kInvalidArgument, "3-D");
  expect({X(), H(), C(), Params(95)}, lstm, Code::kInvalidArgument, "params should hold 96");
  expect({X(), H(), C(TensorShape({2, 2, 3})), Params(96)}, lstm, Code::kInvalidArgument, "the same shape");
  expect({X(), H(TensorShape({2, 3, 2})), C(), Params(96)}, lstm, Code::kInvalidArgument, "Invalid input_h shape");
  expect({X(), H(TensorShape({3, 2, 2})), C(), Params(96)}, Mode("lstm", true), Code::kInvalidArgument,
         "both directions");
  Attrs dropout = lstm, skip = lstm;
  expect({X(), H(), C(), Params(96)}, dropout.Set("dropout", 0.5f), Code::kUnimplemented, "Dropout");
  expect({X(), H(), C(), Params(96)}, skip.Set("input_mode", std::string("skip_input")), Code::kUnimplemented,
         "CudnnRNN of double on a CPU has no input_mode=skip_input");
  for (const float ratio : {-0.5f, 1.5f, NAN}) {
    Attrs strange = lstm;
    expect({X(), H(), C(), Params(96)}, strange.Set("dropout", ratio), Code::kInvalidArgument, "dropout must be");
  }
  for (const auto& lengths : {std::vector<int32_t>{4, 1}, {-1, 1}, {1}}) {
    EXPECT_THAT(RunOp("CudnnRNNV3", {X(), H(), C(), Params(96), AsTensor<int32_t>(lengths)}, lstm),
                StatusIs(Code::kInvalidArgument, HasSubstr("sequence_lengths")));
  }
  Attrs typed = lstm;
  typed.Set("T", DT_FLOAT).Set("S", DT_INT32);
  EXPECT_THAT(RunOp("CudnnRNNParamsSize", {I(0), I(3), I(5)}, typed), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp("CudnnRNNParamsSize", {I(1 << 20), I(1 << 20), I(5)}, typed), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp("CudnnRNNParamsSize", {I(1), I(1 << 16), I(5)}, typed),
              StatusIs(Code::kInvalidArgument, HasSubstr("int32")));
}

}  // namespace
}  // namespace weir
