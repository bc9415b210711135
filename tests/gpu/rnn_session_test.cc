// Tests of cuDNN's recurrent networks in sessions on GPUs: gradients and errors.
#include "client/gradients.h"
#include "core/op/attr_value.h"
#include "kernels/recurrent/args_rnn.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gpu/gpu_session_testing.h"

namespace weir {
namespace {

using testing::HasSubstr;
using Code = absl::StatusCode;

class RnnSessionTest : public GpuSessionTest {
 protected:
  struct Case {
    const char* mode = "lstm";
    bool is_time_major = true;
    int64_t hidden = 3;
  };
  // Of any size, from -0.5 to 0.5.
  static Tensor Numbers(const TensorShape& shape, uint32_t seed) {
    Tensor tensor(DT_DOUBLE, shape);
    for (double& x : tensor.flat<double>()) {
      seed = seed * 1664525 + 1013904223;
      x = static_cast<double>(seed >> 8) / (1 << 24) - 0.5;
    }
    return tensor;
  }
  static std::vector<Tensor> InputsOf(const Case& c) {
    const RnnSizes sizes = *RnnSizes::Of(*RnnModeNamed(c.mode), true, 2, c.hidden, 2);
    const TensorShape state = c.is_time_major ? TensorShape({4, 2, c.hidden}) : TensorShape({2, 4, c.hidden});
    return {Numbers(c.is_time_major ? TensorShape({3, 2, 2}) : TensorShape({2, 3, 2}), 1), Numbers(state, 2),
            Numbers(state, 3), Numbers(TensorShape({sizes.NumParams()}), 4)};
  }
  // A network of two layers in both directions, of what is fed.
  Operation Network(const Scope& scope, const Case& c, tensorflow::NodeDef attrs = {}) {
    attrs.set_op("CudnnRNNV3");
    SetNodeAttr("rnn_mode", std::string(c.mode), &attrs);
    SetNodeAttr("direction", std::string("bidirectional"), &attrs);
    SetNodeAttr("time_major", c.is_time_major, &attrs);
    xs_.clear();
    std::vector<InputList> inputs;
    for (int i = 0; i < 4; ++i) {
      xs_.push_back(ops::Placeholder(Cpu(), DT_DOUBLE));
      inputs.push_back({xs_.back()});
    }
    inputs.push_back({ops::Const(Cpu(), AsTensor<int32_t>({3, 2}), DT_INT32)});
    return scope.AddOp(std::move(attrs), inputs);
  }
  FeedList Feeds(const std::vector<Tensor>& values) const {
    FeedList feeds;
    for (size_t i = 0; i < values.size(); ++i) feeds.emplace_back(xs_[i], values[i]);
    return feeds;
  }
  // Output `i`'s sum, weighted.
  static Output Loss(const Scope& scope, const Operation& network, int i, const TensorShape& shape) {
    return ops::Mul(scope, Output(network, i), ops::Const(scope, Numbers(shape, 10 + i), DT_DOUBLE));
  }

  OutputList xs_;
};

TEST_F(RnnSessionTest, GradientsAreThoseOfDifferences) {
  for (const Case& c : {Case{"lstm", true}, Case{"lstm", false}, Case{"gru", true}, Case{"rnn_tanh", false}}) {
    scope_ = Scope::NewRoot();
    session_.reset();
    const bool has_cell = std::string(c.mode) == "lstm";
    const std::vector<Tensor> values = InputsOf(c);
    const Operation network = Network(Gpu(), c);
    const TensorShape out = c.is_time_major ? TensorShape({3, 2, 2 * c.hidden}) : TensorShape({2, 3, 2 * c.hidden});
    OutputList losses = {Loss(Gpu(), network, 0, out), Loss(Gpu(), network, 1, values[1].shape())};
    if (has_cell) losses.push_back(Loss(Gpu(), network, 2, values[2].shape()));
    OutputList fetches;
    for (const Gradient& gradient : Gradients(Gpu(), losses, xs_)) fetches.push_back(gradient.values);
    const std::vector<Tensor> gradients = Run(Feeds(values), fetches);
    ASSERT_EQ(gradients.size(), 4);
    const auto loss = [&](const std::vector<Tensor>& at) {
      double sum = 0;
      for (const Tensor& products : Run(Feeds(at), losses)) {
        for (const double product : products.flat<double>()) sum += product;
      }
      return sum;
    };
    for (int i = 0; i < (has_cell ? 4 : 2); ++i) {
      for (int64_t k = 0; k < values[i].NumElements(); k += i == 3 ? 17 : 3) {
        constexpr double kStep = 1e-6;
        double sums[2];
        for (const int side : {0, 1}) {
          std::vector<Tensor> moved = values;
          moved[i] = Tensor(DT_DOUBLE, values[i].shape());
          std::copy_n(values[i].data<double>(), values[i].NumElements(), moved[i].data<double>());
          moved[i].data<double>()[k] += side == 0 ? -kStep : kStep;
          sums[side] = loss(moved);
        }
        ASSERT_NEAR(gradients[i].data<double>()[k], (sums[1] - sums[0]) / (2 * kStep), 1e-6)
            << c.mode << " input " << i << " element " << k;
      }
    }
  }
}

TEST_F(RnnSessionTest, WhatTheLoopsLackIsRefusedByOpTypeAndDevice) {
  const auto expect = [this](const char* name, auto value, const char* text, const Case& c) {
    scope_ = Scope::NewRoot();
    session_.reset();
    tensorflow::NodeDef attrs;
    SetNodeAttr(name, value, &attrs);
    const Operation network = Network(Gpu(), c, attrs);
    std::vector<Tensor> inputs = InputsOf(c);
    if (std::string(name) == "input_mode") {
      RnnSizes sizes = *RnnSizes::Of(*RnnModeNamed(c.mode), true, 2, c.hidden, 2);
      sizes.skips_input = true;
      inputs[3] = Numbers(TensorShape({sizes.NumParams()}), 4);
    }
    EXPECT_THAT(session().Run(Feeds(inputs), {Output(network, 0)}), StatusIs(Code::kUnimplemented, HasSubstr(text)));
  };
  expect("num_proj", int64_t{2}, "CudnnRNNV3 of double on a simulated GPU has no projections, but num_proj=2", {});
  expect("input_mode", std::string("skip_input"),
         "CudnnRNNV3 of double on a simulated GPU has no input_mode=skip_input", {});
  expect("input_mode", std::string("auto_select"), "input_mode=auto_select means skip_input",
         {.mode = "gru", .hidden = 2});
  expect("dropout", 0.5f, "Dropout between layers is not supported on a simulated GPU", {});
}

}  // namespace
}  // namespace weir
