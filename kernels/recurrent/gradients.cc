#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/recurrent/family.h"

namespace weir {
namespace {

using G = GradientContext;

// The gradient op takes the gradients of cs and h, the second and the last of seven outputs, for all steps.
template <const char* kGrad>
absl::Status BlockLstm(G& g) {
  std::vector<Input> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 7; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.dy(1));
  inputs.push_back(g.dy(6));
  const Output dx = g.Call(kGrad, inputs, CopiedAttrs(g, {"use_peephole"}));
  for (int i = 0; i < 8; ++i) g.set_grad(i + 1, Output(dx.op(), i));
  return absl::OkStatus();
}
// The gradient op takes the inputs, outputs and output gradients, and the reserve that the forward op kept: one output
// in version 1; two from version 2 on, the second in host memory.
template <int kVersion>
absl::Status CudnnRnn(G& g) {
  if (!g.Attr<bool>("is_training")) {
    return errors::InvalidArgument("To use ", g.op().op(), " in gradients, is_training must be set to True.");
  }
  std::vector<Input> inputs;
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.output(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.dy(i));
  for (int i = 3; i < (kVersion == 1 ? 4 : 5); ++i) inputs.push_back(g.output(i));
  const auto attrs =
      CopiedAttrs(g, {"rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2", "num_proj", "time_major"});
  const char* const op = kVersion == 1   ? "CudnnRNNBackprop"
                         : kVersion == 2 ? "CudnnRNNBackpropV2"
                                         : "CudnnRNNBackpropV3";
  const Output dx = g.Call(op, inputs, attrs);
  for (int i = 0; i < 4; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}

constexpr char kBlock[] = "BlockLSTMGrad", kBlockV2[] = "BlockLSTMGradV2";

}  // namespace

absl::Status RegisterRecurrentGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"BlockLSTM", BlockLstm<kBlock>}, {"BlockLSTMV2", BlockLstm<kBlockV2>}, {"CudnnRNN", CudnnRnn<1>},
      {"CudnnRNNV2", CudnnRnn<2>},      {"CudnnRNNV3", CudnnRnn<3>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
