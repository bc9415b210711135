#include "graph/placement/node_work.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

// Of a variable-sized element, such as a string.
constexpr int64_t kUnknownElementBytes = 16;
// For each element of an optimizer's update.
constexpr double kUpdateFlops = 10;

// Nodes that hand on an input, a variable or a constant without copying it.
bool SharesItsOutputs(const Node& node) {
  static const auto* const ops =
      new absl::flat_hash_set<absl::string_view>{"Identity",       "IdentityN",   "Reshape",
                                                 "ExpandDims",     "Squeeze",     "StopGradient",
                                                 "Const",          "VarHandleOp", "PreventGradient",
                                                 "VariableV2",     "Variable",    "PlaceholderWithDefault",
                                                 "Placeholder",    "RefIdentity", "ReadVariableOp",
                                                 "Bitcast",        "EnsureShape", "_VarHandlesOp",
                                                 "_Arg",           "_Retval",     "NoOp",
                                                 "ControlTrigger", "_Recv",       "_Send",
                                                 "_HostRecv",      "_HostSend",   "GuaranteeConst",
                                                 "Snapshot"};
  return node.IsControlFlow() || ops->contains(node.op());
}

// Nodes that read an input's shape or type only.
bool ReadsShapesOnly(const Node& node) {
  static const auto* const ops = new absl::flat_hash_set<absl::string_view>{
      "Shape", "ShapeN", "Rank", "Size", "ZerosLike", "OnesLike", "VariableShape", "BroadcastGradientArgs"};
  return ops->contains(node.op());
}

// Operations for each element of the largest input or output.
double FlopsOfAnElement(const Node& node) {
  static const auto* const flops =
      new absl::flat_hash_map<absl::string_view, double>{{"Exp", 8},
                                                         {"Log", 8},
                                                         {"Tanh", 10},
                                                         {"Sigmoid", 10},
                                                         {"Erf", 12},
                                                         {"Pow", 16},
                                                         {"Sqrt", 2},
                                                         {"Rsqrt", 2},
                                                         {"Softmax", 12},
                                                         {"LogSoftmax", 12},
                                                         {"Softplus", 16},
                                                         {"Elu", 8},
                                                         {"Selu", 8},
                                                         {"TanhGrad", 3},
                                                         {"SigmoidGrad", 3},
                                                         {"Sin", 12},
                                                         {"Cos", 12},
                                                         {"RandomUniform", 8},
                                                         {"RandomStandardNormal", 24},
                                                         {"TruncatedNormal", 30},
                                                         {"SoftmaxCrossEntropyWithLogits", 16},
                                                         {"SparseSoftmaxCrossEntropyWithLogits", 16},
                                                         {"FusedBatchNorm", 8},
                                                         {"FusedBatchNormV2", 8},
                                                         {"FusedBatchNormV3", 8},
                                                         {"FusedBatchNormGrad", 12},
                                                         {"FusedBatchNormGradV2", 12},
                                                         {"FusedBatchNormGradV3", 12}};
  const auto found = flops->find(node.op());
  return found != flops->end() ? found->second : 1;
}

class Work {
 public:
  Work(const Node& node, const ShapeRefiner& shapes, int64_t unknown)
      : node_(node), shapes_(shapes), unknown_(unknown) {}

  NodeWork Run() {
    NodeWork work;
    double moved = 0;
    for (int i = 0; i < node_.num_outputs(); ++i) {
      work.outputs.push_back(Bytes(node_.output_type(i), shapes_.shape(node_, i)));
      moved += static_cast<double>(work.outputs.back());
    }
    work.state = State(work);
    work.outputs_are_shared = SharesItsOutputs(node_);
    if (work.outputs_are_shared) return work;
    if (ReadsShapesOnly(node_)) {
      work.bytes = moved;
      return work;
    }
    work.bytes = moved + BytesOfInputs();
    work.flops = Flops();
    return work;
  }

 private:
  int64_t Dimension(const PartialTensorShape& shape, int i) const {
    if (shape.unknown_rank() || i < 0 || i >= shape.dims()) return 1;
    return shape.dim_size(i) >= 0 ? shape.dim_size(i) : unknown_;
  }
  double Elements(const PartialTensorShape& shape) const {
    double elements = 1;
    for (int i = 0; i < shape.dims(); ++i) elements *= static_cast<double>(Dimension(shape, i));
    return elements;
  }
  int64_t Bytes(DataType dtype, const PartialTensorShape& shape) const {
    const DataType value = RemoveRef(dtype);
    if (value == DT_RESOURCE || value == DT_INVALID) return kUnknownElementBytes;
    const size_t size = DataTypeSize(value);
    const double bytes = Elements(shape) * static_cast<double>(size > 0 ? size : kUnknownElementBytes);
    return static_cast<int64_t>(std::min(bytes, 1e18));
  }
  const PartialTensorShape& Input(int i) const {
    static const auto* const unknown = new PartialTensorShape();
    const Edge* const edge = i < node_.num_inputs() ? node_.input_edge(i) : nullptr;
    return edge != nullptr ? shapes_.shape(*edge->src, edge->src_output) : *unknown;
  }
  PartialTensorShape Output(int i) const {
    return i < node_.num_outputs() ? shapes_.shape(node_, i) : PartialTensorShape();
  }
  double InputElements(int i) const { return Elements(Input(i)); }
  bool Flag(const char* attr) const {
    bool value = false;
    return GetNodeAttr(node_.def(), attr, &value).ok() && value;
  }

  int64_t State(const NodeWork& work) const {
    if (node_.IsConstant()) return work.outputs.empty() ? 0 : work.outputs[0];
    if (node_.op() != "VarHandleOp" && node_.op() != "VariableV2" && node_.op() != "Variable") return 0;
    DataType dtype = DT_INVALID;
    PartialTensorShape shape;
    if (!GetNodeAttr(node_.def(), "dtype", &dtype).ok() || !GetNodeAttr(node_.def(), "shape", &shape).ok()) return 0;
    return shape.unknown_rank() ? 0 : Bytes(dtype, shape);
  }

  // The elements of the variable that input `i` refers to; 0: unknown.
  double VariableElements(int i) const {
    const Edge* const edge = node_.input_edge(i);
    if (edge == nullptr) return 0;
    const InferenceContext::HandleData& handle = shapes_.handle(*edge->src, edge->src_output);
    return handle.empty() || handle[0].shape.unknown_rank() ? 0 : Elements(handle[0].shape);
  }

  // Lookups and sparse updates touch the rows of their indices alone.
  bool TouchesRows() const {
    return absl::StrContains(node_.op(), "Gather") || absl::StrContains(node_.op(), "Scatter") ||
           absl::StrContains(node_.op(), "SparseApply");
  }

  double BytesOfInputs() const {
    double bytes = 0, largest = 0;
    for (int i = 0; i < node_.num_inputs(); ++i) {
      const DataType type = RemoveRef(node_.input_type(i));
      if (type == DT_RESOURCE) {
        // Read and written.
        if (!TouchesRows() && node_.num_outputs() == 0) bytes += 2 * 4 * VariableElements(i);
        continue;
      }
      const double of_input = static_cast<double>(Bytes(type, Input(i)));
      bytes += of_input;
      largest = std::max(largest, of_input);
    }
    if (!TouchesRows()) return bytes;
    // Rows are read as often as they are written to the output, and updated rows are read and written; a table that is
    // an input is not read as a whole.
    const bool is_lookup = absl::StrContains(node_.op(), "Gather");
    return is_lookup ? (node_.op() == "ResourceGather" ? bytes : bytes - largest) +
                           static_cast<double>(Bytes(DT_FLOAT, Output(0)))
                     : 3 * bytes;
  }

  double Flops() const {
    using Formula = double (Work::*)() const;
    static const auto* const formulas = new absl::flat_hash_map<absl::string_view, Formula>{
        {"MatMul", &Work::MatMul},
        {"_FusedMatMul", &Work::MatMul},
        {"SparseMatMul", &Work::MatMul},
        {"BatchMatMul", &Work::BatchMatMul},
        {"BatchMatMulV2", &Work::BatchMatMul},
        {"BatchMatMulV3", &Work::BatchMatMul},
        {"Einsum", &Work::Einsum},
        {"Conv2D", &Work::Convolution},
        {"_FusedConv2D", &Work::Convolution},
        {"Conv3D", &Work::Convolution},
        {"Conv2DBackpropInput", &Work::ConvolutionInput},
        {"Conv3DBackpropInputV2", &Work::ConvolutionInput},
        {"Conv2DBackpropFilter", &Work::ConvolutionFilter},
        {"Conv3DBackpropFilterV2", &Work::ConvolutionFilter},
        {"DepthwiseConv2dNative", &Work::Depthwise},
        {"DepthwiseConv2dNativeBackpropInput", &Work::DepthwiseInput},
        {"DepthwiseConv2dNativeBackpropFilter", &Work::DepthwiseFilter},
        {"MaxPool", &Work::Pool},
        {"AvgPool", &Work::Pool},
        {"BlockLSTM", &Work::BlockLstm},
        {"BlockLSTMV2", &Work::BlockLstm},
        {"BlockLSTMGrad", &Work::BlockLstmGradient},
        {"BlockLSTMGradV2", &Work::BlockLstmGradient},
        {"CudnnRNNV3", &Work::CudnnRnn},
        {"CudnnRNNBackpropV3", &Work::CudnnRnnGradient}};
    if (const auto found = formulas->find(node_.op()); found != formulas->end()) return (this->*found->second)();
    double elements = 1;
    for (int i = 0; i < node_.num_outputs(); ++i) elements = std::max(elements, Elements(Output(i)));
    for (int i = 0; i < node_.num_inputs(); ++i) {
      if (RemoveRef(node_.input_type(i)) == DT_RESOURCE) {
        if (!TouchesRows() && node_.num_outputs() == 0) elements = std::max(elements, VariableElements(i));
      } else if (!TouchesRows()) {
        elements = std::max(elements, InputElements(i));
      }
    }
    const bool is_update = absl::StrContains(node_.op(), "Apply");
    return elements * (is_update ? kUpdateFlops : FlopsOfAnElement(node_));
  }

  double MatMul() const {
    return 2 * Elements(Output(0)) * static_cast<double>(Dimension(Input(0), Flag("transpose_a") ? 0 : 1));
  }
  double BatchMatMul() const {
    const PartialTensorShape& left = Input(0);
    return 2 * Elements(Output(0)) * static_cast<double>(Dimension(left, left.dims() - (Flag("adj_x") ? 2 : 1)));
  }
  // Each combination of the indices is a product and a sum.
  double Einsum() const {
    std::string equation;
    if (!GetNodeAttr(node_.def(), "equation", &equation).ok()) return Elements(Output(0));
    const std::pair<std::string, std::string> sides = absl::StrSplit(equation, absl::MaxSplits("->", 1));
    const std::vector<std::string> operands = absl::StrSplit(sides.first, ',');
    std::array<double, 256> sizes;
    sizes.fill(1);
    for (int i = 0; i < std::min<int>(static_cast<int>(operands.size()), node_.num_inputs()); ++i) {
      if (Input(i).dims() != static_cast<int>(operands[i].size())) continue;  // an ellipsis
      for (int j = 0; j < Input(i).dims(); ++j) {
        sizes[static_cast<unsigned char>(operands[i][j])] = static_cast<double>(Dimension(Input(i), j));
      }
    }
    double product = 2;
    for (const double size : sizes) product *= size;
    return product;
  }
  double PerOutput(const PartialTensorShape& filter) const {
    return 2 * Elements(filter) / static_cast<double>(std::max<int64_t>(1, Dimension(filter, filter.dims() - 1)));
  }
  double Convolution() const { return Elements(Output(0)) * PerOutput(Input(1)); }
  double ConvolutionInput() const { return InputElements(2) * PerOutput(Input(1)); }
  double ConvolutionFilter() const { return InputElements(2) * PerOutput(Output(0)); }
  double PerChannel(const PartialTensorShape& filter) const {
    return 2 * static_cast<double>(Dimension(filter, 0)) * static_cast<double>(Dimension(filter, 1));
  }
  double Depthwise() const { return Elements(Output(0)) * PerChannel(Input(1)); }
  double DepthwiseInput() const { return InputElements(2) * PerChannel(Input(1)); }
  double DepthwiseFilter() const { return InputElements(2) * PerChannel(Output(0)); }
  double Pool() const {
    std::vector<int64_t> window;
    double product = Elements(Output(0));
    if (GetNodeAttr(node_.def(), "ksize", &window).ok()) {
      for (const int64_t size : window) product *= static_cast<double>(std::max<int64_t>(1, size));
    }
    return product;
  }
  // Each row of each step is multiplied by all weights.
  double Recurrent(int x, int weights) const {
    return 2 * static_cast<double>(Dimension(Input(x), 0)) * static_cast<double>(Dimension(Input(x), 1)) *
           InputElements(weights);
  }
  double BlockLstm() const { return Recurrent(1, 4); }
  double BlockLstmGradient() const { return 2 * Recurrent(1, 4); }
  double CudnnRnn() const { return Recurrent(0, 3); }
  double CudnnRnnGradient() const { return 2 * Recurrent(0, 3); }

  const Node& node_;
  const ShapeRefiner& shapes_;
  const int64_t unknown_;
};

}  // namespace

NodeWork WorkOf(const Node& node, const ShapeRefiner& shapes, int64_t unknown_dimension) {
  return Work(node, shapes, unknown_dimension).Run();
}

}  // namespace weir
