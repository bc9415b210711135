// Conformance suite of recurrent networks for each kind of device. A device's test includes this header after
// kernel_conformance_testing.h and instantiates GpuRnns.
#pragma once

#include <algorithm>

#include "kernels/device/gpu/kernel_conformance_testing.h"
#include "kernels/recurrent/rnn_loops.h"

namespace weir {

class GpuRnns : public GpuKernels {
 protected:
  size_t memory_limit() const override { return size_t{64} << 20; }  // a library may want some for any network

  struct Case {
    const char* mode = "lstm";
    DataType type = DT_FLOAT;
    bool is_bidirectional = false, is_time_major = true;
    int64_t layers = 2;
    std::vector<int32_t> lengths = {4, 4, 4};  // of at most 4 steps

    RnnBatch Batch() const {
      return {.sizes = *RnnSizes::Of(*RnnModeNamed(mode), is_bidirectional, layers, 5, 3),
              .steps = 4,
              .rows = 3,
              .lengths = std::vector<int64_t>(lengths.begin(), lengths.end())};
    }
    bool has_cell() const { return Batch().sizes.mode == RnnMode::kLstm; }
    std::string ToString() const {
      return absl::StrCat(mode, " ", DataTypeName(type), is_bidirectional ? " in both directions" : "",
                          is_time_major ? "" : " by batch", " of ", layers, " layers");
    }
  };

  // Numbers that 16 bits hold, of a network in the order of time.
  static std::vector<double> Numbers(int64_t count, uint32_t seed) {
    std::vector<double> numbers(static_cast<size_t>(count));
    for (double& x : numbers) {
      seed = seed * 1664525 + 1013904223;
      x = -0.5 + static_cast<double>(seed >> 27) / 32;
    }
    return numbers;
  }
  struct Network {
    explicit Network(const Case& c) : batch(c.Batch()) {
      const int64_t state = batch.StateElements(), out = batch.OutElements();
      x = Numbers(batch.InElements(), 1);
      h = Numbers(state, 2);
      cell = Numbers(state, 3);
      params = Numbers(batch.sizes.NumParams(), 4);
      dy = Numbers(out, 5);
      dlast_h = Numbers(state, 6);
      dlast_c = Numbers(state, 7);
      y.resize(dy.size());
      last_h.resize(h.size());
      last_c.resize(h.size());
      kept.resize(static_cast<size_t>(batch.KeptElements()));
      dx.resize(x.size());
      dh.resize(h.size());
      dc.resize(h.size());
      dparams.resize(params.size());
      RunRnn<double>(
          batch, {x.data(), h.data(), cell.data(), params.data(), y.data(), last_h.data(), last_c.data(), kept.data()});
      RunRnnGradient<double>(batch, {x.data(), h.data(), cell.data(), params.data(), kept.data(), dy.data(),
                                     dlast_h.data(), dlast_c.data(), dx.data(), dh.data(), dc.data(), dparams.data()});
    }
    RnnBatch batch;
    std::vector<double> x, h, cell, params, dy, dlast_h, dlast_c;  // which are given
    std::vector<double> y, last_h, last_c, kept, dx, dh, dc, dparams;
  };

  // In the order in which the op has it.
  static Tensor AsInput(const Case& c, const std::vector<double>& numbers, int64_t first, int64_t second) {
    const int64_t width = static_cast<int64_t>(numbers.size()) / (first * second);
    Tensor tensor(c.type, c.is_time_major ? TensorShape({first, second, width}) : TensorShape({second, first, width}));
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      const int64_t a = i / width / second, b = i / width % second;
      Set(&tensor, c.is_time_major ? i : (b * first + a) * width + i % width, numbers[static_cast<size_t>(i)]);
    }
    return tensor;
  }
  static Tensor AsVector(const Case& c, const std::vector<double>& numbers) {
    Tensor tensor(c.type, TensorShape({static_cast<int64_t>(numbers.size())}));
    for (size_t i = 0; i < numbers.size(); ++i) Set(&tensor, static_cast<int64_t>(i), numbers[i]);
    return tensor;
  }
  static void Set(Tensor* tensor, int64_t i, double value) {
    switch (tensor->dtype()) {
      case DT_DOUBLE:
        tensor->data<double>()[i] = value;
        break;
      case DT_HALF:
        tensor->data<half>()[i] = half(static_cast<float>(value));
        break;
      case DT_BFLOAT16:
        tensor->data<bfloat16>()[i] = bfloat16(static_cast<float>(value));
        break;
      default:
        tensor->data<float>()[i] = static_cast<float>(value);
    }
  }
  static double Get(const Tensor& tensor, int64_t i) {
    switch (tensor.dtype()) {
      case DT_DOUBLE:
        return tensor.data<double>()[i];
      case DT_HALF:
        return static_cast<float>(tensor.data<half>()[i]);
      case DT_BFLOAT16:
        return static_cast<float>(tensor.data<bfloat16>()[i]);
      default:
        return tensor.data<float>()[i];
    }
  }
  static void ExpectNear(const Tensor& actual, const Tensor& expected, const std::string& what) {
    ASSERT_EQ(actual.shape(), expected.shape()) << what;
    double largest = 1;
    for (int64_t i = 0; i < expected.NumElements(); ++i) largest = std::max(largest, std::abs(Get(expected, i)));
    const double tolerance = actual.dtype() == DT_HALF       ? 1e-2
                             : actual.dtype() == DT_BFLOAT16 ? 8e-2
                             : actual.dtype() == DT_DOUBLE   ? 1e-12
                                                             : 2e-5;
    for (int64_t i = 0; i < expected.NumElements(); ++i) {
      ASSERT_NEAR(Get(actual, i), Get(expected, i), tolerance * largest) << what << " " << i;
    }
  }

  static Op WithModes(Op op) {
    return op.Attr("T: type")
        .Attr("rnn_mode: string = 'lstm'")
        .Attr("input_mode: string = 'linear_input'")
        .Attr("direction: string = 'unidirectional'")
        .Attr("dropout: float = 0.0")
        .Attr("seed: int = 0")
        .Attr("seed2: int = 0")
        .Attr("num_proj: int = 0");
  }
  static Op WithState(const char* name) {
    return Op(name)
        .Input("input: T")
        .Input("input_h: T")
        .Input("input_c: T")
        .Input("params: T")
        .Input("sequence_lengths: int32");
  }
  static Op Forward() {
    return WithModes(WithState("CudnnRNNV3")
                         .Output("output: T")
                         .Output("output_h: T")
                         .Output("output_c: T")
                         .Output("reserve_space: T")
                         .Output("host_reserved: int8"))
        .Attr("is_training: bool = true")
        .Attr("time_major: bool = true");
  }
  static Op Backward() {
    Op op = WithState("CudnnRNNBackpropV3");
    for (const char* input : {"output: T", "output_h: T", "output_c: T", "output_backprop: T", "output_h_backprop: T",
                              "output_c_backprop: T", "reserve_space: T", "host_reserved: int8"}) {
      op.Input(input);
    }
    for (const char* output :
         {"input_backprop: T", "input_h_backprop: T", "input_c_backprop: T", "params_backprop: T"}) {
      op.Output(output);
    }
    return WithModes(op).Attr("time_major: bool = true");
  }
  static tensorflow::NodeDef AttrsOf(const Case& c) {
    return Attr("rnn_mode", std::string(c.mode),
                Attr("direction", std::string(c.is_bidirectional ? "bidirectional" : "unidirectional"),
                     Attr("time_major", c.is_time_major, Attr("T", c.type))));
  }

  static std::vector<Tensor> InputsOf(const Case& c, const Network& n) {
    const int64_t parts = n.batch.sizes.parts(), rows = n.batch.rows;
    Tensor lengths(DT_INT32, TensorShape({rows}));
    std::copy(c.lengths.begin(), c.lengths.end(), lengths.data<int32_t>());
    return {AsInput(c, n.x, n.batch.steps, rows), AsInput(c, n.h, parts, rows), AsInput(c, n.cell, parts, rows),
            AsVector(c, n.params), lengths};
  }

  void ExpectNetwork(const Case& c) {
    const Network n(c);
    const int64_t parts = n.batch.sizes.parts(), rows = n.batch.rows, steps = n.batch.steps;
    std::vector<Tensor> inputs = InputsOf(c, n);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, Run(Forward(), inputs, AttrsOf(c)));
    ExpectNear(out[0], AsInput(c, n.y, steps, rows), c.ToString() + " output");
    ExpectNear(out[1], AsInput(c, n.last_h, parts, rows), c.ToString() + " output_h");
    if (c.has_cell()) ExpectNear(out[2], AsInput(c, n.last_c, parts, rows), c.ToString() + " output_c");
    EXPECT_EQ(out[4].NumElements(), 0);
    inputs.insert(inputs.end(), out.begin(), out.begin() + 3);
    inputs.push_back(AsInput(c, n.dy, steps, rows));
    inputs.push_back(AsInput(c, n.dlast_h, parts, rows));
    inputs.push_back(AsInput(c, n.dlast_c, parts, rows));
    inputs.push_back(out[3]);
    inputs.push_back(out[4]);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> d, Run(Backward(), inputs, AttrsOf(c)));
    ExpectNear(d[0], AsInput(c, n.dx, steps, rows), c.ToString() + " input_backprop");
    ExpectNear(d[1], AsInput(c, n.dh, parts, rows), c.ToString() + " input_h_backprop");
    if (c.has_cell()) ExpectNear(d[2], AsInput(c, n.dc, parts, rows), c.ToString() + " input_c_backprop");
    ExpectNear(d[3], AsVector(c, n.dparams), c.ToString() + " params_backprop");
    GetParam().check(device_->runtime());
  }
};

TEST_P(GpuRnns, NetworksAndTheirGradients) {
  for (const char* mode : {"lstm", "gru", "rnn_relu", "rnn_tanh"}) {
    for (const bool is_bidirectional : {false, true}) {
      for (const bool is_time_major : {true, false}) {
        for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{4, 4, 4}, {2, 4, 1}}) {
          ExpectNetwork({mode, DT_FLOAT, is_bidirectional, is_time_major, 2, lengths});
        }
      }
    }
  }
}

TEST_P(GpuRnns, NetworksOfAllTypes) {
  for (const DataType type : {DT_DOUBLE, DT_HALF, DT_BFLOAT16}) {
    ExpectNetwork({"lstm", type, true, true, 1, {3, 4, 2}});
    ExpectNetwork({"gru", type, false, true, 1, {4, 4, 4}});
  }
}

TEST_P(GpuRnns, SequencesMayBeEmpty) {
  ExpectNetwork({"lstm", DT_FLOAT, true, true, 2, {0, 4, 2}});
  for (const bool is_time_major : {true, false}) ExpectNetwork({"gru", DT_FLOAT, true, is_time_major, 1, {0, 0, 0}});
}

TEST_P(GpuRnns, InferenceKeepsNothing) {
  const Case c;
  const Network n(c);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       Run(Forward(), InputsOf(c, n), Attr("is_training", false, AttrsOf(c))));
  ExpectNear(out[0], AsInput(c, n.y, n.batch.steps, n.batch.rows), "output");
  EXPECT_EQ(out[3].NumElements(), 0);
}

TEST_P(GpuRnns, AReserveOfAnotherNetworkIsRefused) {
  const Case c;
  const Network n(c);
  std::vector<Tensor> inputs = InputsOf(c, n);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, Run(Forward(), inputs, AttrsOf(c)));
  for (int i = 0; i < 2; ++i) inputs.insert(inputs.end(), out.begin(), out.begin() + 3);
  inputs.push_back(AsTensor<float>({1, 2, 3}));
  inputs.push_back(out[4]);
  EXPECT_THAT(Run(Backward(), inputs, AttrsOf(c)),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("reserve_space should hold")));
}

TEST_P(GpuRnns, ParametersAreTakenApartAndPutTogether) {
  const RnnSizes sizes = *RnnSizes::Of(RnnMode::kGru, true, 2, 3, 5);
  const int64_t count = sizes.parts() * sizes.MatricesPerPart();
  const auto with_sizes = [](const char* name) {
    return Op(name).Input("num_layers: int32").Input("num_units: int32").Input("input_size: int32");
  };
  const auto attrs =
      Attr("num_params", count,
           Attr("rnn_mode", std::string("gru"), Attr("direction", std::string("bidirectional"), Float())));
  const std::vector<Tensor> three = {AsScalar<int32_t>(2), AsScalar<int32_t>(3), AsScalar<int32_t>(5)};
  const Tensor params = AsVector({}, Numbers(sizes.NumParams(), 1));
  std::vector<Tensor> inputs = three;
  inputs.push_back(params);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> pieces, Run(WithModes(with_sizes("CudnnRNNParamsToCanonical")
                                                                           .Input("params: T")
                                                                           .Output("weights: num_params * T")
                                                                           .Output("biases: num_params * T")
                                                                           .Attr("num_params: int")),
                                                             inputs, attrs));
  ASSERT_EQ(static_cast<int64_t>(pieces.size()), 2 * count);
  EXPECT_EQ(pieces[0].shape(), TensorShape({3, 5}));
  EXPECT_EQ(Get(pieces[1], 0), Get(params, sizes.MatrixOffset(0, 1)));
  EXPECT_EQ(Get(pieces.back(), 2), Get(params, sizes.NumParams() - 1));
  inputs = three;
  inputs.insert(inputs.end(), pieces.begin(), pieces.end());
  Expect(WithModes(with_sizes("CudnnRNNCanonicalToParams")
                       .Input("weights: num_params * T")
                       .Input("biases: num_params * T")
                       .Output("params: T")
                       .Attr("num_params: int")),
         inputs, attrs, {params});
}

}  // namespace weir
