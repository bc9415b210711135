// Every optimizer's update against values that TensorFlow computed, in all forms and types.
#include <limits>

#include "core/kernel/variable.h"
#include "core/tensor/numeric_types.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kGradient = {0.5f, -1.5f, 2.0f};
const std::vector<float> kBefore[] = {
    {1.0f, -2.0f, 0.25f}, {0.3f, 0.5f, 1.5f}, {0.2f, 0.75f, 1.25f}, {0.6f, 0.9f, 2.0f}};

struct UpdateCase {
  std::string rule;
  bool flag;
  std::vector<double> scalars;                // in the order of the op's arguments
  std::vector<std::vector<float>> variables;  // after the update of kBefore by kGradient
};

std::vector<UpdateCase> UpdateCases() {
  return {
      {"GradientDescent", false, {0.1}, {{0.95, -1.85, 0.05}}},
      {"Momentum", false, {0.1, 0.9}, {{0.923, -1.895, -0.08500001}, {0.77, -1.05, 3.35}}},
      {"Momentum", true, {0.1, 0.9}, {{0.8807, -1.7555, -0.2515}, {0.77, -1.05, 3.35}}},
      {"KerasMomentum", false, {0.1, 0.9}, {{1.22, -1.4, 1.4}, {0.22, 0.6, 1.15}}},
      {"KerasMomentum", true, {0.1, 0.9}, {{1.148, -1.31, 1.085}, {0.22, 0.6, 1.15}}},
      {"AddSign", false, {0.1, 1.5, 0.5, 0.9}, {{0.9, -1.85, -0.15}, {0.32, 0.3, 1.55}}},
      {"PowerSign", false, {0.1, 0.7, 0.5, 0.9}, {{0.9290466, -1.894297, -0.03381351}, {0.32, 0.3, 1.55}}},
      {"Adam",
       false,
       {0.81, 0.98, 0.1, 0.9, 0.99, 0.001},
       {{0.9469256, -2.025501, 0.1480169}, {0.32, 0.3, 1.55}, {0.2005, 0.765, 1.2775}}},
      {"Adam",
       true,
       {0.81, 0.98, 0.1, 0.9, 0.99, 0.001},
       {{0.9439402, -2.0102, 0.1450561}, {0.32, 0.3, 1.55}, {0.2005, 0.765, 1.2775}}},
      {"AdamWithAmsgrad",
       false,
       {0.81, 0.98, 0.1, 0.9, 0.99, 0.001},
       {{0.9692903, -2.023513, 0.1684787}, {0.32, 0.3, 1.55}, {0.2005, 0.765, 1.2775}, {0.6, 0.9, 2}}},
      {"AdaMax",
       false,
       {0.81, 0.1, 0.9, 0.99, 0.001},
       {{0.6638302, -2.105193, -0.1576909}, {0.32, 0.3, 1.55}, {0.5, 1.5, 2}}},
      {"Adagrad", false, {0.1}, {{0.9087129, -1.787868, 0.08670069}, {0.3, 0.5, 1.5}}},
      {"Adagrad", true, {0.1}, {{0.93258, -1.909547, 0.1647197}, {0.55, 2.75, 5.5}}},
      {"AdagradV2", false, {0.1, 0.01}, {{0.9103497, -1.790826, 0.08802322}, {0.3, 0.5, 1.5}}},
      {"AdagradV2", true, {0.1, 0.01}, {{0.933477, -1.910089, 0.1650818}, {0.55, 2.75, 5.5}}},
      {"RMSProp",
       false,
       {0.1, 0.9, 0.8, 0.01},
       {{0.7494643, -2.418763, -0.9007556}, {0.295, 0.6750001, 1.75}, {0.2505358, 0.4187634, 1.150756}}},
      {"CenteredRMSProp",
       false,
       {0.1, 0.9, 0.8, 0.01},
       {{0.370995, -2.554353, kNaN}, {0.32, 0.3, 1.55}, {0.205, 0.9, 1.525}, {0.629005, 0.5543527, kNaN}}},
      {"Adadelta",
       false,
       {0.1, 0.9, 0.01},
       {{0.9585113, -1.842002, 0.08077718}, {0.295, 0.6750001, 1.75}, {0.1972131, 0.9246351, 1.411364}}},
      {"Ftrl",
       false,
       {0.1, 0.2, 0.3, -0.5},
       {{0.1296092, -1.051852, -0.01034599}, {0.55, 2.75, 5.5}, {-1.238973, 18.27411, 0.4488425}}},
      {"Ftrl",
       true,
       {0.1, 0.2, 0.3, -0.5},
       {{-0.04503717, -1.44468, -0.478081}, {0.55, 2.75, 5.5}, {0.05610269, 2.502411, 1.169884}}},
      {"Ftrl",
       false,
       {0.1, 0.2, 0.3, -0.7},
       {{0.1915358, -1.308122, 0.04391148}, {0.55, 2.75, 5.5}, {-1.575308, 27.542, -1.674558}}},
      {"Ftrl",
       true,
       {0.1, 0.2, 0.3, -0.7},
       {{-0.003438782, -1.631062, -0.2791952}, {0.55, 2.75, 5.5}, {0.02246919, 3.4292, 0.9575442}}},
      {"FtrlV2",
       false,
       {0.1, 0.2, 0.3, 0.4, -0.5},
       {{0.02981128, -0.9587379, -0.01866128}, {0.55, 2.75, 5.5}, {-0.4389731, 16.67411, 0.6488426}}},
      {"FtrlV2",
       true,
       {0.1, 0.2, 0.3, 0.4, -0.5},
       {{-0.1448351, -1.351565, -0.4863963}, {0.55, 2.75, 5.5}, {0.1361027, 2.342411, 1.189884}}},
      {"ProximalGradientDescent", false, {0.1, 0.2, 0.3}, {{0.9029127, -1.776699, 0.02912621}}},
      {"ProximalAdagrad", false, {0.1, 0.2, 0.3}, {{0.8704025, -1.863769, 0.1542189}, {0.55, 2.75, 5.5}}},
      {"AdagradDA", false, {0.1, 0.2, 0.3, 2}, {{-0.05473302, 0.0334812, -0.1318426}, {0.8, -1, 3.5}, {0.45, 3, 5.25}}},
  };
}

template <typename T>
Tensor Cast(const std::vector<float>& values, const TensorShape& shape) {
  Tensor tensor(DataTypeOf<T>(), shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<T>()[i] = static_cast<T>(values[i % values.size()]);
  return tensor;
}

Tensor MakeTensor(DataType type, const std::vector<float>& values, const TensorShape& shape) {
  switch (type) {
    case DT_DOUBLE:
      return Cast<double>(values, shape);
    case DT_HALF:
      return Cast<half>(values, shape);
    case DT_BFLOAT16:
      return Cast<bfloat16>(values, shape);
    default:
      return Cast<float>(values, shape);
  }
}

double Tolerance(DataType type) { return type == DT_BFLOAT16 ? 3e-2 : type == DT_HALF ? 4e-3 : 1e-5; }

class TrainingTest : public OpTest {
 protected:
  Tensor MakeVariable(const std::string& name, const Tensor& value) {
    auto variable = std::make_shared<Variable>(value.dtype());
    *variable->tensor() = value;
    variable->set_initialized(true);
    EXPECT_THAT(device()->resources()->Create(ResourceManager::kDefaultContainer, name, variable), IsOk());
    return Tensor::Scalar(
        device()->resources()->MakeHandle<Variable>(device()->name(), ResourceManager::kDefaultContainer, name, "Var"));
  }
  Tensor Read(const Tensor& handle) {
    return *(*device()->resources()->Lookup<Variable>(handle.scalar<ResourceHandle>()))->tensor();
  }
  void Remove(const Tensor& handle) {
    EXPECT_THAT(device()->resources()->Delete(handle.scalar<ResourceHandle>()), IsOk());
  }

  // Runs `op` on variables that hold `before`; gives their values after.
  std::vector<Tensor> Update(const std::string& op, const UpdateCase& update, DataType type,
                             const std::vector<Tensor>& before, const Tensor& gradient) {
    const tensorflow::OpDef& op_def = **ops().LookUp(op);
    std::vector<TestInput> inputs;
    std::vector<Tensor> handles, refs(before.begin(), before.end());
    std::mutex mutexes[4];
    size_t scalar = 0;
    for (const auto& arg : op_def.input_arg()) {
      const size_t variable = inputs.size();
      if (arg.type() == tensorflow::DT_RESOURCE) {
        handles.push_back(MakeVariable(arg.name(), before[variable]));
        inputs.emplace_back(handles.back());
      } else if (arg.is_ref()) {
        inputs.push_back(TestInput::Ref(&refs[variable], &mutexes[variable]));
      } else if (arg.name() == "grad" || arg.name() == "delta") {
        inputs.emplace_back(gradient);
      } else if (arg.name() == "indices") {
        inputs.emplace_back(AsTensor<int32_t>({1}));
      } else if (arg.name() == "global_step") {
        inputs.emplace_back(AsScalar<int64_t>(static_cast<int64_t>(update.scalars[scalar++])));
      } else {
        inputs.emplace_back(MakeTensor(type, {static_cast<float>(update.scalars[scalar++])}, {}));
      }
    }
    Attrs attrs;
    attrs.Set("T", type);
    for (const auto& attr : op_def.attr()) {
      if (attr.type() == "bool" && attr.name() != "use_locking") attrs.Set(attr.name(), update.flag);
    }
    EXPECT_THAT(RunOp(op, inputs, attrs), IsOk()) << op;
    if (handles.empty()) return refs;
    std::vector<Tensor> after;
    for (const Tensor& handle : handles) {
      after.push_back(Read(handle));
      Remove(handle);
    }
    return after;
  }
};

TEST_F(TrainingTest, DenseUpdatesAgreeWithTensorFlow) {
  for (const UpdateCase& update : UpdateCases()) {
    for (const char* prefix : {"Apply", "ResourceApply"}) {
      const std::string op = prefix + update.rule;
      if (ops().Find(op) == nullptr) continue;
      for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}) {
        if (type == DT_BFLOAT16 && update.rule == "CenteredRMSProp") continue;  // cancellation leaves no digits
        std::vector<Tensor> before;
        for (size_t i = 0; i < update.variables.size(); ++i) before.push_back(MakeTensor(type, kBefore[i], {3}));
        const std::vector<Tensor> after = Update(op, update, type, before, MakeTensor(type, kGradient, {3}));
        for (size_t i = 0; i < update.variables.size(); ++i) {
          ExpectTensorNear(after[i], MakeTensor(type, update.variables[i], {3}), Tolerance(type), Tolerance(type),
                           absl::StrCat(op, " ", DataTypeName(type), " variable ", i, " flag ", update.flag));
        }
      }
    }
  }
}

TEST_F(TrainingTest, SparseUpdatesChangeTheirRowsAlone) {
  for (const UpdateCase& update : UpdateCases()) {
    for (const char* prefix : {"SparseApply", "ResourceSparseApply"}) {
      const std::string op = prefix + update.rule;
      if (ops().Find(op) == nullptr) continue;
      std::vector<Tensor> before;
      for (size_t i = 0; i < update.variables.size(); ++i) before.push_back(MakeTensor(DT_FLOAT, kBefore[i], {3, 3}));
      const std::vector<Tensor> after = Update(op, update, DT_FLOAT, before, MakeTensor(DT_FLOAT, kGradient, {1, 3}));
      for (size_t i = 0; i < update.variables.size(); ++i) {
        const std::string context = absl::StrCat(op, " variable ", i, " flag ", update.flag);
        ExpectTensorEqual(after[i].SubSlice(0), MakeTensor(DT_FLOAT, kBefore[i], {3}), context);
        ExpectTensorNear(after[i].SubSlice(1), MakeTensor(DT_FLOAT, update.variables[i], {3}), 1e-5, 1e-5, context);
        ExpectTensorEqual(after[i].SubSlice(2), MakeTensor(DT_FLOAT, kBefore[i], {3}), context);
      }
    }
  }
}

TEST_F(TrainingTest, RowsThatAreNamedTwiceAreUpdatedTwice) {
  const Tensor var = MakeVariable("var", AsTensor<float>({0, 0, 0}, {3, 1}));
  const Tensor accum = MakeVariable("accum", AsTensor<float>({0, 0, 0}, {3, 1}));
  ASSERT_THAT(RunOp("ResourceSparseApplyMomentum", {var, accum, AsScalar<float>(1), AsTensor<float>({1, 2}, {2, 1}),
                                                    AsTensor<int64_t>({2, 2}), AsScalar<float>(0.5f)}),
              IsOk());
  ExpectTensorEqual(Read(accum), AsTensor<float>({0, 0, 2.5f}, {3, 1}));
  ExpectTensorEqual(Read(var), AsTensor<float>({0, 0, -3.5f}, {3, 1}));
}

TEST_F(TrainingTest, LongUpdatesOnSeveralThreadsAgreeWithShortOnes) {
  const int64_t n = 1 << 20;
  const Tensor var = MakeVariable("var", MakeTensor(DT_FLOAT, {1, 2, 3}, {n}));
  ASSERT_THAT(RunOp("ResourceApplyGradientDescent", {var, AsScalar<float>(0.5f), MakeTensor(DT_FLOAT, {2, 4, 8}, {n})}),
              IsOk());
  ExpectTensorEqual(Read(var), MakeTensor(DT_FLOAT, {0, 0, -1}, {n}));
}

TEST_F(TrainingTest, AReaderKeepsTheValueThatItTook) {
  const Tensor var = MakeVariable("var", AsTensor<float>({1, 2}));
  const Tensor taken = Read(var);
  ASSERT_THAT(RunOp("ResourceApplyGradientDescent", {var, AsScalar<float>(1), AsTensor<float>({1, 1})}), IsOk());
  ExpectTensorEqual(taken, AsTensor<float>({1, 2}));
  ExpectTensorEqual(Read(var), AsTensor<float>({0, 1}));
}

TEST_F(TrainingTest, OneVariableMayStandForTwo) {
  const Tensor var = MakeVariable("var", AsTensor<float>({1, 2}));
  EXPECT_THAT(
      RunOp("ResourceApplyMomentum", {var, var, AsScalar<float>(1), AsTensor<float>({1, 1}), AsScalar<float>(0.9f)}),
      IsOk());
}

TEST_F(TrainingTest, BadInputsAreErrors) {
  const Tensor var = MakeVariable("var", AsTensor<float>({1, 2, 3}, {3, 1}));
  const Tensor other = MakeVariable("other", AsTensor<float>({1, 2}));
  const Tensor integers = MakeVariable("integers", AsTensor<int32_t>({1, 2, 3}, {3, 1}));
  Tensor missing = var;
  missing = Tensor::Scalar(device()->resources()->MakeHandle<Variable>(device()->name(), "localhost", "no", "Var"));
  const Tensor one = AsScalar<float>(1), row = AsTensor<float>({1}, {1, 1}), at = AsTensor<int32_t>({0});
  const struct {
    std::string op;
    std::vector<TestInput> inputs;
    absl::StatusCode code;
    std::string message;
  } cases[] = {
      {"ResourceApplyGradientDescent", {missing, one, one}, absl::StatusCode::kInternal, "Invalid variable reference"},
      {"ResourceApplyGradientDescent", {integers, one, one}, absl::StatusCode::kInvalidArgument, "wrong dtype"},
      {"ResourceApplyGradientDescent", {var, at, one}, absl::StatusCode::kInvalidArgument, ""},
      {"ResourceApplyGradientDescent",
       {var, AsTensor<float>({1}), one},
       absl::StatusCode::kInvalidArgument,
       "alpha is not a scalar: [1]"},
      {"ResourceApplyGradientDescent",
       {var, one, one},
       absl::StatusCode::kInvalidArgument,
       "var and delta do not have the same shape[3,1] []"},
      {"ResourceApplyMomentum",
       {var, other, one, row, one},
       absl::StatusCode::kInvalidArgument,
       "var and accum do not have the same shape[3,1] [2]"},
      {"ResourceSparseApplyAdagrad",
       {var, var, one, row, AsTensor<int32_t>({3})},
       absl::StatusCode::kInvalidArgument,
       "Index 3 at offset 0 in indices is out of range"},
      {"ResourceSparseApplyAdagrad",
       {var, var, one, row, AsTensor<int64_t>({-1})},
       absl::StatusCode::kInvalidArgument,
       "Index -1 at offset 0 in indices is out of range"},
      {"ResourceSparseApplyAdagrad",
       {var, var, one, row, AsTensor<int32_t>({0, 1})},
       absl::StatusCode::kInvalidArgument,
       "grad must be the same size as indices in the first dimension."},
      {"ResourceSparseApplyAdagrad",
       {var, var, one, AsTensor<float>({1, 2}, {1, 2}), at},
       absl::StatusCode::kInvalidArgument,
       "var and grad must match in dimension 1"},
      {"ResourceSparseApplyAdagrad", {var, var, one, one, at}, absl::StatusCode::kInvalidArgument, "rank"},
      {"ResourceSparseApplyAdagrad",
       {var, var, one, row, AsScalar<int32_t>(0)},
       absl::StatusCode::kInvalidArgument,
       "indices must be one-dimensional"},
      {"ResourceApplyFtrl",
       {var, var, var, row, AsScalar<float>(-1), one, one, one},
       absl::StatusCode::kInvalidArgument,
       "lr is not a positive scalar"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(RunOp(c.op, c.inputs, Attrs().Set("T", DT_FLOAT)), StatusIs(c.code, HasSubstr(c.message))) << c.op;
  }
  ExpectTensorEqual(Read(var), AsTensor<float>({1, 2, 3}, {3, 1}));
}

}  // namespace
}  // namespace weir
