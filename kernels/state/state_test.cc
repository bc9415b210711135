#include "core/kernel/variable.h"
#include "core/tensor/numeric_types.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

class StateTest : public OpTest {
 protected:
  Tensor Handle(const std::string& name, DataType type = DT_FLOAT) {
    absl::StatusOr<Tensor> handle = RunOp1(
        "VarHandleOp", {}, Attrs().Set("shared_name", name).Set("dtype", type).Set("shape", PartialTensorShape()));
    EXPECT_THAT(handle, IsOk());
    return *handle;
  }
  Tensor MakeVariable(const std::string& name, const Tensor& value) {
    const Tensor handle = Handle(name, value.dtype());
    EXPECT_THAT(RunOp("AssignVariableOp", {handle, value}), IsOk());
    return handle;
  }
  absl::StatusOr<Tensor> Read(const Tensor& handle, DataType type = DT_FLOAT) {
    return RunOp1("ReadVariableOp", {handle}, Attrs().Set("dtype", type));
  }
  void ExpectValue(const Tensor& handle, const Tensor& expected) {
    ASSERT_OK_AND_ASSIGN(Tensor value, Read(handle, expected.dtype()));
    ExpectTensorEqual(value, expected);
  }

  std::mutex mutex_;
};

TEST_F(StateTest, AVariableHoldsWhatWasAssigned) {
  const Tensor v = Handle("v");
  ASSERT_OK_AND_ASSIGN(Tensor initialized, RunOp1("VarIsInitializedOp", {v}));
  EXPECT_FALSE(initialized.scalar<bool>());
  ASSERT_THAT(RunOp("AssignVariableOp", {v, AsTensor<float>({1, 2})}), IsOk());
  ExpectValue(v, AsTensor<float>({1, 2}));
  ASSERT_OK_AND_ASSIGN(initialized, RunOp1("VarIsInitializedOp", {v}));
  EXPECT_TRUE(initialized.scalar<bool>());
  ASSERT_OK_AND_ASSIGN(Tensor shape, RunOp1("VariableShape", {v}, Attrs().Set("out_type", DT_INT64)));
  ExpectTensorEqual(shape, AsTensor<int64_t>({2}));
  ASSERT_THAT(RunOp("AssignAddVariableOp", {v, AsTensor<float>({10, 20})}), IsOk());
  ASSERT_THAT(RunOp("AssignSubVariableOp", {v, AsTensor<float>({1, 1})}), IsOk());
  ExpectValue(v, AsTensor<float>({10, 21}));
  ASSERT_THAT(RunOp("DestroyResourceOp", {v}), IsOk());
  EXPECT_THAT(Read(v), StatusIs(Code::kFailedPrecondition, HasSubstr("Could not find variable v")));
  EXPECT_THAT(RunOp("DestroyResourceOp", {v}), IsOk());
  EXPECT_THAT(RunOp("DestroyResourceOp", {v}, Attrs().Set("ignore_lookup_error", false)), StatusIs(Code::kNotFound));
}

TEST_F(StateTest, NamesAndContainersTellVariablesApart) {
  const Tensor a = MakeVariable("a", AsScalar<float>(1));
  MakeVariable("b", AsScalar<float>(2));
  ExpectValue(Handle("a"), AsScalar<float>(1));
  ASSERT_OK_AND_ASSIGN(Tensor elsewhere, RunOp1("VarHandleOp", {},
                                                Attrs()
                                                    .Set("shared_name", "a")
                                                    .Set("container", "c")
                                                    .Set("dtype", DT_FLOAT)
                                                    .Set("shape", PartialTensorShape())));
  EXPECT_THAT(Read(elsewhere), StatusIs(Code::kFailedPrecondition, HasSubstr("Container: c")));
}

TEST_F(StateTest, AnonymousVariablesAreNewEachTime) {
  const Attrs attrs = Attrs()
                          .Set("shared_name", "cd2c89b7-88b7-44c8-ad83-06c2a9158347")
                          .Set("dtype", DT_FLOAT)
                          .Set("shape", PartialTensorShape());
  ASSERT_OK_AND_ASSIGN(auto kernel, MakeOp("VarHandleOp", {}, attrs));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> first, RunKernel(*kernel, {}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> second, RunKernel(*kernel, {}));
  EXPECT_NE(first[0].scalar<ResourceHandle>().name, second[0].scalar<ResourceHandle>().name);
}

TEST_F(StateTest, ReadersKeepTheValueThatTheyTook) {
  const Tensor v = MakeVariable("v", AsTensor<float>({1, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor taken, Read(v));
  const float* const before = taken.data<float>();
  ASSERT_THAT(RunOp("AssignAddVariableOp", {v, AsTensor<float>({1, 1})}), IsOk());
  ASSERT_THAT(RunOp("ResourceScatterAdd", {v, AsTensor<int32_t>({0}), AsTensor<float>({5})}), IsOk());
  ExpectTensorEqual(taken, AsTensor<float>({1, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor now, Read(v));
  ExpectTensorEqual(now, AsTensor<float>({7, 3}));
  EXPECT_NE(now.data<float>(), before);
}

TEST_F(StateTest, ReadersOfAReferenceSeeLaterUpdates) {
  Tensor v = AsTensor<float>({1, 2});
  const Tensor taken = v;
  const TestInput ref = TestInput::Ref(&v, &mutex_);
  ASSERT_THAT(RunOp("AssignAdd", {ref, AsTensor<float>({1, 1})}), IsOk());
  ExpectTensorEqual(taken, AsTensor<float>({2, 3}));
  const Tensor value = AsTensor<float>({8, 9});
  ASSERT_THAT(RunOp("Assign", {ref, value}), IsOk());
  ExpectTensorEqual(taken, value);
  ASSERT_THAT(RunOp("ScatterUpdate", {ref, AsTensor<int32_t>({0}), AsTensor<float>({5})}), IsOk());
  ExpectTensorEqual(taken, AsTensor<float>({5, 9}));
  ExpectTensorEqual(value, AsTensor<float>({8, 9}));
}

TEST_F(StateTest, IndicesThatWereReadDoNotChange) {
  Tensor v = AsTensor<int32_t>({1, 2});
  const Tensor taken = v;
  ASSERT_THAT(RunOp("AssignAdd", {TestInput::Ref(&v, &mutex_), AsTensor<int32_t>({1, 1})}), IsOk());
  ExpectTensorEqual(taken, AsTensor<int32_t>({1, 2}));
  ExpectTensorEqual(v, AsTensor<int32_t>({2, 3}));
}

TEST_F(StateTest, AnUpdateThatIsAloneWritesInPlace) {
  const Tensor v = MakeVariable("v", AsTensor<float>({1, 2}));
  const auto data = [&] {  // without a reference that would make the buffer shared
    return (*device()->resources()->Lookup<Variable>(v.scalar<ResourceHandle>()))->tensor()->data<float>();
  };
  ASSERT_THAT(RunOp("AssignAddVariableOp", {v, AsTensor<float>({1, 1})}), IsOk());
  const float* const before = data();
  ASSERT_THAT(RunOp("AssignAddVariableOp", {v, AsTensor<float>({1, 1})}), IsOk());
  EXPECT_EQ(data(), before);
}

TEST_F(StateTest, ScatterUpdatesRows) {
  const struct {
    std::string op;
    std::vector<float> expected;
  } cases[] = {{"Update", {10, 20, 3, 4, 30, 40}}, {"Add", {11, 22, 3, 4, 35, 46}}, {"Sub", {-9, -18, 3, 4, -25, -34}},
               {"Mul", {10, 40, 3, 4, 150, 240}},  {"Min", {1, 2, 3, 4, 5, 6}},     {"Max", {10, 20, 3, 4, 30, 40}}};
  const Tensor before = AsTensor<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor indices = AsTensor<int64_t>({0, 2}), updates = AsTensor<float>({10, 20, 30, 40}, {2, 2});
  for (const auto& c : cases) {
    const Tensor v = MakeVariable("v" + c.op, before);
    ASSERT_THAT(RunOp("ResourceScatter" + c.op, {v, indices, updates}), IsOk());
    ExpectValue(v, AsTensor<float>(c.expected, {3, 2}));
    ASSERT_OK_AND_ASSIGN(Tensor ref, before.DeepCopy(CpuAllocator()));
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Scatter" + c.op, {TestInput::Ref(&ref, &mutex_), indices, updates}));
    ExpectTensorEqual(out, AsTensor<float>(c.expected, {3, 2}), c.op);
    ExpectTensorEqual(ref, out, c.op);
  }
}

TEST_F(StateTest, ScatterSpreadsAScalarAndCountsRepeatedRows) {
  const Tensor v = MakeVariable("v", AsTensor<int32_t>({1, 2, 3}));
  ASSERT_THAT(RunOp("ResourceScatterAdd", {v, AsTensor<int32_t>({1, 2, 1}, {3}), AsScalar<int32_t>(5)}), IsOk());
  ExpectValue(v, AsTensor<int32_t>({1, 12, 8}));
}

TEST_F(StateTest, ScatterMovesStringsToo) {
  const Tensor v = MakeVariable("v", AsTensor<tstring>({"a", "b", "c"}));
  ASSERT_THAT(
      RunOp("ResourceScatterUpdate", {v, AsTensor<int32_t>({1}), AsTensor<tstring>({"long enough for the heap"})}),
      IsOk());
  ExpectValue(v, AsTensor<tstring>({"a", "long enough for the heap", "c"}));
}

TEST_F(StateTest, ScatterNdUpdatesSlices) {
  const Tensor before = AsTensor<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor elements = AsTensor<int32_t>({0, 1, 2, 0}, {2, 2}), rows = AsTensor<int32_t>({2}, {1, 1});
  Tensor v = MakeVariable("a", before);
  ASSERT_THAT(RunOp("ResourceScatterNdUpdate", {v, elements, AsTensor<float>({10, 20})}), IsOk());
  ExpectValue(v, AsTensor<float>({1, 10, 3, 4, 20, 6}, {3, 2}));
  v = MakeVariable("b", before);
  ASSERT_THAT(RunOp("ResourceScatterNdAdd", {v, rows, AsTensor<float>({10, 20}, {1, 2})}), IsOk());
  ExpectValue(v, AsTensor<float>({1, 2, 3, 4, 15, 26}, {3, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor ref, before.DeepCopy(CpuAllocator()));
  ASSERT_OK_AND_ASSIGN(Tensor out,
                       RunOp1("ScatterNdSub", {TestInput::Ref(&ref, &mutex_), rows, AsTensor<float>({1, 2}, {1, 2})}));
  ExpectTensorEqual(out, AsTensor<float>({1, 2, 3, 4, 4, 4}, {3, 2}));
  v = MakeVariable("c", before);
  ASSERT_THAT(
      RunOp("ResourceScatterNdUpdate", {v, AsTensor<int32_t>({7, 0}, {2, 1}), AsTensor<float>({1, 1, 8, 9}, {2, 2})},
            Attrs().Set("bad_indices_policy", "IGNORE")),
      IsOk());
  ExpectValue(v, AsTensor<float>({8, 9, 3, 4, 5, 6}, {3, 2}));
}

TEST_F(StateTest, GatherReadsRowsAndSlices) {
  const Tensor v = MakeVariable("v", AsTensor<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  const Attrs attrs = Attrs().Set("dtype", DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(Tensor rows, RunOp1("ResourceGather", {v, AsTensor<int32_t>({2, 0, 2}, {3, 1})}, attrs));
  ExpectTensorEqual(rows, AsTensor<float>({5, 6, 1, 2, 5, 6}, {3, 1, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor batched, RunOp1("ResourceGather", {v, AsTensor<int64_t>({1, 0, 1}, {3, 1})},
                                              Attrs().Set("dtype", DT_FLOAT).Set("batch_dims", 1)));
  ExpectTensorEqual(batched, AsTensor<float>({2, 3, 6}, {3, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor elements,
                       RunOp1("ResourceGatherNd", {v, AsTensor<int32_t>({2, 1, 0, 0}, {2, 2})}, attrs));
  ExpectTensorEqual(elements, AsTensor<float>({6, 1}));
}

TEST_F(StateTest, BadInputsAreErrors) {
  const Tensor v = MakeVariable("v", AsTensor<float>({1, 2, 3}));
  const Tensor scalar = MakeVariable("scalar", AsScalar<float>(1));
  const Tensor ints = MakeVariable("ints", AsTensor<int32_t>({1, 2, 3}));
  const Tensor none = Handle("none");
  const Tensor one = AsTensor<float>({1}), i = AsTensor<int32_t>({1});
  const Attrs floats = Attrs().Set("dtype", DT_FLOAT);
  const struct {
    std::string op;
    std::vector<TestInput> inputs;
    Code code;
    std::string message;
    Attrs attrs;
  } cases[] = {
      {"ReadVariableOp", {none}, Code::kFailedPrecondition, "variable is uninitialized", floats},
      {"ReadVariableOp",
       {none},
       Code::kFailedPrecondition,
       "Error while reading resource variable none from Container: localhost. This could mean that the variable was "
       "uninitialized.",
       floats},
      {"ReadVariableOp", {ints}, Code::kInvalidArgument, "wrong dtype", floats},
      {"ReadVariableOp", {Tensor(DT_RESOURCE, {0})}, Code::kInvalidArgument, "resource handle", floats},
      {"AssignVariableOp",
       {v, AsTensor<int32_t>({1})},
       Code::kInvalidArgument,
       "Trying to assign variable with wrong dtype. Expected float got int32",
       {}},
      {"AssignVariableOp",
       {v, one},
       Code::kInvalidArgument,
       "Trying to assign to variable with tensor with wrong shape. Expected [3] got [1]",
       Attrs().Set("validate_shape", true)},
      {"AssignAddVariableOp", {none, one}, Code::kNotFound, "", {}},
      {"AssignAddVariableOp",
       {v, one},
       Code::kInvalidArgument,
       "Cannot update variable with shape [3] using a Tensor with shape [1], shapes must be equal.",
       {}},
      {"VariableShape", {none}, Code::kNotFound, "", {}},
      {"ResourceGather", {none, i}, Code::kNotFound, "", floats},
      {"ResourceGather",
       {v, AsTensor<int32_t>({0, 7}, {1, 2})},
       Code::kInvalidArgument,
       "indices[0,1] = 7 is not in [0, 3)",
       floats},
      {"ResourceGather", {v, AsScalar<int64_t>(-1)}, Code::kInvalidArgument, "indices = -1 is not in [0, 3)", floats},
      {"ResourceGather", {scalar, i}, Code::kInvalidArgument, "params must be at least 1 dimensional", floats},
      {"ResourceGather",
       {v, i},
       Code::kInvalidArgument,
       "batch_dims",
       Attrs().Set("dtype", DT_FLOAT).Set("batch_dims", 5)},
      {"ResourceGatherNd",
       {v, AsTensor<int32_t>({0, 7}, {2, 1})},
       Code::kInvalidArgument,
       "indices[1] = [7] does not index into param shape [3]",
       floats},
      {"ResourceGatherNd", {v, AsTensor<int32_t>({0, 0}, {1, 2})}, Code::kInvalidArgument, "innermost", floats},
      {"ResourceScatterAdd", {none, i, one}, Code::kNotFound, "", {}},
      {"ResourceScatterAdd",
       {v, AsTensor<int32_t>({7}), one},
       Code::kInvalidArgument,
       "indices[0] = 7 is not in [0, 3)",
       {}},
      {"ResourceScatterAdd",
       {v, i, AsTensor<float>({1, 2})},
       Code::kInvalidArgument,
       "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = []",
       {}},
      {"ResourceScatterAdd", {scalar, i, one}, Code::kInvalidArgument, "params.shape []", {}},
      {"ResourceScatterDiv", {ints, i, AsScalar<int32_t>(0)}, Code::kInvalidArgument, "updates must not contain 0", {}},
      {"ResourceScatterNdAdd",
       {v, AsTensor<int32_t>({7}, {1, 1}), one},
       Code::kInvalidArgument,
       "indices[0] = [7] does not index into shape [3]",
       {}},
      {"ResourceScatterNdAdd",
       {v, AsTensor<int32_t>({1}, {1, 1}), AsTensor<float>({1, 2})},
       Code::kInvalidArgument,
       "Dimensions [0,1) of indices[shape=[1,1]] = 1 must match dimensions [0,1) of updates[shape=[2]] = 2",
       {}},
      {"ResourceScatterNdAdd", {v, AsScalar<int32_t>(1), one}, Code::kInvalidArgument, "rank at least one", {}},
      {"ResourceScatterNdAdd",
       {v, AsTensor<int32_t>({1, 1}, {1, 2}), one},
       Code::kInvalidArgument,
       "rank of the variable",
       {}},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(RunOp(c.op, c.inputs, c.attrs), StatusIs(c.code, HasSubstr(c.message))) << c.op;
  }
  ExpectValue(v, AsTensor<float>({1, 2, 3}));
}

TEST_F(StateTest, HugeShapesWithoutElementsAreHarmless) {
  const int64_t huge = int64_t{1} << 40;
  const Tensor v = MakeVariable("v", Tensor(DT_FLOAT, {0, huge}));
  const Attrs attrs = Attrs().Set("dtype", DT_FLOAT);
  EXPECT_THAT(RunOp("ResourceScatterNdUpdate", {v, Tensor(DT_INT32, {huge, 0}), Tensor(DT_FLOAT, {huge, 0, huge})}),
              IsOk());
  EXPECT_THAT(RunOp("ResourceGather", {v, Tensor(DT_INT32, {0, huge})}, attrs), IsOk());
  EXPECT_THAT(RunOp("ResourceGatherNd", {v, Tensor(DT_INT32, {huge, huge, 0})}, attrs),
              StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp("ResourceScatterAdd", {v, Tensor(DT_INT32, {0}), Tensor(DT_FLOAT, {0, huge})}), IsOk());
}

TEST_F(StateTest, ReferencesAreAssignedAndUpdatedInPlace) {
  ASSERT_OK_AND_ASSIGN(auto kernel,
                       MakeOp("VariableV2", {}, Attrs().Set("dtype", DT_FLOAT).Set("shape", TensorShape({2}))));
  ASSERT_THAT(RunKernel(*kernel, {}), IsOk());
  Tensor* const variable = last_outputs()[0].ref;
  std::mutex* const mutex = last_outputs()[0].ref_mutex;
  ASSERT_NE(variable, nullptr);
  EXPECT_FALSE(variable->IsInitialized());
  EXPECT_EQ(variable->shape(), TensorShape({2}));
  ASSERT_OK_AND_ASSIGN(Tensor initialized, RunOp1("IsVariableInitialized", {TestInput::Ref(variable, mutex)}));
  EXPECT_FALSE(initialized.scalar<bool>());
  EXPECT_THAT(RunOp("Assign", {TestInput::Ref(variable, mutex), AsTensor<float>({1})}),
              StatusIs(Code::kInvalidArgument,
                       HasSubstr("Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [1]")));
  ASSERT_OK_AND_ASSIGN(Tensor assigned, RunOp1("Assign", {TestInput::Ref(variable, mutex), AsTensor<float>({1, 2})}));
  EXPECT_EQ(last_outputs()[0].ref, variable);
  ExpectTensorEqual(assigned, AsTensor<float>({1, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor added, RunOp1("AssignAdd", {TestInput::Ref(variable, mutex), AsTensor<float>({1, 1})}));
  ExpectTensorEqual(added, AsTensor<float>({2, 3}));
  ExpectTensorEqual(*variable, AsTensor<float>({2, 3}));
  ExpectTensorEqual(assigned, AsTensor<float>({2, 3}), "taken before the update");
  EXPECT_THAT(RunOp("AssignSub", {TestInput::Ref(variable, mutex), AsTensor<float>({1})}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Parameters and update must be the same size")));
  ASSERT_THAT(RunOp("Assign", {TestInput::Ref(variable, mutex), AsTensor<float>({1, 2, 3})},
                    Attrs().Set("validate_shape", false)),
              IsOk());
  EXPECT_EQ(variable->shape(), TensorShape({3}));
}

TEST_F(StateTest, TwoNodesShareAReferenceVariableByName) {
  const auto run = [&](DataType type) {
    return RunOp("VariableV2", {}, Attrs().Set("dtype", type).Set("shape", TensorShape({2})).Set("shared_name", "s"));
  };
  ASSERT_THAT(run(DT_FLOAT), IsOk());
  Tensor* const first = last_outputs()[0].ref;
  ASSERT_THAT(run(DT_FLOAT), IsOk());
  EXPECT_EQ(last_outputs()[0].ref, first);
  EXPECT_THAT(run(DT_INT32), StatusIs(Code::kInternal, HasSubstr("does not match declared output type int32_ref")));
}

TEST_F(StateTest, TemporaryVariablesEndWithTheirDestruction) {
  const Attrs attrs = Attrs().Set("dtype", DT_FLOAT).Set("shape", TensorShape({2})).Set("var_name", "t");
  ASSERT_THAT(RunOp("TemporaryVariable", {}, attrs), IsOk());
  Tensor* const variable = last_outputs()[0].ref;
  std::mutex* const mutex = last_outputs()[0].ref_mutex;
  EXPECT_THAT(RunOp("TemporaryVariable", {}, attrs), StatusIs(Code::kAlreadyExists));
  ASSERT_THAT(RunOp("Assign", {TestInput::Ref(variable, mutex), AsTensor<float>({1, 2})}), IsOk());
  const Attrs destroy = Attrs().Set("var_name", "t");
  ASSERT_OK_AND_ASSIGN(Tensor value, RunOp1("DestroyTemporaryVariable", {TestInput::Ref(variable, mutex)}, destroy));
  ExpectTensorEqual(value, AsTensor<float>({1, 2}));
  EXPECT_THAT(RunOp("TemporaryVariable", {}, attrs), IsOk());
}

TEST_F(StateTest, CountersStopAtTheirLimit) {
  Tensor counter = AsScalar<int32_t>(1);
  const Attrs attrs = Attrs().Set("limit", 3);
  for (int expected : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(Tensor value, RunOp1("CountUpTo", {TestInput::Ref(&counter, &mutex_)}, attrs));
    EXPECT_EQ(value.scalar<int32_t>(), expected);
  }
  EXPECT_THAT(RunOp("CountUpTo", {TestInput::Ref(&counter, &mutex_)}, attrs),
              StatusIs(Code::kOutOfRange, HasSubstr("Reached limit of 3")));
  const Tensor v = MakeVariable("v", AsScalar<int64_t>(2));
  ASSERT_OK_AND_ASSIGN(Tensor value, RunOp1("ResourceCountUpTo", {v}, Attrs().Set("limit", 3).Set("T", DT_INT64)));
  EXPECT_EQ(value.scalar<int64_t>(), 2);
  ExpectValue(v, AsScalar<int64_t>(3));
}

TEST_F(StateTest, IntegersWrapAndNeverTrap) {
  const int32_t least = std::numeric_limits<int32_t>::min();
  const Tensor v = MakeVariable("v", AsTensor<int32_t>({least, 7}));
  ASSERT_THAT(RunOp("ResourceScatterDiv", {v, AsTensor<int32_t>({0, 1}), AsTensor<int32_t>({-1, -2})}), IsOk());
  ExpectValue(v, AsTensor<int32_t>({least, -3}));
}

}  // namespace
}  // namespace weir
