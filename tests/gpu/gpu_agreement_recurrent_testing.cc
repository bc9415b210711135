// Recurrent networks with their parameters in one buffer.
#include "graph/graph.h"
#include "kernels/recurrent/args_rnn.h"
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
namespace {

struct Network {
  const char* mode;
  bool is_bidirectional, is_time_major;
};
constexpr Network kNetworks[] = {{"lstm", true, true}, {"lstm", false, false},   {"gru", true, false},
                                 {"gru", false, true}, {"rnn_tanh", true, true}, {"rnn_relu", false, true}};

tensorflow::NodeDef AttrsOf(const Network& network) {
  tensorflow::NodeDef node;
  SetNodeAttr("rnn_mode", std::string(network.mode), &node);
  SetNodeAttr("direction", std::string(network.is_bidirectional ? "bidirectional" : "unidirectional"), &node);
  return node;
}

}  // namespace

void GpuAgreementTest::AddRnns(DataType type) {
  for (const Network& network : kNetworks) {
    // Numbers of these sizes leave 16 bits soon.
    if (std::string(network.mode) == "rnn_relu" && DataTypeSize(type) == 2) continue;
    const RnnSizes sizes = *RnnSizes::Of(*RnnModeNamed(network.mode), network.is_bidirectional, 2, 3, 2);
    const auto in_order = [&network](int64_t first, int64_t second, int64_t width) {
      return network.is_time_major ? TensorShape({first, second, width}) : TensorShape({second, first, width});
    };
    const TensorShape state = in_order(sizes.parts(), 3, 3);
    const Tensor lengths = AsTensor<int32_t>({4, 0, 2});
    const std::vector<Tensor> inputs = {Of(type, in_order(4, 3, 2)), Of(type, state), Of(type, state),
                                        Of(type, TensorShape({sizes.NumParams()}))};
    for (const int version : {1, 2, 3}) {
      if (version < 3 && !network.is_time_major) continue;
      const std::string name = version == 1 ? "" : absl::StrCat("V", version);
      const auto attrs = version < 3 ? AttrsOf(network) : Attr("time_major", network.is_time_major, AttrsOf(network));
      std::vector<Tensor> all = inputs;
      if (version == 3) all.push_back(lengths);
      Add("CudnnRNN" + name, all, attrs);
      Add("CudnnRNN" + name, all, Attr("is_training", false, attrs));
      // What arrives at the outputs is the outputs again.
      AddProgram("CudnnRNN" + name, all, [&](const Scope& scope, const OutputList& in) {
        const Operation forward = Node(scope, "CudnnRNN" + name, {in.begin(), in.end()}, attrs);
        std::vector<Input> arguments(in.begin(), in.end());
        for (int twice = 0; twice < 2; ++twice) {
          for (int i = 0; i < 3; ++i) arguments.push_back(Output(forward, i));
        }
        for (int i = 3; i < forward.node()->num_outputs(); ++i) arguments.push_back(Output(forward, i));
        auto backward = attrs;
        backward.mutable_attr()->erase("is_training");
        OutputList results;
        for (int twice = 0; twice < 2; ++twice) {  // what the forward op has kept serves both
          const Operation gradient = Node(scope, "CudnnRNNBackprop" + name, arguments, backward);
          for (int i = 0; i < 4; ++i) results.emplace_back(gradient, i);
        }
        return results;
      });
    }
  }
}

void GpuAgreementTest::AddRnnParameters(DataType type) {
  const std::vector<Tensor> three = {AsScalar<int32_t>(2), AsScalar<int32_t>(3), AsScalar<int32_t>(5)};
  Add("CudnnRNNParamsSize", three, Attr("T", type, Attr("S", DT_INT32)));
  // A projection; an input that is skipped.
  Add("CudnnRNNParamsSize", three, Attr("num_proj", int64_t{2}, Attr("T", type, Attr("S", DT_INT64))));
  for (const int64_t num_proj : {0, 2}) {
    RnnSizes sizes = *RnnSizes::Of(RnnMode::kLstm, true, 2, 3, 5);
    if (num_proj > 0) sizes = *sizes.WithProjection(num_proj);
    const int64_t weights = sizes.parts() * sizes.MatricesPerPart(), biases = sizes.parts() * sizes.BiasesPerPart();
    Arguments lists = {{three[0]}, {three[1]}, {three[2]}, {}, {}};
    for (int64_t i = 0; i < weights; ++i) {
      const int64_t part = i / sizes.MatricesPerPart(), matrix = i % sizes.MatricesPerPart();
      lists[3].push_back(Of(type, TensorShape({sizes.MatrixRows(matrix), sizes.MatrixColumns(part, matrix)})));
    }
    for (int64_t i = 0; i < biases; ++i) lists[4].push_back(Of(type, TensorShape({3})));
    std::vector<Tensor> whole = three;
    whole.push_back(Of(type, TensorShape({sizes.NumParams()})));
    const auto attrs = Attr("direction", std::string("bidirectional"));
    if (num_proj == 0) {
      Add("CudnnRNNParamsToCanonical", whole, Attr("num_params", weights, attrs));
      AddLists("CudnnRNNCanonicalToParams", lists, Attr("num_params", weights, attrs));
    }
    const auto both =
        Attr("num_params_weights", weights, Attr("num_params_biases", biases, Attr("num_proj", num_proj, attrs)));
    Add("CudnnRNNParamsToCanonicalV2", whole, both);
    AddLists("CudnnRNNCanonicalToParamsV2", lists, both);
  }
}

}  // namespace weir
