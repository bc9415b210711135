// Every kernel for GPUs gives what the CPU's gives.
#include "kernels/cuda/elementwise_args.h"
#include "kernels/register_all.h"
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

namespace {

const DataType kFloats[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};

// Not here: those that hand tensors on, and variables, which gpu_session_test and tests/session run; and what passes
// make, which no client may ask for (kernels/cuda/kernel_conformance_testing.h has it).
const std::set<std::string>& CheckedElsewhere() {
  static const auto* const ops = new std::set<std::string>{"NoOp",
                                                           "_FusedMatMul",
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
                                                           "_CopyFromPeer"};
  return *ops;
}

}  // namespace

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
  for (const bool x : {false, true}) {
    const TensorShape left = x ? TensorShape({2, 3, 6, 4}) : TensorShape({2, 3, 4, 6});
    const auto attrs = Attr("adj_x", x, Attr("adj_y", !x));
    const TensorShape right = x ? TensorShape({2, 3, 6, 5}) : TensorShape({2, 3, 5, 6});
    Add("BatchMatMul", {Of(type, left), Of(type, right)}, attrs);
    Add("BatchMatMulV2", {Of(type, left), Of(type, right)}, attrs);
    Add("BatchMatMulV2", {Of(type, left), Of(type, x ? TensorShape({1, 6, 5}) : TensorShape({1, 5, 6}))}, attrs);
    Add("BatchMatMulV2", {Of(type, left), Of(type, x ? TensorShape({2, 1, 6, 5}) : TensorShape({2, 1, 5, 6}))}, attrs);
  }
  Add("L2Loss", {Of(type, cube)});
  Add("L2Loss", {Of(type, TensorShape({0}))});
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

namespace {

TEST_F(GpuAgreementTest, EveryKernelAgreesWithTheCpus) {
  AddElementwise();
  for (const DataType type : kFloats) {
    AddFloats(type);
    AddMoves(type);
  }
  AddMoves(DT_INT64);
  AddMoves(DT_BOOL);
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64}) AddIndexed(type);
  for (const DataType type : kFloats) {
    AddSteps(type);
    AddRandom(type);
    AddConvolutions(type);
    AddPools(type);
    if (type != DT_DOUBLE) AddNorms(type);
  }
  AddRandomIntegers();
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
