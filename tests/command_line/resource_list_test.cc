// Tests of the variables in the output of `weir status --resources`.
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

}  // namespace
}  // namespace weir
