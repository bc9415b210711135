#include "tests/gpu/gpu_agreement_testing.h"

#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "core/tensor/numeric_types.h"
#include "graph/graph.h"
#include "kernels/library.h"
#include "tests/gpu/local_session.h"

namespace weir {
namespace {

template <typename T>
Tensor Random(std::mt19937& random, const TensorShape& shape) {
  std::uniform_real_distribution<float> reals(0.2f, 1.8f);
  std::uniform_int_distribution<int> integers(-9, 9);
  Tensor tensor(DataTypeOf<T>(), shape);
  for (T& x : tensor.flat<T>()) {
    if constexpr (std::is_same_v<T, bool>) {
      x = integers(random) > 0;
    } else if constexpr (std::is_integral_v<T>) {
      x = static_cast<T>(integers(random));
    } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
      x = T(reals(random), reals(random) - 1);
    } else {
      x = static_cast<T>(reals(random));
    }
  }
  return tensor;
}

Tensor Random(DataType type, std::mt19937& random, const TensorShape& shape) {
  switch (type) {
    case DT_DOUBLE:
      return Random<double>(random, shape);
    case DT_HALF:
      return Random<half>(random, shape);
    case DT_BFLOAT16:
      return Random<bfloat16>(random, shape);
    case DT_INT32:
      return Random<int32_t>(random, shape);
    case DT_INT64:
      return Random<int64_t>(random, shape);
    case DT_BOOL:
      return Random<bool>(random, shape);
    case DT_INT8:
      return Random<int8_t>(random, shape);
    case DT_UINT8:
      return Random<uint8_t>(random, shape);
    case DT_INT16:
      return Random<int16_t>(random, shape);
    case DT_UINT16:
      return Random<uint16_t>(random, shape);
    case DT_UINT32:
      return Random<uint32_t>(random, shape);
    case DT_UINT64:
      return Random<uint64_t>(random, shape);
    case DT_COMPLEX64:
      return Random<complex64>(random, shape);
    case DT_COMPLEX128:
      return Random<complex128>(random, shape);
    default:
      return Random<float>(random, shape);
  }
}

double Tolerance(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DT_HALF:
      return 4e-3;
    case DT_BFLOAT16:
      return 3e-2;
    case DT_DOUBLE:
    case DT_COMPLEX128:
      return 1e-12;
    default:
      return 2e-5;
  }
}

// Arguments of one tensor each.
std::vector<InputList> Singles(const OutputList& outputs) {
  std::vector<InputList> lists;
  for (const Output& output : outputs) lists.push_back({output});
  return lists;
}

}  // namespace

GpuAgreementTest::GpuAgreementTest() { EXPECT_THAT(RegisterAllKernels(kernels_), IsOk()); }

void GpuKernelAgreementTest::SetUp() {
  if (GetParam() == "Simulated") return;
  absl::StatusOr<GpuPlatform> gpus = MachineGpusOrReason();
  if (absl::IsUnavailable(gpus.status())) GTEST_SKIP() << gpus.status().message();
  ASSERT_THAT(gpus, IsOk());
  platform_ = *std::move(gpus);
}

Tensor GpuAgreementTest::Of(DataType type, const TensorShape& shape) { return Random(type, random_, shape); }

Output GpuAgreementTest::Fed(Tensor value) {
  const Output placeholder = ops::Placeholder(Cpu(), value.dtype());
  feeds_.emplace_back(placeholder, std::move(value));
  return placeholder;
}

void GpuAgreementTest::Add(const std::string& op, std::vector<Tensor> inputs, const tensorflow::NodeDef& attrs) {
  Arguments arguments;
  for (Tensor& input : inputs) arguments.push_back({std::move(input)});
  AddLists(op, std::move(arguments), attrs);
}

void GpuAgreementTest::AddLists(const std::string& op, Arguments arguments, const tensorflow::NodeDef& attrs) {
  std::vector<InputList> fed;
  for (std::vector<Tensor>& list : arguments) {
    OutputList members;
    for (Tensor& input : list) members.push_back(Fed(std::move(input)));
    fed.emplace_back(members.begin(), members.end());
  }
  AddOf(op, fed, attrs);
}

void GpuAgreementTest::AddOf(const std::string& op, const std::vector<InputList>& inputs,
                             const tensorflow::NodeDef& attrs) {
  tensorflow::NodeDef def = attrs;
  def.set_op(op);
  const Operation cpu = Cpu().AddOp(def, inputs), gpu = Gpu().AddOp(def, inputs);
  ASSERT_TRUE(scope_.ok()) << op << ": " << scope_.status();
  // Some types are a GPU's alone, as in TensorFlow: KernelsCheckedElsewhere says where these are checked.
  if (!kernels_.Find(cpu.node()->def(), kDeviceCpu).ok()) return;
  for (int i = 0; i < cpu.node()->num_outputs(); ++i) {
    names_.push_back(absl::StrCat(op, ":", i));
    fetches_.emplace_back(cpu, i);
    fetches_.emplace_back(gpu, i);
  }
}

std::vector<Output> GpuAgreementTest::NewVariables(const Scope& scope, const std::vector<Tensor>& values,
                                                   bool are_references, std::vector<Operation>* assigned) {
  std::vector<Output> handles;
  for (const Tensor& value : values) {
    tensorflow::NodeDef handle = Attr("dtype", value.dtype(), Attr("shape", value.shape()));
    SetNodeAttr("shared_name", absl::StrCat("v", num_variables_++), &handle);
    handle.set_op(are_references ? "VariableV2" : "VarHandleOp");
    handles.emplace_back(scope.AddOp(handle, {}), 0);
    tensorflow::NodeDef assign;
    assign.set_op(are_references ? "Assign" : "AssignVariableOp");
    assigned->push_back(scope.AddOp(assign, Singles({handles.back(), Fed(value)})));
  }
  return handles;
}

void GpuAgreementTest::AddUpdate(const std::string& op, const std::vector<Tensor>& variables,
                                 std::vector<Tensor> inputs, const tensorflow::NodeDef& attrs) {
  const bool are_references = !absl::StartsWith(op, "Resource") && !absl::EndsWith(op, "VariableOp");
  OutputList fed;
  for (Tensor& input : inputs) fed.push_back(Fed(std::move(input)));
  OutputList values[2];
  for (const bool is_gpu : {false, true}) {
    const Scope scope = is_gpu ? Gpu() : Cpu();
    std::vector<Operation> before;
    const std::vector<Output> handles = NewVariables(scope, variables, are_references, &before);
    OutputList all(handles.begin(), handles.end());
    all.insert(all.end(), fed.begin(), fed.end());
    tensorflow::NodeDef def = attrs;
    def.set_op(op);
    const Operation update = scope.WithControlDependencies(before).AddOp(def, Singles(all));
    ASSERT_TRUE(scope_.ok()) << op << ": " << scope_.status();
    const Scope after = scope.WithControlDependencies(std::vector<Operation>{update});
    for (size_t i = 0; i < handles.size(); ++i) {
      tensorflow::NodeDef read = Attr(are_references ? "T" : "dtype", variables[i].dtype());
      read.set_op(are_references ? "Identity" : "ReadVariableOp");
      values[is_gpu].emplace_back(after.AddOp(read, Singles({handles[i]})), 0);
    }
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    names_.push_back(absl::StrCat(op, ": variable ", i));
    fetches_.push_back(values[0][i]);
    fetches_.push_back(values[1][i]);
  }
}

void GpuAgreementTest::AddRead(const std::string& op, const Tensor& variable, std::vector<Tensor> inputs,
                               const tensorflow::NodeDef& attrs) {
  OutputList fed;
  for (Tensor& input : inputs) fed.push_back(Fed(std::move(input)));
  names_.push_back(op);
  for (const bool is_gpu : {false, true}) {
    const Scope scope = is_gpu ? Gpu() : Cpu();
    std::vector<Operation> before;
    OutputList all = {NewVariables(scope, {variable}, /*are_references=*/false, &before)[0]};
    all.insert(all.end(), fed.begin(), fed.end());
    tensorflow::NodeDef def = attrs;
    def.set_op(op);
    fetches_.emplace_back(scope.WithControlDependencies(before).AddOp(def, Singles(all)), 0);
    ASSERT_TRUE(scope_.ok()) << op << ": " << scope_.status();
  }
}

Operation GpuAgreementTest::Node(const Scope& scope, const std::string& op, const std::vector<Input>& inputs,
                                 tensorflow::NodeDef attrs) {
  std::vector<InputList> lists;
  for (const Input& input : inputs) lists.push_back({input});
  attrs.set_op(op);
  return scope.AddOp(std::move(attrs), lists);
}

void GpuAgreementTest::AddProgram(const std::string& name, std::vector<Tensor> inputs, const Program& build) {
  OutputList fed;
  for (Tensor& input : inputs) fed.push_back(Fed(std::move(input)));
  const OutputList cpu = build(Cpu(), fed), gpu = build(Gpu(), fed);
  ASSERT_TRUE(scope_.ok()) << name << ": " << scope_.status();
  for (size_t i = 0; i < cpu.size(); ++i) {
    names_.push_back(absl::StrCat(name, ":", i));
    fetches_.push_back(cpu[i]);
    fetches_.push_back(gpu[i]);
  }
}

void GpuAgreementTest::ExpectSameFailure(std::vector<Tensor> inputs, const Program& build) {
  FeedList feeds;
  OutputList fed;
  for (Tensor& input : inputs) {
    fed.push_back(ops::Placeholder(Cpu(), input.dtype()));
    feeds.emplace_back(fed.back(), std::move(input));
  }
  std::string messages[2];
  for (const bool is_gpu : {false, true}) {
    const OutputList out = build(is_gpu ? Gpu() : Cpu(), fed);
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    const absl::Status status = session().Run(feeds, out).status();
    EXPECT_FALSE(status.ok()) << (is_gpu ? "on the GPU" : "on the CPU");
    // Up to the names of the nodes, and of what they made, which number them.
    std::string& message = messages[is_gpu];
    message = absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
    message = std::regex_replace(message, std::regex("_[0-9]+"), "");
    message = absl::StrReplaceAll(message, {{"GPU", "CPU"}});
  }
  EXPECT_EQ(messages[1], messages[0]);
}

void GpuAgreementTest::ExpectSameError(const std::string& op, std::vector<Tensor> inputs,
                                       const tensorflow::NodeDef& attrs) {
  FeedList feeds;
  OutputList fed;
  for (Tensor& input : inputs) {
    fed.push_back(ops::Placeholder(Cpu(), input.dtype()));
    feeds.emplace_back(fed.back(), std::move(input));
  }
  std::string messages[2];
  for (const bool is_gpu : {false, true}) {
    tensorflow::NodeDef def = attrs;
    def.set_op(op);
    const Operation node = (is_gpu ? Gpu() : Cpu()).WithName("refusing").AddOp(def, Singles(fed));
    ASSERT_TRUE(scope_.ok()) << op << ": " << scope_.status();
    const absl::Status status = session().Run(feeds, {Output(node, 0)}).status();
    messages[is_gpu] =
        absl::StrReplaceAll(absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message()),
                            {{node.node()->name(), "node"}, {"GPU", "CPU"}});
    EXPECT_FALSE(status.ok()) << op << (is_gpu ? " on the GPU" : " on the CPU");
  }
  EXPECT_EQ(messages[1], messages[0]);
}

void GpuAgreementTest::Compare() {
  const std::vector<Tensor> out = Run(feeds_, fetches_);
  ASSERT_EQ(out.size(), fetches_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    const Tensor& expected = out[2 * i];
    const std::string context = absl::StrCat(names_[i], " of ", DataTypeName(expected.dtype()));
    ExpectTensorNear(out[2 * i + 1], expected, Tolerance(expected), Tolerance(expected), context);
  }
}

}  // namespace weir
