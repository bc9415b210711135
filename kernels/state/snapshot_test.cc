// Snapshots under every kind of update, written by SaveV2.
#include <memory>
#include <numeric>

#include "core/checkpoint/bundle_reader.h"
#include "core/files/file_system.h"
#include "core/kernel/variable.h"
#include "kernels/op_testing.h"
#include "kernels/state/overwrite.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 700, kWidth = 300;  // large enough for several threads and for writes past the cache

Tensor Counted(double scale, TensorShape shape = TensorShape({kRows, kWidth})) {
  Tensor value(DT_FLOAT, shape);
  for (int64_t i = 0; i < value.NumElements(); ++i) value.data<float>()[i] = static_cast<float>((i % 1013) * scale);
  return value;
}

class StateSnapshotTest : public OpTest {
 protected:
  Tensor MakeVariable(const std::string& name, const Tensor& value) {
    absl::StatusOr<Tensor> handle =
        RunOp1("VarHandleOp", {},
               Attrs().Set("shared_name", name).Set("dtype", value.dtype()).Set("shape", PartialTensorShape()));
    EXPECT_THAT(handle, IsOk());
    const absl::StatusOr<Tensor> own = value.DeepCopy();
    EXPECT_THAT(RunOp("AssignVariableOp", {*handle, *own}), IsOk());
    return *handle;
  }
  Tensor Read(const Tensor& handle) {
    absl::StatusOr<Tensor> value = RunOp1("ReadVariableOp", {handle}, Attrs().Set("dtype", DT_FLOAT));
    EXPECT_THAT(value, IsOk());
    return *value->DeepCopy();
  }
  // The value in a checkpoint made of the snapshot.
  absl::StatusOr<Tensor> Saved(const Tensor& snapshot) {
    const std::string prefix = absl::StrCat("mem://snapshots/", ++saves_);
    RETURN_IF_ERROR(
        RunOp("SaveV2", {AsScalar<tstring>(prefix), AsTensor<tstring>({"v"}), AsTensor<tstring>({""}), snapshot})
            .status());
    ASSIGN_OR_RETURN(FileSystem * files, device()->file_systems()->Find(prefix));
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, prefix));
    return reader->Read("v");
  }

  int saves_ = 0;
};

TEST_F(StateSnapshotTest, EveryUpdateLeavesTheSnapshotAloneAndIsAsWithoutOne) {
  const Tensor gradient = Counted(0.25), rows = AsTensor<int64_t>({3, 699, 3}), one = AsScalar<float>(0.5);
  const Tensor row_gradient = Counted(0.5, TensorShape({3, kWidth}));
  const Tensor at = AsTensor<int64_t>({5, 698}, TensorShape({2, 1}));
  const Tensor at_updates = Counted(2, TensorShape({2, kWidth}));
  const auto vector = [](int32_t a, int32_t b) { return AsTensor<int32_t>({a, b}); };
  const struct {
    std::string op;
    int variables;
    std::vector<TestInput> rest;
  } cases[] = {
      {"AssignVariableOp", 1, {gradient}},
      {"AssignAddVariableOp", 1, {gradient}},
      {"AssignSubVariableOp", 1, {gradient}},
      {"ResourceScatterUpdate", 1, {rows, row_gradient}},
      {"ResourceScatterAdd", 1, {rows, row_gradient}},
      {"ResourceScatterSub", 1, {rows, row_gradient}},
      {"ResourceScatterMul", 1, {rows, row_gradient}},
      {"ResourceScatterNdAdd", 1, {at, at_updates}},
      {"ResourceScatterNdUpdate", 1, {at, at_updates}},
      {"ResourceStridedSliceAssign", 1, {vector(2, 0), vector(4, 300), vector(1, 1), at_updates}},
      {"ResourceApplyGradientDescent", 1, {one, gradient}},
      {"ResourceApplyMomentum", 2, {one, gradient, one}},
      {"ResourceApplyAdam", 3, {one, one, one, one, one, one, gradient}},
      {"ResourceSparseApplyAdagrad", 2, {one, row_gradient, rows}},
      {"ResourceSparseApplyMomentum", 2, {one, row_gradient, rows, one}},
  };
  for (const auto& c : cases) {
    for (const bool reserved : {false, true}) {
      std::vector<TestInput> inputs[2];
      std::vector<Tensor> handles, before, snapshots;
      for (const bool is_kept : {false, true}) {
        for (int k = 0; k < c.variables; ++k) {
          const Tensor value = Counted(1 + k);
          const Tensor handle = MakeVariable(absl::StrCat(c.op, reserved, is_kept, k), value);
          inputs[is_kept].push_back(handle);
          if (!is_kept) continue;
          handles.push_back(handle);
          before.push_back(value);
          if (reserved) {
            (*device()->resources()->Lookup<Variable>(handle.scalar<ResourceHandle>()))->set_is_overwritten();
            ASSERT_THAT(RunOp("ReserveVariableSnapshot", {handle}), IsOk());
          }
          ASSERT_OK_AND_ASSIGN(const Tensor snapshot, RunOp1("SnapshotVariable", {handle}));
          snapshots.push_back(snapshot);
        }
        inputs[is_kept].insert(inputs[is_kept].end(), c.rest.begin(), c.rest.end());
        for (int twice = 0; twice < 2; ++twice) {
          const auto result = RunOp(c.op, inputs[is_kept]);
          ASSERT_THAT(result, IsOk()) << c.op;
        }
      }
      for (int k = 0; k < c.variables; ++k) {
        ASSERT_OK_AND_ASSIGN(const Tensor saved, Saved(snapshots[k]));
        ExpectTensorEqual(saved, before[k], c.op);
        ExpectTensorEqual(Read(handles[k]), Read(inputs[0][k].tensor), c.op);
      }
    }
  }
}

TEST_F(StateSnapshotTest, ASnapshotNeedsAPlainValue) {
  const Tensor text = MakeVariable("text", AsTensor<tstring>({"a"}));
  EXPECT_THAT(RunOp("SnapshotVariable", {text}), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("string")));
  ASSERT_OK_AND_ASSIGN(
      const Tensor none,
      RunOp1("VarHandleOp", {},
             Attrs().Set("shared_name", "none").Set("dtype", DT_FLOAT).Set("shape", PartialTensorShape())));
  EXPECT_THAT(RunOp("SnapshotVariable", {none}), ::testing::Not(IsOk()));
}

TEST(OverwriteTest, TilesCoverEveryRangeOnce) {
  std::vector<float> from(20000), to(20000, -1), in_place(20000);
  std::iota(from.begin(), from.end(), 0);
  std::iota(in_place.begin(), in_place.end(), 0);
  const OverwriteSpan spans[] = {{from.data(), to.data()}, {in_place.data(), in_place.data()}};
  const auto add = [&](void* const* data, int64_t at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(static_cast<float*>(data[0])[i], static_cast<float>(at + i));
      static_cast<float*>(data[0])[i] += 0.5F;
      static_cast<float*>(data[1])[i] += 0.25F;
    }
  };
  for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {3, 4099}, {4099, 20000}}) {
    OverwriteRange(spans, sizeof(float), begin, end, add);
  }
  EXPECT_EQ(to[0], -1);
  for (int i = 1; i < 20000; ++i) {
    ASSERT_EQ(to[i], i + 0.5F);
    ASSERT_EQ(in_place[i], i + 0.25F);
    ASSERT_EQ(from[i], i);
  }
}

}  // namespace
}  // namespace weir
