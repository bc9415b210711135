// Ops that combine elements by index, that look along rows, that change variables, and that draw random numbers.
#include "absl/strings/match.h"
#include "core/tensor/numeric_types.h"
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
namespace {

Tensor Filled(DataType type, const TensorShape& shape, float value) {
  Tensor tensor(type, shape);
  switch (type) {
    case DT_DOUBLE:
      for (double& x : tensor.flat<double>()) x = value;
      break;
    case DT_HALF:
      for (half& x : tensor.flat<half>()) x = half(value);
      break;
    case DT_BFLOAT16:
      for (bfloat16& x : tensor.flat<bfloat16>()) x = bfloat16(value);
      break;
    default:
      for (float& x : tensor.flat<float>()) x = value;
  }
  return tensor;
}

}  // namespace

void GpuAgreementTest::AddIndexed(DataType type) {
  const TensorShape matrix({4, 6}), cube({2, 3, 4});
  const Tensor rows = AsTensor<int32_t>({2, 0, 2}), wide_rows = AsTensor<int64_t>({3, 1, 3});
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    Add(op, {Of(type, TensorShape({3, 5})), AsTensor<int32_t>({2, -1, 2}), AsScalar<int32_t>(4)});
    Add(op, {Of(type, cube), AsTensor<int64_t>({1, 0, 1, 1, 1, 0}, {2, 3}), AsScalar<int64_t>(2)});
  }
  for (const char* op : {"SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean"}) {
    if (type == DT_INT64 && absl::string_view(op) == "SegmentMean") continue;
    Add(op, {Of(type, matrix), AsTensor<int32_t>({0, 0, 2, 5})});
    Add(op, {Of(type, matrix), AsTensor<int64_t>({1, 1, 1, 1})});
  }
  Add("ScatterNd", {AsTensor<int32_t>({2, 0, 2}, {3, 1}), Of(type, TensorShape({3, 5})), AsTensor<int32_t>({4, 5})});
  Add("ScatterNd", {AsTensor<int64_t>({1, 2, 0, 0}, {2, 2}), Of(type, TensorShape({2})), AsTensor<int64_t>({2, 3})});
  for (const char* op :
       {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"}) {
    Add(op, {Of(type, matrix), AsTensor<int32_t>({3, 1}, {2, 1}), Of(type, TensorShape({2, 6}))});
    Add(op, {Of(type, cube), AsTensor<int64_t>({1, 2, 0, 0}, {2, 2}), Of(type, TensorShape({2, 4}))});
  }
  for (const char* prefix : {"Scatter", "ResourceScatter"}) {
    for (const char* what : {"Update", "Add", "Sub", "Mul", "Div", "Max", "Min"}) {
      if (type == DT_INT64 && absl::string_view(what) == "Div") continue;
      const std::string op = absl::StrCat(prefix, what);
      const Tensor& indices = absl::string_view(what) == "Update" ? AsTensor<int64_t>({3, 1, 0}) : wide_rows;
      AddUpdate(op, {Of(type, matrix)}, {indices, Of(type, TensorShape({3, 6}))});
      AddUpdate(op, {Of(type, matrix)}, {rows, Of(type, TensorShape())});
    }
    for (const char* what : {"Update", "Add", "Sub", "Max", "Min"}) {
      const std::string op = absl::StrCat(prefix, "Nd", what);
      AddUpdate(op, {Of(type, cube)}, {AsTensor<int32_t>({1, 2, 0, 0}, {2, 2}), Of(type, TensorShape({2, 4}))});
      AddUpdate(op, {Of(type, cube)}, {AsTensor<int64_t>({1}, {1, 1}), Of(type, TensorShape({1, 3, 4}))});
    }
  }
  for (const char* op : {"Assign", "AssignAdd", "AssignSub"}) {
    AddUpdate(op, {Of(type, matrix)}, {Of(type, matrix)});
    AddUpdate(op, {Of(type, TensorShape())}, {Of(type, TensorShape())});
    AddUpdate(op, {Of(type, TensorShape({0, 3}))}, {Of(type, TensorShape({0, 3}))});
  }
  Add("ScatterNdNonAliasingAdd",
      {Of(type, cube), AsTensor<int32_t>({1, 2, 0, 0}, {2, 2}), Of(type, TensorShape({2, 4}))});
  Add("ScatterNdNonAliasingAdd", {Of(type, matrix), AsTensor<int64_t>({3, 1}, {2, 1}), Of(type, TensorShape({2, 6}))});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    Add(op, {Of(type, cube), AsScalar<int32_t>(-1)});
    Add(op, {Of(type, cube), AsScalar<int64_t>(1)}, Attr("output_type", DT_INT32));
    Add(op, {Of(type, TensorShape({2, 700})), AsScalar<int32_t>(1)});
  }
  Add("TopKV2", {Of(type, TensorShape({3, 300})), AsScalar<int32_t>(5)});
  Add("TopKV2", {Of(type, matrix), AsScalar<int32_t>(6)}, Attr("index_type", DT_INT64));
  // By sorting: rows together, or one by one; and where these are too many.
  Add("TopKV2", {Of(type, TensorShape({3, 300})), AsScalar<int32_t>(200)});
  Add("TopKV2", {Of(type, TensorShape({2, 2, 90})), AsScalar<int32_t>(90)}, Attr("index_type", DT_INT64));
  Add("TopKV2", {Of(type, TensorShape({70, 50})), AsScalar<int32_t>(40)});
  Add("TopK", {Of(type, matrix)}, Attr("k", int64_t{2}));
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const auto attrs = Attr("exclusive", exclusive, Attr("reverse", reverse));
      for (const char* op : {"Cumsum", "Cumprod"}) {
        Add(op, {Of(type, cube), AsScalar<int32_t>(1)}, attrs);
        Add(op, {Of(type, matrix), AsScalar<int64_t>(-1)}, attrs);
      }
      Add("Cumsum", {Of(DT_INT64, TensorShape({3, 5000})), AsScalar<int32_t>(0)}, attrs);  // many, short
    }
  }
}

// Rows replaced, each once as CUDA wants it, and all that a variable holds changed.
void GpuAgreementTest::AddReplacements(DataType type) {
  for (const Tensor& rows : {AsTensor<int32_t>({2, 0}), AsTensor<int64_t>({1, 3})}) {
    for (const char* op : {"ScatterUpdate", "ResourceScatterUpdate"}) {
      AddUpdate(op, {Of(type, TensorShape({4, 3}))}, {rows, Of(type, TensorShape({2, 3}))});
    }
  }
  if (type == DT_BOOL) return;
  for (const char* op : {"AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"}) {
    AddUpdate(op, {Of(type, TensorShape({5}))}, {Of(type, TensorShape({5}))});
  }
}

// Optimizers' steps.
void GpuAgreementTest::AddSteps(DataType type) {
  const TensorShape shape({4, 3}), rows({2, 3});
  struct Rule {
    const char* name;
    int variables, scalars;
    bool is_sparse_too;
    const char* flag = nullptr;
    bool is_of_resources = false;
  };
  const Rule rules[] = {{"GradientDescent", 1, 1, false},
                        {"Momentum", 2, 2, true, "use_nesterov"},
                        {"KerasMomentum", 2, 2, true, "use_nesterov", true},
                        {"Adam", 3, 6, false, "use_nesterov"},
                        {"AdamWithAmsgrad", 4, 6, false, nullptr, true},
                        {"AdaMax", 3, 5, false},
                        {"Adagrad", 2, 1, true, "update_slots"},
                        {"AdagradV2", 2, 2, true, "update_slots"},
                        {"AdagradDA", 3, 3, true},
                        {"ProximalGradientDescent", 1, 3, true},
                        {"ProximalAdagrad", 2, 3, true},
                        {"RMSProp", 3, 4, true},
                        {"CenteredRMSProp", 4, 4, true},
                        {"Adadelta", 3, 3, true},
                        {"Ftrl", 3, 4, true, "multiply_linear_by_lr"},
                        {"FtrlV2", 3, 5, true, "multiply_linear_by_lr"},
                        {"AddSign", 2, 4, false},
                        {"PowerSign", 2, 4, false}};
  for (const Rule& rule : rules) {
    const bool is_ftrl = absl::StartsWith(rule.name, "Ftrl");
    std::vector<Tensor> variables(rule.variables), scalars;
    for (int k = 0; k < rule.variables; ++k) variables[k] = Of(type, shape);
    // A mean of squares is not below the square of the mean: that one is 0 here.
    if (absl::string_view(rule.name) == "CenteredRMSProp") variables[1] = Filled(type, shape, 0);
    for (int k = 0; k < rule.scalars; ++k) {
      scalars.push_back(Filled(type, TensorShape(), is_ftrl && k + 1 == rule.scalars ? -0.5f : 0.125f * (k + 1)));
    }
    // What they take before their scalars, or behind them.
    const bool is_averaging = absl::string_view(rule.name) == "AdagradDA";
    const bool gradient_first = is_ftrl || is_averaging;
    const bool gradient_second = absl::EndsWith(rule.name, "Momentum");
    if (is_averaging) scalars.push_back(AsScalar<int64_t>(3));  // the step
    for (const DataType index : {DT_INVALID, DT_INT32, DT_INT64}) {
      const bool is_sparse = index != DT_INVALID;
      if (is_sparse && !rule.is_sparse_too) continue;
      std::vector<Tensor> gradient = {Of(type, is_sparse ? rows : shape)}, inputs;
      const std::string op = absl::StrCat(is_sparse ? "SparseApply" : "Apply", rule.name);
      if (index == DT_INT32) gradient.push_back(AsTensor<int32_t>({0, 2}));
      if (index == DT_INT64) gradient.push_back(AsTensor<int64_t>({3, 1}));
      inputs = scalars;
      if (gradient_first) {
        inputs.insert(inputs.begin(), gradient.begin(), gradient.end());
      } else if (gradient_second) {  // after the rate
        inputs.insert(inputs.begin() + 1, gradient.begin(), gradient.end());
      } else {
        inputs.insert(inputs.end(), gradient.begin(), gradient.end());
      }
      for (const char* prefix : {"", "Resource"}) {
        if (rule.is_of_resources && *prefix == '\0') continue;
        AddUpdate(prefix + op, variables, inputs);
        if (rule.flag == nullptr) continue;
        AddUpdate(prefix + op, variables, inputs, Attr(rule.flag, !absl::EndsWith(rule.flag, "slots")));
      }
    }
  }
}

void GpuAgreementTest::AddRandom(DataType type) {
  const auto seeds = Attr("seed", int64_t{7}, Attr("seed2", int64_t{11}, Attr("dtype", type)));
  const Tensor shape = AsTensor<int32_t>({3, 5, 7});
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) Add(op, {shape}, seeds);
  const auto dtype = Attr("dtype", type);
  for (const char* op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"}) {
    Add(op, {shape, AsTensor<int64_t>({3, 4})}, dtype);
    Add(absl::StrCat(op, "V2"),
        {shape, AsTensor<uint64_t>({5}), AsTensor<uint64_t>({UINT64_MAX - 3, 9}), AsScalar<int32_t>(1)}, dtype);
  }
  for (const DataType index : {DT_INT32, DT_INT64}) {
    const auto output = Attr("output_dtype", index);
    const auto seeded = Attr("seed", int64_t{7}, Attr("seed2", int64_t{11}, output));
    for (const int classes : {1, 5, 700}) {
      Add("Multinomial", {Of(type, TensorShape({3, classes})), AsScalar<int32_t>(31)}, seeded);
      Add("StatelessMultinomial",
          {Of(type, TensorShape({3, classes})), AsScalar<int32_t>(4), AsTensor<int64_t>({3, 4})}, output);
    }
    Add("Multinomial", {Of(type, TensorShape({0, 2})), AsScalar<int32_t>(3)}, seeded);
    Add("Multinomial", {Of(type, TensorShape({2, 2})), AsScalar<int32_t>(0)}, seeded);
  }
}

void GpuAgreementTest::AddRandomIntegers() {
  const Tensor shape = AsTensor<int32_t>({3, 5}), key = AsTensor<uint64_t>({5}), counter = AsTensor<uint64_t>({1, 9}),
               algorithm = AsScalar<int32_t>(1), seed = AsTensor<int32_t>({3, 4});
  const auto seeds = Attr("seed", int64_t{7}, Attr("seed2", int64_t{11}));
  Add("RandomUniformInt", {shape, AsScalar<int32_t>(-5), AsScalar<int32_t>(100)}, seeds);
  Add("RandomUniformInt", {shape, AsScalar<int64_t>(INT64_MIN), AsScalar<int64_t>(INT64_MAX)}, seeds);
  for (const DataType type : {DT_INT32, DT_INT64}) {
    const bool is_wide = type == DT_INT64;
    const Tensor low = is_wide ? AsScalar<int64_t>(-5) : AsScalar<int32_t>(-5);
    const Tensor high = is_wide ? AsScalar<int64_t>(100) : AsScalar<int32_t>(100);
    Add("StatelessRandomUniformInt", {shape, seed, low, high}, Attr("dtype", type));
    Add("StatelessRandomUniformIntV2", {shape, key, counter, algorithm, low, high}, Attr("dtype", type));
  }
  for (const DataType type : {DT_INT32, DT_INT64, DT_UINT32, DT_UINT64}) {
    Add("StatelessRandomUniformFullInt", {shape, seed}, Attr("dtype", type));
    Add("StatelessRandomUniformFullIntV2", {shape, key, counter, algorithm}, Attr("dtype", type));
  }
  // Classes that cannot be drawn, and rows of nothing else.
  Add("StatelessMultinomial",
      {AsTensor<float>({-INFINITY, 1, NAN, 1, INFINITY, -INFINITY, NAN, NAN, NAN, NAN, -1e30f, 1e30f, 0, 0, 0}, {3, 5}),
       AsScalar<int32_t>(20), seed});
  Add("StatelessRandomGetKeyCounter", {seed});
  Add("StatelessRandomGetKeyCounterAlg", {seed});
  Add("StatelessRandomGetAlg", {});
}

}  // namespace weir
