#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> RecurrentGradientCases() {
  // Of their outputs, the states of the cells and what they put out have gradients.
  const OpArgument length = C(Tensor::Scalar<int64_t>(3)), x = X({3, 2, 2}, -0.9, 0.9), state = X({2, 2}, -0.9, 0.9);
  const OpArgument weights = X({4, 8}, -0.5, 0.5), peephole = X({2}, -0.5, 0.5), bias = X({8}, -0.5, 0.5);
  std::vector<OpCase> cases;
  for (const bool peepholes : {true, false}) {
    const OpArgument peeps = peepholes ? peephole : C(Tensor(DT_FLOAT, TensorShape({2})));
    for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) {
      Attrs attrs;
      attrs.Set("use_peephole", peepholes).Set("cell_clip", -1.0f);
      cases.push_back(
          Single(Outputs({1, 6}, {op, {length, x, state, state, weights, peeps, peeps, peeps, bias}, attrs})));
    }
  }
  for (const char* mode : {"lstm", "gru", "rnn_tanh"}) {
    const bool is_lstm = std::string(mode) == "lstm";
    const int64_t gates = is_lstm ? 4 : std::string(mode) == "gru" ? 3 : 1;
    Attrs attrs;
    attrs.Set("rnn_mode", std::string(mode)).Set("direction", std::string("bidirectional"));
    const std::vector<int> outputs = is_lstm ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1};
    const OpArgument h = X({2, 2, 3}, -0.9, 0.9);
    const OpArgument c = is_lstm ? h : C(Tensor(DT_DOUBLE, TensorShape({2, 2, 3})));
    const OpArgument params = X({2 * gates * 3 * (2 + 3 + 2)}, -0.5, 0.5);
    cases.push_back(Outputs(outputs, {"CudnnRNN", {x, h, c, params}, attrs}));
    cases.push_back(Outputs(outputs, {"CudnnRNNV2", {x, h, c, params}, attrs}));
    cases.push_back(Outputs(outputs, {"CudnnRNNV3", {x, h, c, params, C(Tensor::Vector<int32_t>({3, 2}))}, attrs}));
  }
  return cases;
}

namespace {

TEST(RecurrentGradients, AgreeWithNumericOnes) { CheckCases(RecurrentGradientCases()); }

}  // namespace
}  // namespace weir
