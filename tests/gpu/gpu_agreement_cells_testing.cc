// Recurrent cells and their gradients.
#include <array>

#include "core/tensor/numeric_types.h"
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

// Around zero: gates that are all open tell little.
Tensor GpuAgreementTest::Centred(DataType type, const TensorShape& shape) {
  Tensor tensor = Of(type, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    if (type == DT_HALF) tensor.data<half>()[i] -= half(1.0f);
    if (type == DT_FLOAT) tensor.data<float>()[i] -= 1;
  }
  return tensor;
}

void GpuAgreementTest::AddLstms(DataType type) {
  const auto of = [&](const TensorShape& shape) { return Centred(type, shape); };
  for (const bool peephole : {false, true}) {
    for (const auto& [batch, input, cell] : {std::array<int64_t, 3>{3, 5, 4}, {2, 0, 3}, {0, 2, 3}, {2, 3, 0}}) {
      const TensorShape state({batch, cell}), vector({cell});
      const std::vector<Tensor> weights = {of(state),
                                           of(state),
                                           of(TensorShape({input + cell, 4 * cell})),
                                           of(vector),
                                           of(vector),
                                           of(vector),
                                           of(TensorShape({4 * cell}))};
      const auto clipped = Attr("cell_clip", peephole ? 0.75f : 0.0f, Attr("use_peephole", peephole));
      std::vector<Tensor> inputs = {of(TensorShape({batch, input}))};
      inputs.insert(inputs.end(), weights.begin(), weights.end());
      if (batch * cell > 0) Add("LSTMBlockCell", inputs, Attr("forget_bias", 0.5f, clipped));
      for (int i = 0; i < 8; ++i) inputs.push_back(of(state));
      Add("LSTMBlockCellGrad", inputs, Attr("use_peephole", peephole));
      for (const auto& [time, length] : {std::pair<int64_t, int64_t>{4, 4}, {4, 2}, {3, 1}, {2, 0}, {0, 0}}) {
        const TensorShape states({time, batch, cell});
        std::vector<Tensor> block = {AsScalar<int64_t>(length), of(TensorShape({time, batch, input}))};
        block.insert(block.end(), weights.begin(), weights.end());
        Add("BlockLSTM", block, Attr("forget_bias", 0.5f, clipped));
        Add("BlockLSTMV2", block, clipped);
        for (int i = 0; i < 9; ++i) block.push_back(of(states));
        Add("BlockLSTMGrad", block, Attr("use_peephole", peephole));
        Add("BlockLSTMGradV2", block, Attr("use_peephole", peephole));
      }
    }
  }
}

void GpuAgreementTest::AddGrus() {
  const auto of = [&](const TensorShape& shape) { return Centred(DT_FLOAT, shape); };
  for (const auto& [batch, input, cell] : {std::array<int64_t, 3>{3, 5, 4}, {2, 0, 3}, {0, 2, 3}, {2, 3, 0}}) {
    const TensorShape state({batch, cell});
    std::vector<Tensor> inputs = {of(TensorShape({batch, input})),
                                  of(state),
                                  of(TensorShape({input + cell, 2 * cell})),
                                  of(TensorShape({input + cell, cell})),
                                  of(TensorShape({2 * cell})),
                                  of(TensorShape({cell}))};
    Add("GRUBlockCell", inputs);
    for (int i = 0; i < 4; ++i) inputs.push_back(of(state));
    Add("GRUBlockCellGrad", inputs);
  }
}

}  // namespace weir
