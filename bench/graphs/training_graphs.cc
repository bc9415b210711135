#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/graphs/graph_writer.h"
#include "bench/graphs/graphs.h"

namespace weir::bench {
namespace {

enum class Optimizer { kSgd, kAdam };

// Layers are added first to last, then Train() adds loss, gradients and updates.
class TrainingGraph {
 public:
  TrainingGraph(int batch, Optimizer optimizer) : batch_(batch), optimizer_(optimizer) {}

  void Input(const std::vector<int64_t>& dims) { top_ = graph_.Placeholder("images", DT_FLOAT, dims); }
  void Dense(int inputs, int outputs, bool relu);
  void Conv(int inputs, int outputs);  // 3x3, same padding, relu, then 2x2 max-pooling
  void Flatten(const std::vector<int64_t>& from, int features);
  absl::Status Train(const std::string& path);

 private:
  // A layer's backward pass. `gradient` maps the gradient of its output to that of its input.
  struct Layer {
    enum Kind { kDense, kConv, kFlatten } kind;
    std::string name, input, weights, activation, output;
    std::vector<int64_t> weight_dims;
    bool relu = false;
  };

  std::string RandomVariable(const std::string& name, const std::vector<int64_t>& dims, int64_t fan_in);
  std::string Zeros(const std::string& name, const std::vector<int64_t>& dims);
  std::string Scalar(const std::string& name, float value) { return graph_.Const(name, Tensor::Scalar<float>(value)); }
  GraphWriter::NodeRef ConvNode(const std::string& op, const std::string& name, const GraphWriter::Names& inputs);
  GraphWriter::NodeRef PoolNode(const std::string& op, const std::string& name, const GraphWriter::Names& inputs);
  std::string Backward(const Layer& layer, const std::string& gradient, bool need_input_gradient);
  void Update(const std::string& variable, const std::vector<int64_t>& dims, const std::string& gradient);

  GraphWriter graph_;
  const int batch_;
  const Optimizer optimizer_;
  std::string top_;
  std::vector<Layer> layers_;
  GraphWriter::Names updates_;
};

std::string TrainingGraph::RandomVariable(const std::string& name, const std::vector<int64_t>& dims, int64_t fan_in) {
  Tensor value(DT_FLOAT, TensorShape(dims));
  const std::vector<float> random = StepSpec::Feed{name, "float", dims}.Floats();
  const float scale = std::sqrt(24.0f / static_cast<float>(fan_in));
  float* out = value.data<float>();
  for (size_t i = 0; i < random.size(); ++i) out[i] = (random[i] - 0.5f) * scale;
  return graph_.Variable(name, dims, graph_.Const(name + "/value", value));
}

std::string TrainingGraph::Zeros(const std::string& name, const std::vector<int64_t>& dims) {
  Tensor value(DT_FLOAT, TensorShape(dims));
  std::fill_n(value.data<float>(), value.NumElements(), 0.0f);
  return graph_.Variable(name, dims, graph_.Const(name + "/value", value));
}

void TrainingGraph::Dense(int inputs, int outputs, bool relu) {
  Layer layer{.kind = Layer::kDense, .name = absl::StrCat("dense", layers_.size()), .input = top_, .relu = relu};
  const std::string& name = layer.name;
  layer.weight_dims = {inputs, outputs};
  layer.weights = graph_.Read(name + "/w/read", RandomVariable(name + "/w", layer.weight_dims, inputs));
  const std::string bias = graph_.Read(name + "/b/read", Zeros(name + "/b", {outputs}));
  top_ = graph_.Float("MatMul", name + "/matmul", {top_, layer.weights});
  top_ = graph_.Float("BiasAdd", name + "/bias", {top_, bias});
  if (relu) top_ = graph_.Float("Relu", name + "/relu", {top_});
  layer.activation = layer.output = top_;
  layers_.push_back(std::move(layer));
}

GraphWriter::NodeRef TrainingGraph::ConvNode(const std::string& op, const std::string& name,
                                             const GraphWriter::Names& inputs) {
  auto node = graph_.Add(op, name, inputs);
  node.Attr("T", DT_FLOAT).Attr("strides", std::vector<int64_t>{1, 1, 1, 1}).Attr("padding", "SAME");
  return node;
}

GraphWriter::NodeRef TrainingGraph::PoolNode(const std::string& op, const std::string& name,
                                             const GraphWriter::Names& inputs) {
  auto node = graph_.Add(op, name, inputs);
  const std::vector<int64_t> window = {1, 2, 2, 1};
  node.Attr("T", DT_FLOAT).Attr("ksize", window).Attr("strides", window).Attr("padding", "VALID");
  return node;
}

void TrainingGraph::Conv(int inputs, int outputs) {
  Layer layer{.kind = Layer::kConv, .name = absl::StrCat("conv", layers_.size()), .input = top_};
  const std::string& name = layer.name;
  layer.weight_dims = {3, 3, inputs, outputs};
  layer.weights = graph_.Read(name + "/w/read", RandomVariable(name + "/w", layer.weight_dims, 9 * inputs));
  const std::string bias = graph_.Read(name + "/b/read", Zeros(name + "/b", {outputs}));
  top_ = ConvNode("Conv2D", name + "/conv", {top_, layer.weights});
  top_ = graph_.Float("BiasAdd", name + "/bias", {top_, bias});
  layer.activation = graph_.Float("Relu", name + "/relu", {top_});
  layer.output = top_ = PoolNode("MaxPool", name + "/pool", {layer.activation});
  layers_.push_back(std::move(layer));
}

void TrainingGraph::Flatten(const std::vector<int64_t>& from, int features) {
  Layer layer{.kind = Layer::kFlatten, .name = "flatten", .input = top_};
  Tensor shape(DT_INT32, {2}), back(DT_INT32, {static_cast<int64_t>(from.size())});
  shape.data<int32_t>()[0] = batch_;
  shape.data<int32_t>()[1] = features;
  for (size_t i = 0; i < from.size(); ++i) back.data<int32_t>()[i] = static_cast<int32_t>(from[i]);
  layer.weights = graph_.Const("flatten/from", back);
  top_ = layer.output = graph_.Float("Reshape", "flatten/reshape", {top_, graph_.Const("flatten/to", shape)});
  layers_.push_back(std::move(layer));
}

std::string TrainingGraph::Backward(const Layer& layer, const std::string& gradient, bool need_input_gradient) {
  const std::string name = "gradients/" + layer.name;
  if (layer.kind == Layer::kFlatten) return graph_.Float("Reshape", name + "/reshape", {gradient, layer.weights});
  std::string g = gradient;
  if (layer.kind == Layer::kConv) g = PoolNode("MaxPoolGrad", name + "/pool", {layer.activation, layer.output, g});
  if (layer.kind == Layer::kConv || layer.relu) g = graph_.Float("ReluGrad", name + "/relu", {g, layer.activation});
  const std::string bias = graph_.Float("BiasAddGrad", name + "/bias", {g});
  std::string weights, input;
  if (layer.kind == Layer::kConv) {
    Tensor filter(DT_INT32, {4});
    for (int i = 0; i < 4; ++i) filter.data<int32_t>()[i] = static_cast<int32_t>(layer.weight_dims[i]);
    const std::string filter_shape = graph_.Const(name + "/filter_shape", filter);
    weights = ConvNode("Conv2DBackpropFilter", name + "/filter", {layer.input, filter_shape, g});
    if (need_input_gradient) {
      const std::string shape = graph_.Float("Shape", name + "/input_shape", {layer.input});
      input = ConvNode("Conv2DBackpropInput", name + "/input", {shape, layer.weights, g});
    }
  } else {
    weights = graph_.Add("MatMul", name + "/weights", {layer.input, g}).Attr("T", DT_FLOAT).Attr("transpose_a", true);
    if (need_input_gradient) {
      input = graph_.Add("MatMul", name + "/input", {g, layer.weights}).Attr("T", DT_FLOAT).Attr("transpose_b", true);
    }
  }
  Update(layer.name + "/w", layer.weight_dims, weights);
  Update(layer.name + "/b", {layer.weight_dims.back()}, bias);
  return input;
}

void TrainingGraph::Update(const std::string& variable, const std::vector<int64_t>& dims, const std::string& gradient) {
  if (optimizer_ == Optimizer::kSgd) {
    updates_.push_back(
        graph_.Float("ResourceApplyGradientDescent", variable + "/update", {variable, "learning_rate", gradient}));
    return;
  }
  const std::string m = Zeros(variable + "/m", dims), v = Zeros(variable + "/v", dims);
  updates_.push_back(graph_.Float("ResourceApplyAdam", variable + "/update",
                                  {variable, m, v, "beta1_power/read", "beta2_power/read", "learning_rate", "beta1",
                                   "beta2", "epsilon", gradient}));
}

absl::Status TrainingGraph::Train(const std::string& path) {
  const std::string labels = graph_.Placeholder("labels", DT_INT32, {batch_});
  const std::string loss = graph_.Add("SparseSoftmaxCrossEntropyWithLogits", "loss", {top_, labels})
                               .Attr("T", DT_FLOAT)
                               .Attr("Tlabels", DT_INT32);
  Tensor axes(DT_INT32, {1});
  axes.data<int32_t>()[0] = 0;
  graph_.spec().fetches = {graph_.Float("Mean", "mean_loss", {loss, graph_.Const("axes", axes)})};
  Scalar("learning_rate", optimizer_ == Optimizer::kSgd ? 0.01f : 0.001f);
  if (optimizer_ == Optimizer::kAdam) {
    Scalar("beta1", 0.9f);
    Scalar("beta2", 0.999f);
    Scalar("epsilon", 1e-7f);
    for (const std::string power : {"beta1", "beta2"}) {
      graph_.Read(power + "_power/read", graph_.Variable(power + "_power", {}, power));
    }
  }
  std::string gradient =
      graph_.Float("Mul", "gradients/loss", {loss + ":1", Scalar("per_example", 1.0f / static_cast<float>(batch_))});
  for (size_t i = layers_.size(); i-- > 0;) gradient = Backward(layers_[i], gradient, i > 0);
  if (optimizer_ == Optimizer::kAdam) {
    GraphWriter::Names powers;
    for (const std::string power : {"beta1", "beta2"}) {
      GraphWriter::Names inputs = {power + "_power",
                                   graph_.Float("Mul", power + "_power/next", {power + "_power/read", power})};
      for (const std::string& update : updates_) inputs.push_back("^" + update);
      powers.push_back(graph_.Add("AssignVariableOp", power + "_power/update", inputs).Attr("dtype", DT_FLOAT));
    }
    updates_.insert(updates_.end(), powers.begin(), powers.end());
  }
  graph_.spec().targets = {graph_.NoOp("train", updates_)};
  return graph_.Write(path);
}

absl::Status WriteMlp(const std::string& path, const std::vector<int>& widths, Optimizer optimizer) {
  TrainingGraph graph(100, optimizer);
  graph.Input({100, widths[0]});
  for (size_t i = 1; i < widths.size(); ++i) graph.Dense(widths[i - 1], widths[i], i + 1 < widths.size());
  return graph.Train(path);
}

absl::Status WriteConvnet(const std::string& path) {
  TrainingGraph graph(32, Optimizer::kSgd);
  graph.Input({32, 32, 32, 3});
  graph.Conv(3, 32);
  graph.Conv(32, 64);
  graph.Conv(64, 64);
  graph.Flatten({32, 4, 4, 64}, 1024);
  graph.Dense(1024, 10, /*relu=*/false);
  return graph.Train(path);
}

}  // namespace

absl::Status WriteTrainingGraphs(const std::string& folder) {
  RETURN_IF_ERROR(WriteMlp(folder + "/mlp_sgd", {784, 512, 512, 10}, Optimizer::kSgd));
  RETURN_IF_ERROR(WriteMlp(folder + "/mlp_adam", {784, 512, 512, 10}, Optimizer::kAdam));
  RETURN_IF_ERROR(WriteMlp(folder + "/mlp_small", {784, 64, 10}, Optimizer::kSgd));
  return WriteConvnet(folder + "/convnet");
}

}  // namespace weir::bench
