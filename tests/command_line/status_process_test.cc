// Tests of the output of `weir status`.
#include "client/ops.h"
#include "client/session.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/command_line/weir_output.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ResourceListTest, VariablesOfBothKindsAreListedWithTheirValues) {
  ASSERT_OK_AND_ASSIGN(const auto cluster, ProcessCluster::Start({.program = WEIR_PROGRAM}));
  const Scope scope = Scope::NewRoot();
  const Output reference = ops::VariableV2(scope.WithName("reference"), TensorShape({2, 3}), DT_FLOAT);
  const Output unset = ops::VariableV2(scope.WithName("unset"), TensorShape({5, 7}), DT_FLOAT);
  const Output assign = ops::Assign(scope, reference, Tensor(DT_FLOAT, TensorShape({2, 3})));
  const Output handle = ops::VarHandleOp(scope.WithName("handle"), DT_FLOAT, PartialTensorShape({4}));
  const Operation set = ops::AssignVariableOp(scope, handle, Tensor(DT_FLOAT, TensorShape({4})));
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect(cluster->Target("worker", 0), scope));
  ASSERT_THAT(session->Run({}, {assign, ops::IsVariableInitialized(scope, unset)}, {set}).status(), IsOk());
  const WeirOutput status = RunWeir("status --resources " + cluster->Target("worker", 0));
  EXPECT_EQ(status.code, 0);
  EXPECT_THAT(status.text,
              AllOf(HasSubstr("device:CPU:0: 40 bytes\n"), HasSubstr("localhost/reference"), HasSubstr("float[2,3]"),
                    HasSubstr("float[4]"), HasSubstr("float uninitialized"), Not(HasSubstr("[5,7]"))));
  EXPECT_THAT(session->Close(), IsOk());
}

TEST(DeviceListTest, ATaskThatDoesNotAnswerIsNamedAndTheOthersAreListed) {
  ASSERT_OK_AND_ASSIGN(const auto cluster,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}, {"ps", 1}}}));
  const WeirOutput whole = RunWeir("status " + cluster->Target("worker", 0));
  EXPECT_EQ(whole.code, 0);
  EXPECT_THAT(whole.text, AllOf(HasSubstr("/job:ps/replica:0/task:0/device:CPU:0 CPU incarnation"),
                                HasSubstr("/job:worker/replica:0/task:1/device:CPU:0 CPU incarnation")));
  cluster->Kill("ps", 0);
  const WeirOutput rest = RunWeir("status " + cluster->Target("worker", 0));
  EXPECT_EQ(rest.code, 0);
  EXPECT_THAT(rest.text,
              AllOf(HasSubstr("(this task)\n"), HasSubstr("/job:worker/replica:0/task:1/device:CPU:0 CPU incarnation"),
                    HasSubstr(absl::StrCat("/job:ps/replica:0/task:0 at ", *cluster->spec().AddressOf("ps", 0),
                                           " does not answer: ")),
                    Not(HasSubstr("/job:ps/replica:0/task:0/device"))));
  cluster->Kill("worker", 0);
  EXPECT_EQ(RunWeir("status " + cluster->Target("worker", 0)).code, 1);
}

}  // namespace
}  // namespace weir
