// Snapshots of variables in a GPU's memory, saved while updates go on.
#include "client/ops.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/gpu_session_testing.h"

namespace weir {
namespace {

using GpuVariableSnapshotTest = GpuSessionTest;

TEST_F(GpuVariableSnapshotTest, IsOfTheMomentItWasTaken) {
  const Tensor shape = Tensor::Vector<int32_t>({300}), prefix = AsScalar<tstring>("mem://gpu_variable_snapshot/v");
  const Tensor names = Tensor::Vector<tstring>({"v"}), slices = Tensor::Vector<tstring>({""});
  const Output variable = ops::VarHandleOp(Gpu(), DT_FLOAT, TensorShape({300}), {.shared_name = "v"});
  const Operation set = ops::AssignVariableOp(Gpu(), variable, ops::Fill(Gpu(), shape, 1.0F));
  const Operation reserve = ops::ReserveVariableSnapshot(Gpu(), variable);
  const Output snapshot = ops::SnapshotVariable(Gpu(), variable);
  const Scope then = Gpu().WithControlDependencies(std::vector<Operation>{snapshot.op()});
  const Operation add = ops::AssignAddVariableOp(then, variable, ops::Fill(Gpu(), shape, 2.0F));
  const Operation save =
      ops::SaveV2(Cpu().WithControlDependencies(std::vector<Operation>{add}), prefix, names, slices, {snapshot});
  const Output saved = ops::RestoreV2(Cpu(), prefix, names, slices, {DT_FLOAT})[0];
  const Output value = ops::Identity(Cpu(), ops::ReadVariableOp(Gpu(), variable, DT_FLOAT));

  Run({}, {}, {set});
  for (int round = 0; round < 2; ++round) {
    Run({}, {}, {reserve});
    Run({}, {}, {save});
    ExpectTensorEqual(Fetch(saved), AsTensor<float>(std::vector<float>(300, 1.0F + 2 * round)));
    ExpectTensorEqual(Fetch(value), AsTensor<float>(std::vector<float>(300, 3.0F + 2 * round)));
  }
}

TEST_F(GpuVariableSnapshotTest, ASaveWhoseCopyHangsIsCancelled) {
  const Tensor prefix = AsScalar<tstring>("mem://hung_gpu_snapshot/v");
  const Output variable = ops::VarHandleOp(Gpu(), DT_FLOAT, TensorShape({300}), {.shared_name = "v"});
  const Operation set = ops::AssignVariableOp(Gpu(), variable, ops::Fill(Gpu(), Tensor::Vector<int32_t>({300}), 1.0F));
  const Operation save = ops::SaveV2(Cpu(), prefix, Tensor::Vector<tstring>({"v"}), Tensor::Vector<tstring>({""}),
                                     {ops::SnapshotVariable(Gpu(), variable)});
  Run({}, {}, {set});
  gpus_[0]->HangStreams("to host");
  tensorflow::RunOptions limit;
  limit.set_timeout_in_ms(100);
  EXPECT_THAT(session().Run({}, {}, {save}, limit), StatusIs(absl::StatusCode::kDeadlineExceeded));
  gpus_[0]->ReleaseStreams();
  Run({}, {}, {save});
}

}  // namespace
}  // namespace weir
