// Every kernel for GPUs gives what the CPU's gives.
#include <random>
#include <set>

#include "core/attr_value.h"
#include "core/numeric_types.h"
#include "kernels/cuda/elementwise_args.h"
#include "kernels/register_all.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gpu/gpu_session_testing.h"

namespace weir {
namespace {

// Not here: those that hand tensors on, and variables, which gpu_session_test and tests/session run.
const std::set<std::string>& CheckedElsewhere() {
  static const auto* const ops = new std::set<std::string>{"NoOp",
                                                           "ControlTrigger",
                                                           "Const",
                                                           "HostConst",
                                                           "Placeholder",
                                                           "PlaceholderWithDefault",
                                                           "Identity",
                                                           "IdentityN",
                                                           "StopGradient",
                                                           "PreventGradient",
                                                           "Switch",
                                                           "_SwitchN",
                                                           "Merge",
                                                           "Enter",
                                                           "Exit",
                                                           "NextIteration",
                                                           "LoopCond",
                                                           "_Send",
                                                           "_HostSend",
                                                           "_Recv",
                                                           "_HostRecv",
                                                           "_Arg",
                                                           "_Retval",
                                                           "PartitionedCall",
                                                           "StatefulPartitionedCall",
                                                           "If",
                                                           "StatelessIf",
                                                           "Case",
                                                           "StatelessCase",
                                                           "While",
                                                           "StatelessWhile",
                                                           "VarHandleOp",
                                                           "VarIsInitializedOp",
                                                           "ReadVariableOp",
                                                           "AssignVariableOp",
                                                           "DestroyResourceOp",
                                                           "VariableShape",
                                                           "AssignAddVariableOp",
                                                           "AssignSubVariableOp",
                                                           "_CopyToDevice",
                                                           "CollectiveReduce",
                                                           "CollectiveGather",
                                                           "CollectiveBcastSend",
                                                           "CollectiveBcastRecv",
                                                           "CollectiveReduceV2",
                                                           "CollectiveGatherV2",
                                                           "CollectiveAllToAllV2",
                                                           "CollectiveReduceScatterV2",
                                                           "CollectiveBcastSendV2",
                                                           "CollectiveBcastRecvV2",
                                                           "CollectiveInitializeCommunicator",
                                                           "CollectiveReduceV3",
                                                           "CollectiveAllToAllV3",
                                                           "_CopyToHost",
                                                           "_CopyFromPeer",
                                                           "ResourceApplyGradientDescent",
                                                           "ResourceApplyMomentum",
                                                           "ResourceApplyAdam",
                                                           "ResourceGather"};
  return *ops;
}

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
      return 1e-12;
    default:
      return 2e-5;
  }
}

class GpuAgreementTest : public GpuSessionTest {
 protected:
  GpuAgreementTest() { EXPECT_THAT(RegisterAllKernels(kernels_), IsOk()); }
  using Arguments = std::vector<std::vector<Tensor>>;

  // Adds `op` on the CPU and on the GPU, of fed inputs.
  void Add(const std::string& op, std::vector<Tensor> inputs, const tensorflow::NodeDef& attrs = {}) {
    Arguments arguments;
    for (Tensor& input : inputs) arguments.push_back({std::move(input)});
    AddLists(op, std::move(arguments), attrs);
  }
  // The same where arguments are lists.
  void AddLists(const std::string& op, Arguments arguments, const tensorflow::NodeDef& attrs = {}) {
    checked_.insert(op);
    std::vector<InputList> fed;
    for (std::vector<Tensor>& list : arguments) {
      OutputList members;
      for (Tensor& input : list) {
        members.push_back(ops::Placeholder(Cpu(), input.dtype()));
        feeds_.emplace_back(members.back(), std::move(input));
      }
      fed.emplace_back(members.begin(), members.end());
    }
    AddOf(op, fed, attrs);
  }
  void AddOf(const std::string& op, const std::vector<InputList>& inputs, const tensorflow::NodeDef& attrs) {
    tensorflow::NodeDef def = attrs;
    def.set_op(op);
    const Operation cpu = Cpu().AddOp(def, inputs), gpu = Gpu().AddOp(def, inputs);
    ASSERT_TRUE(scope_.ok()) << op << ": " << scope_.status();
    // Some types are a GPU's alone, as in TensorFlow: kernels/cuda's own suite checks them.
    if (!kernels_.Find(cpu.node()->def(), kDeviceCpu).ok()) return;
    for (int i = 0; i < cpu.node()->num_outputs(); ++i) {
      names_.push_back(absl::StrCat(op, ":", i));
      fetches_.emplace_back(cpu, i);
      fetches_.emplace_back(gpu, i);
    }
  }
  void Compare() {
    const std::vector<Tensor> out = Run(feeds_, fetches_);
    for (size_t i = 0; i < names_.size(); ++i) {
      const Tensor& expected = out[2 * i];
      const std::string context = absl::StrCat(names_[i], " of ", DataTypeName(expected.dtype()));
      ExpectTensorNear(out[2 * i + 1], expected, Tolerance(expected), Tolerance(expected), context);
    }
  }
  template <typename V>
  static tensorflow::NodeDef Attr(const char* name, const V& value, tensorflow::NodeDef node = {}) {
    SetNodeAttr(name, value, &node);
    return node;
  }
  Tensor Of(DataType type, const TensorShape& shape) { return Random(type, random_, shape); }

  void AddElementwise();
  void AddFloats(DataType type);
  void AddMoves(DataType type);
  void AddInt32();

  KernelRegistry kernels_;
  std::mt19937 random_{17};
  FeedList feeds_;
  OutputList fetches_;
  std::vector<std::string> names_;
  std::set<std::string> checked_;
};

const DataType kFloats[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};

void GpuAgreementTest::AddElementwise() {
  const ElementwiseTable table = SimulatedElementwiseTable();
  for (int i = 0; i < table.size; ++i) {
    const auto type = static_cast<DataType>(table.entries[i].type);
    std::vector<Tensor> inputs = {Of(type, TensorShape({3, 1, 5}))};
    if (table.entries[i].num_operands == 2) {
      const bool is_gradient = std::string(table.entries[i].op).ends_with("Grad");
      inputs.push_back(Of(type, is_gradient ? TensorShape({3, 1, 5}) : TensorShape({2, 5})));
    }
    Add(table.entries[i].op, std::move(inputs));
  }
}

void GpuAgreementTest::AddFloats(DataType type) {
  const TensorShape matrix({4, 6}), cube({2, 3, 4});
  for (const bool keep : {false, true}) {
    for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min"}) {
      const auto attrs = Attr("keep_dims", keep);
      Add(op, {Of(type, cube), AsTensor<int32_t>({1})}, attrs);
      Add(op, {Of(type, cube), AsTensor<int32_t>({0, -1})}, attrs);
      Add(op, {Of(type, cube), AsTensor<int64_t>({0, 1, 2})}, attrs);
      Add(op, {Of(type, cube), Tensor(DT_INT32, TensorShape({0}))}, attrs);
    }
  }
  Add("Sum", {Of(type, TensorShape({0, 3})), AsTensor<int32_t>({0})});
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      Add("MatMul",
          {Of(type, a ? TensorShape({6, 4}) : matrix), Of(type, b ? TensorShape({5, 6}) : TensorShape({6, 5}))},
          Attr("transpose_a", a, Attr("transpose_b", b)));
    }
  }
  Add("MatMul", {Of(type, TensorShape({2, 0})), Of(type, TensorShape({0, 3}))});
  Add("BiasAdd", {Of(type, matrix), Of(type, TensorShape({6}))});
  Add("BiasAdd", {Of(type, cube), Of(type, TensorShape({3}))}, Attr("data_format", std::string("NCHW")));
  Add("BiasAddV1", {Of(type, matrix), Of(type, TensorShape({6}))});
  Add("BiasAddGrad", {Of(type, matrix)});
  Add("BiasAddGrad", {Of(type, cube)}, Attr("data_format", std::string("NCHW")));
  Add("Softmax", {Of(type, matrix)});
  Add("LogSoftmax", {Of(type, cube)});
  Add("SoftmaxCrossEntropyWithLogits", {Of(type, matrix), Of(type, matrix)});
  Add("SparseSoftmaxCrossEntropyWithLogits", {Of(type, matrix), AsTensor<int32_t>({5, 0, 2, 3})});
  Add("SparseSoftmaxCrossEntropyWithLogits", {Of(type, matrix), AsTensor<int64_t>({5, 0, 2, 3})});
  AddLists("AddN", {{Of(type, matrix), Of(type, matrix), Of(type, matrix)}});
}

void GpuAgreementTest::AddMoves(DataType type) {
  const TensorShape matrix({4, 6}), cube({2, 3, 4});
  Add("Fill", {AsTensor<int32_t>({2, 3}), Of(type, TensorShape())});
  Add("ZerosLike", {Of(type, matrix)});
  Add("OnesLike", {Of(type, matrix)});
  Add("Transpose", {Of(type, cube), AsTensor<int32_t>({2, 0, 1})});
  Add("Transpose", {Of(type, matrix), AsTensor<int64_t>({1, 0})});
  Add("Slice", {Of(type, cube), AsTensor<int32_t>({1, 0, 1}), AsTensor<int32_t>({1, 2, -1})});
  Add("Tile", {Of(type, matrix), AsTensor<int32_t>({2, 3})});
  AddLists("ConcatV2",
           {{Of(type, matrix), Of(type, TensorShape({4, 0})), Of(type, TensorShape({4, 2}))}, {AsScalar<int32_t>(1)}});
  AddLists("Concat", {{AsScalar<int32_t>(0)}, {Of(type, matrix), Of(type, matrix)}});
  Add("GatherV2", {Of(type, cube), AsTensor<int32_t>({2, 0, 2}), AsScalar<int32_t>(1)});
  Add("GatherV2", {Of(type, cube), AsTensor<int64_t>({1, 1}, {1, 2}), AsScalar<int64_t>(0)});
  Add("Gather", {Of(type, matrix), AsTensor<int32_t>({3, 1})});
  Add("Reshape", {Of(type, matrix), AsTensor<int32_t>({3, -1})});
  Add("ExpandDims", {Of(type, matrix), AsScalar<int32_t>(1)});
  Add("Squeeze", {Of(type, TensorShape({1, 4, 1}))});
  for (const DataType to : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_BOOL}) {
    Add("Cast", {Of(type, matrix)}, Attr("DstT", to));
  }
  Add("Shape", {Of(type, matrix)});
  Add("Size", {Of(type, matrix)});
  Add("Rank", {Of(type, matrix)});
  AddLists("ShapeN", {{Of(type, matrix), Of(type, cube)}});
}

// What lies in host memory there.
void GpuAgreementTest::AddInt32() {
  const auto of = [this](const TensorShape& shape) { return Of(DT_INT32, shape); };
  const TensorShape row({4});
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "Less", "LessEqual", "Greater",
                         "GreaterEqual", "Equal", "NotEqual"}) {
    Add(op, {of(row), of(row)});
  }
  for (const char* op : {"FloorDiv", "FloorMod"}) Add(op, {of(row), AsTensor<int32_t>({2, 3, -2, 5})});
  for (const char* op : {"Neg", "Abs", "Sign", "Square", "ZerosLike", "OnesLike", "Snapshot"}) Add(op, {of(row)});
  for (const char* op : {"Sum", "Prod", "Max", "Min"}) Add(op, {of(TensorShape({2, 3})), AsTensor<int32_t>({1})});
  AddLists("Pack", {{of(row), of(row)}});
  Add("Unpack", {of(TensorShape({2, 3}))}, Attr("num", int64_t{2}));
  AddLists("ConcatV2", {{of(row), of(row)}, {AsScalar<int32_t>(0)}});
  AddLists("Concat", {{AsScalar<int32_t>(0)}, {of(row), of(row)}});
  AddLists("ConcatOffset", {{AsScalar<int32_t>(0)}, {AsTensor<int32_t>({2, 3}), AsTensor<int32_t>({4, 3})}});
  Add("Split", {AsScalar<int32_t>(0), of(row)}, Attr("num_split", int64_t{2}));
  Add("SplitV", {of(row), AsTensor<int32_t>({1, 3}), AsScalar<int32_t>(0)}, Attr("num_split", int64_t{2}));
  Add("Slice", {of(row), AsTensor<int32_t>({1}), AsTensor<int32_t>({2})});
  Add("StridedSlice", {of(row), AsTensor<int32_t>({0}), AsTensor<int32_t>({4}), AsTensor<int32_t>({2})});
  Add("Fill", {AsTensor<int32_t>({2}), AsScalar<int32_t>(7)});
  Add("Tile", {of(row), AsTensor<int32_t>({2})});
  Add("Transpose", {of(TensorShape({2, 3})), AsTensor<int32_t>({1, 0})});
  Add("GatherV2", {of(row), AsTensor<int32_t>({3, 0}), AsScalar<int32_t>(0)});
  Add("InvertPermutation", {AsTensor<int32_t>({1, 2, 0})});
  Add("Range", {AsScalar<int32_t>(1), AsScalar<int32_t>(9), AsScalar<int32_t>(3)});
  for (const char* op : {"BroadcastArgs", "BroadcastGradientArgs"}) {
    Add(op, {AsTensor<int32_t>({2, 1, 3}), AsTensor<int32_t>({4, 1})});
  }
}

TEST_F(GpuAgreementTest, EveryKernelAgreesWithTheCpus) {
  AddElementwise();
  for (const DataType type : kFloats) {
    AddFloats(type);
    AddMoves(type);
  }
  AddMoves(DT_INT64);
  AddMoves(DT_BOOL);
  for (const char* op : {"Sum", "Max", "Min"}) {
    Add(op, {Of(DT_INT64, TensorShape({2, 3})), AsTensor<int32_t>({1})});
  }
  for (const char* op : {"All", "Any"}) Add(op, {Of(DT_BOOL, TensorShape({4, 3})), AsTensor<int32_t>({1})});
  AddLists("AddN", {{Of(DT_INT64, TensorShape({3})), Of(DT_INT64, TensorShape({3}))}});
  AddInt32();
  Compare();

  OpRegistry ops;
  ASSERT_THAT(RegisterAllOps(ops), IsOk());
  for (const OpRegistration* op : ops.All()) {
    const std::string& name = op->op_def->name();
    if (!kernels_.HasKernel(name, kDeviceGpu) || CheckedElsewhere().contains(name)) continue;
    EXPECT_TRUE(checked_.contains(name)) << name << " has a kernel for GPUs that no case checks";
  }
}

}  // namespace
}  // namespace weir
