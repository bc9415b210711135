// Fake quantisation.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

void GpuAgreementTest::AddQuantised() {
  const auto of = [this](const TensorShape& shape) { return Of(DT_FLOAT, shape); };
  const Tensor low = AsScalar<float>(-0.3f), high = AsScalar<float>(1.1f), zero = AsScalar<float>(0);
  const Tensor lows = AsTensor<float>({-0.3f, 0, -1}), highs = AsTensor<float>({1.1f, 0, 0.5f});
  const TensorShape matrix({40, 3});
  for (const bool narrow : {false, true}) {
    const auto attrs = Attr("num_bits", int64_t{narrow ? 8 : 3}, Attr("narrow_range", narrow));
    const auto range = Attr("min", -0.5f, Attr("max", 1.2f, attrs));
    Add("FakeQuantWithMinMaxArgs", {of(matrix)}, range);
    Add("FakeQuantWithMinMaxArgsGradient", {of(matrix), of(matrix)}, range);
    Add("FakeQuantWithMinMaxVars", {of(matrix), low, high}, attrs);
    Add("FakeQuantWithMinMaxVars", {of(matrix), zero, zero}, attrs);
    Add("FakeQuantWithMinMaxVarsGradient", {of(matrix), of(matrix), low, high}, attrs);
    Add("FakeQuantWithMinMaxVarsPerChannel", {of(matrix), lows, highs}, attrs);
    Add("FakeQuantWithMinMaxVarsPerChannelGradient", {of(matrix), of(matrix), lows, highs}, attrs);
  }
  const TensorShape none({0, 3});
  Add("FakeQuantWithMinMaxVarsPerChannelGradient", {of(none), of(none), lows, highs});
}

// Ranges that are given and ranges that are found, for all elements and for each slice of an axis.
void GpuAgreementTest::AddQuantizeAndDequantize(DataType type) {
  const TensorShape shape({3, 2, 4});
  const auto of = [this, type](std::vector<float> values, const TensorShape& at) {
    Tensor tensor(type, at);
    for (size_t i = 0; i < values.size(); ++i) {
      if (type == DT_DOUBLE) tensor.data<double>()[i] = values[i];
      if (type == DT_FLOAT) tensor.data<float>()[i] = values[i];
      if (type == DT_HALF) tensor.data<half>()[i] = half(values[i]);
      if (type == DT_BFLOAT16) tensor.data<bfloat16>()[i] = bfloat16(values[i]);
    }
    return tensor;
  };
  const TensorShape one, two({2});
  for (const bool given : {false, true}) {
    for (const char* mode : {"HALF_TO_EVEN", "HALF_UP"}) {
      const auto attrs = Attr("range_given", given, Attr("round_mode", std::string(mode)));
      for (const char* op : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}) {
        Add(op, {Of(type, shape), of({0.5f}, one), of({1.5f}, one)}, Attr("num_bits", int64_t{5}, attrs));
        Add(op, {Of(type, shape), of({-1, 0.25f}, two), of({1, 1}, two)}, Attr("axis", int64_t{1}, attrs));
        Add(op, {Of(type, shape), of({0}, one), of({1}, one)},
            Attr("signed_input", false, Attr("num_bits", int64_t{3}, attrs)));
      }
    }
    Add("QuantizeAndDequantizeV3", {Of(type, shape), of({-1}, one), of({1}, one), AsScalar<int32_t>(4)},
        Attr("range_given", given, Attr("narrow_range", true)));
  }
  Add("QuantizeAndDequantizeV2", {Of(type, TensorShape({0, 2})), of({0}, one), of({1}, one)});
  const Tensor low = of({0.5f}, one), high = of({1}, one);
  Add("QuantizeAndDequantizeV4Grad", {Of(type, shape), Of(type, shape), low, high});
  Add("QuantizeAndDequantizeV4Grad", {Of(type, shape), Of(type, shape), of({0.5f, 1}, two), of({1, 1.25f}, two)},
      Attr("axis", int64_t{1}));
}

}  // namespace weir
