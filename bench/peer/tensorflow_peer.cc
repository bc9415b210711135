// TensorFlow's side: runs steps through the C API of its wheel, in a separate process.
#include <cstring>
#include <iostream>
#include <memory>

#include "bench/runner.h"
#include "tensorflow/c/c_api.h"

namespace weir::bench {
namespace {

// ConfigProto{graph_options{optimizer_options{opt_level: L0} rewrite_options{disable_meta_optimizer: true}}},
// serialised.
constexpr unsigned char kOptimizersOff[] = {0x52, 18,   0x1a, 11,   0x18, 0xff, 0xff, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0xff, 0xff, 0x01, 0x52, 3,    0x98, 0x01, 0x01};
// ConfigProto{device_count{key: "CPU" value: N}}, up to N.
constexpr char kDeviceCount[] = {0x0a, 7, 0x0a, 3, 'C', 'P', 'U', 0x10, 1};

class TensorFlowRunner : public Runner {
 public:
  ~TensorFlowRunner() override {
    for (TF_Tensor* feed : feeds_) TF_DeleteTensor(feed);
    if (session_ != nullptr) TF_DeleteSession(session_, status_);
    TF_DeleteGraph(graph_);
    TF_DeleteStatus(status_);
  }

  std::string Open(const std::string& target, const std::string& graph_def, const StepSpec& spec) override {
    TF_Buffer* buffer = TF_NewBufferFromString(graph_def.data(), graph_def.size());
    TF_ImportGraphDefOptions* import = TF_NewImportGraphDefOptions();
    TF_GraphImportGraphDef(graph_, buffer, import, status_);
    TF_DeleteImportGraphDefOptions(import);
    TF_DeleteBuffer(buffer);
    if (Failed()) return Message();

    TF_SessionOptions* options = TF_NewSessionOptions();
    if (!target.empty()) TF_SetTarget(options, target.c_str());
    const std::string config = Config(spec);
    TF_SetConfig(options, config.data(), config.size(), status_);
    session_ = TF_NewSession(graph_, options, status_);
    TF_DeleteSessionOptions(options);
    if (Failed()) return Message();
    return PrepareStep(spec);
  }

  std::string OpenModel(const std::string& folder, const StepSpec& spec) override {
    TF_SessionOptions* options = TF_NewSessionOptions();
    const char* const tags[] = {"serve"};
    session_ = TF_LoadSessionFromSavedModel(options, nullptr, folder.c_str(), tags, 1, graph_, nullptr, status_);
    TF_DeleteSessionOptions(options);
    return Failed() ? Message() : PrepareStep(spec);
  }

  std::string RunTarget(const std::string& node) override {
    TF_Operation* target = TF_GraphOperationByName(graph_, node.c_str());
    if (target == nullptr) return "no node " + node;
    TF_SessionRun(session_, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, &target, 1, nullptr, status_);
    return Failed() ? Message() : "";
  }

  std::string RunSteps(int count) override { return Run(count, nullptr); }
  std::string FetchSteps(int count, std::vector<float>* values) override { return Run(count, values); }

 private:
  std::string Run(int count, std::vector<float>* values) {
    for (int i = 0; i < count; ++i) {
      TF_SessionRun(session_, nullptr, feed_outputs_.data(), feeds_.data(), feeds_.size(), fetch_outputs_.data(),
                    fetched_.data(), fetched_.size(), targets_.data(), targets_.size(), nullptr, status_);
      if (Failed()) return Message();
      if (values != nullptr) values->push_back(*static_cast<const float*>(TF_TensorData(fetched_.front())));
      for (TF_Tensor* tensor : fetched_) TF_DeleteTensor(tensor);
    }
    return "";
  }

  // A serialised ConfigProto.
  static std::string Config(const StepSpec& spec) {
    std::string config(kDeviceCount, sizeof(kDeviceCount));
    config.back() = static_cast<char>(spec.cpu_devices);
    if (!spec.optimize) config.append(reinterpret_cast<const char*>(kOptimizersOff), sizeof(kOptimizersOff));
    return config;
  }

  bool Failed() const { return TF_GetCode(status_) != TF_OK; }
  std::string Message() const { return TF_Message(status_); }

  std::string PrepareStep(const StepSpec& spec) {
    for (const StepSpec::Feed& feed : spec.feeds) {
      if (!FindOutput(feed.node, &feed_outputs_)) return "no node " + feed.node;
      feeds_.push_back(MakeTensor(feed));
    }
    for (const std::string& node : spec.fetches) {
      if (!FindOutput(node, &fetch_outputs_)) return "no node " + node;
    }
    fetched_.resize(fetch_outputs_.size());
    for (const std::string& node : spec.targets) {
      targets_.push_back(TF_GraphOperationByName(graph_, node.c_str()));
      if (targets_.back() == nullptr) return "no node " + node;
    }
    return "";
  }

  bool FindOutput(const std::string& node, std::vector<TF_Output>* outputs) {
    TF_Operation* operation = TF_GraphOperationByName(graph_, node.c_str());
    outputs->push_back({operation, 0});
    return operation != nullptr;
  }

  static TF_Tensor* MakeTensor(const StepSpec::Feed& feed) {
    const bool is_float = feed.type == "float";
    const size_t bytes = static_cast<size_t>(feed.NumElements()) * 4;
    TF_Tensor* tensor =
        TF_AllocateTensor(is_float ? TF_FLOAT : TF_INT32, feed.dims.data(), static_cast<int>(feed.dims.size()), bytes);
    if (is_float) {
      std::memcpy(TF_TensorData(tensor), feed.Floats().data(), bytes);
    } else {
      std::memcpy(TF_TensorData(tensor), feed.Ints().data(), bytes);
    }
    return tensor;
  }

  TF_Status* const status_ = TF_NewStatus();
  TF_Graph* const graph_ = TF_NewGraph();
  TF_Session* session_ = nullptr;
  std::vector<TF_Output> feed_outputs_, fetch_outputs_;
  std::vector<TF_Tensor*> feeds_, fetched_;
  std::vector<const TF_Operation*> targets_;
};

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::TensorFlowRunner runner;
  return weir::bench::RunnerMain(argc, argv, runner);
}
