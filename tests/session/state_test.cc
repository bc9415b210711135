// Tests of state that lives between steps: variables, queues, tables, checkpoints.
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/variables.h"
#include "core/files/scratch_directory_testing.h"
#include "tests/session/session_suite.h"

namespace weir {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class StateTest : public SessionSuite {
 protected:
  ResourceVariable Variable(const Scope& scope, const std::string& name, Tensor value) {
    const TensorShape shape = value.shape();
    const DataType dtype = value.dtype();
    return ResourceVariable::Make(scope.WithName(name), shape, dtype, initializers::Value(std::move(value)));
  }
};
WEIR_SESSION_SUITE(StateTest);

TEST_P(StateTest, VariablesKeepTheirValueBetweenSteps) {
  const auto counter = Variable(On(1), "counter", AsScalar<int64_t>(0));
  const Operation add = counter.AssignAdd(On(1), int64_t{1});
  for (int i = 0; i < 3; ++i) RunOp(add);
  ExpectTensorEqual(Fetch(counter.value()), AsScalar<int64_t>(3));
}

TEST_P(StateTest, AVariableIsReadAndWrittenFromTheOtherDevice) {
  const auto v = Variable(On(1), "v", AsTensor<float>({1, 2, 3}));
  const Output doubled = ops::Mul(On(0), v.value(), 2.0f);
  const Operation assign = v.Assign(On(1), ops::AddV2(On(0), doubled, 1.0f));
  ExpectTensorEqual(Run({}, {doubled}, {assign})[0], AsTensor<float>({2, 4, 6}));
  ExpectTensorEqual(Fetch(v.value()), AsTensor<float>({3, 5, 7}));
}

TEST_P(StateTest, ReadsFollowTheWritesThatTheyDependOn) {
  const auto v = Variable(On(0), "v", AsScalar<float>(1));
  const Output before = v.Read(On(0));
  const Operation assign =
      v.Assign(On(0).WithControlDependencies(std::vector<Output>{ops::Identity(On(1), before)}), 5.0f);
  const Output after = v.Read(On(0).WithControlDependencies({ops::NoOp(On(1).WithControlDependencies({assign}))}));
  const auto result = Run({}, {before, after});
  ExpectTensorEqual(result[0], AsScalar<float>(1));
  ExpectTensorEqual(result[1], AsScalar<float>(5));
}

TEST_P(StateTest, UpdatesFromManyThreadsAreNotLost) {
  const auto v = Variable(On(1), "v", AsScalar<int64_t>(0));
  const Operation add = v.AssignAdd(On(1), int64_t{1});
  Session& session = this->session();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) ASSERT_THAT(session.RunTargets({add}), IsOk());
    });
  }
  for (auto& thread : threads) thread.join();
  ExpectTensorEqual(Fetch(v.value()), AsScalar<int64_t>(200));
}

TEST_P(StateTest, RowsAreGatheredAndScattered) {
  const auto table = Variable(On(1), "table", AsTensor<float>({0, 1, 10, 11, 20, 21}, {3, 2}));
  const Output ids = ops::Placeholder(On(0), DT_INT32);
  const Output rows = ops::ResourceGather(On(1), table.handle(), ids, DT_FLOAT);
  const Operation add =
      ops::ResourceScatterAdd(On(1), table.handle(), ids, On(0).Constant(AsTensor<float>({1, 1}, {1, 2})));
  ExpectTensorEqual(Run({{ids, AsTensor<int32_t>({2, 0})}}, {rows})[0], AsTensor<float>({20, 21, 0, 1}, {2, 2}));
  Run({{ids, AsTensor<int32_t>({1})}}, {}, {add});
  ExpectTensorEqual(Fetch(table.value()), AsTensor<float>({0, 1, 11, 12, 20, 21}, {3, 2}));
  if (IsOnGpus(GetParam())) {  // which cannot look at indices
    ExpectTensorEqual(Run({{ids, AsTensor<int32_t>({3})}}, {rows})[0], AsTensor<float>({0, 0}, {1, 2}));
    return;
  }
  EXPECT_THAT(ErrorOf({{ids, AsTensor<int32_t>({3})}}, {rows}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(StateTest, ReferenceVariables) {
  const Output v = ops::VariableV2(On(1).WithName("v"), TensorShape(), DT_FLOAT);
  const Output assign = ops::Assign(On(1), v, On(0).Constant(3.0f));
  const Output add = ops::AssignAdd(On(1), v, On(0).Constant(2.0f));
  const Output read = ops::Identity(On(0), v);
  EXPECT_THAT(ErrorOf({}, {read}), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("v")));
  ExpectTensorEqual(Fetch(assign), AsScalar<float>(3));
  ExpectTensorEqual(Fetch(add), AsScalar<float>(5));
  ExpectTensorEqual(Fetch(read), AsScalar<float>(5));
}

TEST_P(StateTest, VariablesOutliveTheSessionOnAClusterAndResetEndsThem) {
  if (GetParam() == BackendKind::kLocal || IsOnGpus(GetParam())) {
    GTEST_SKIP() << "a local session has its variables for itself";
  }
  const auto v = Variable(On(1), "v", AsScalar<float>(1));
  const Operation add = v.AssignAdd(On(1), 1.0f);
  RunOp(add);
  ASSERT_THAT(session().Close(), IsOk());
  ASSERT_OK_AND_ASSIGN(auto second, Connect());
  ASSERT_OK_AND_ASSIGN(auto result, second->Run({v.value()}));
  ExpectTensorEqual(result[0], AsScalar<float>(2));
  tensorflow::ResetRequest request;
  tensorflow::ResetResponse response;
  ASSERT_THAT(backend_->master()->Reset({}, request, &response), IsOk());
  ASSERT_OK_AND_ASSIGN(auto third, Connect());
  EXPECT_THAT(third->Run({v.value()}), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("v")));
}

TEST_P(StateTest, SessionsMayKeepTheirStateApart) {
  const auto v = Variable(On(1), "v", AsScalar<float>(1));
  const Operation initialize = InitializeAll(scope_), add = v.AssignAdd(On(1), 1.0f);
  SessionOptions options;
  options.config->set_isolate_session_state(true);
  ASSERT_OK_AND_ASSIGN(auto first, Connect(options));
  ASSERT_OK_AND_ASSIGN(auto second, Connect(options));
  ASSERT_THAT(first->RunTargets({initialize}), IsOk());
  ASSERT_THAT(first->RunTargets({add}), IsOk());
  EXPECT_THAT(second->Run({v.value()}), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(second->RunTargets({initialize}), IsOk());
  ASSERT_OK_AND_ASSIGN(auto result, first->Run({v.value()}));
  ExpectTensorEqual(result[0], AsScalar<float>(2));
}

TEST_P(StateTest, QueuesCarryTuplesInOrder) {
  const Output queue = ops::FIFOQueueV2(On(1), {DT_INT32, DT_STRING});
  const Output number = ops::Placeholder(On(0), DT_INT32), text = ops::Placeholder(On(0), DT_STRING);
  const Operation enqueue = ops::QueueEnqueueV2(On(1), queue, {number, text});
  const OutputList dequeue = ops::QueueDequeueV2(On(1), queue, {DT_INT32, DT_STRING});
  for (int i = 0; i < 5; ++i) {
    Run({{number, AsScalar<int32_t>(i)}, {text, AsScalar<tstring>(absl::StrCat("text ", i))}}, {}, {enqueue});
  }
  for (int i = 0; i < 5; ++i) {
    const auto result = Run({}, dequeue);
    ExpectTensorEqual(result[0], AsScalar<int32_t>(i));
    ExpectTensorEqual(result[1], AsScalar<tstring>(absl::StrCat("text ", i)));
  }
}

TEST_P(StateTest, ADequeueWaitsForAnEnqueue) {
  const Output queue = ops::FIFOQueueV2(On(1), {DT_INT32}, {.capacity = 1});
  const Output number = ops::Placeholder(On(0), DT_INT32);
  const Operation enqueue = ops::QueueEnqueueV2(On(1), queue, {number});
  const Output dequeue = ops::QueueDequeueV2(On(1), queue, {DT_INT32})[0];
  Session& session = this->session();
  // With room for one, producer and consumer wait for each other in turn.
  std::thread producer([&] {
    for (int i = 0; i < 30; ++i) ASSERT_THAT(session.Run({{number, AsScalar<int32_t>(i)}}, {}, {enqueue}), IsOk());
  });
  for (int i = 0; i < 30; ++i) ExpectTensorEqual(Fetch(dequeue), AsScalar<int32_t>(i));
  producer.join();
}

TEST_P(StateTest, AClosedQueueGivesWhatIsLeft) {
  const Output queue = ops::FIFOQueueV2(On(1), {DT_INT32});
  const Operation enqueue = ops::QueueEnqueueV2(On(1), queue, {On(0).Constant(7)});
  const Operation close = ops::QueueCloseV2(On(1), queue);
  const Output dequeue = ops::QueueDequeueV2(On(1), queue, {DT_INT32})[0];
  RunOp(enqueue);
  RunOp(close);
  ExpectTensorEqual(Fetch(dequeue), AsScalar<int32_t>(7));
  EXPECT_THAT(ErrorOf({}, {dequeue}), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("closed")));
  EXPECT_THAT(ErrorOf({}, {}, {enqueue}), StatusIs(absl::StatusCode::kCancelled, HasSubstr("closed")));
}

TEST_P(StateTest, TablesMapKeysToValues) {
  const Output table = ops::HashTableV2(On(1), DT_STRING, DT_INT64);
  const Operation fill =
      ops::LookupTableImportV2(On(1), table, AsTensor<tstring>({"one", "two"}), AsTensor<int64_t>({1, 2}));
  const Output keys = ops::Placeholder(On(0), DT_STRING);
  const Output found = ops::LookupTableFindV2(On(1), table, keys, Tensor::Scalar<int64_t>(-1));
  RunOp(fill);
  ExpectTensorEqual(Run({{keys, AsTensor<tstring>({"two", "three", "one"})}}, {found})[0],
                    AsTensor<int64_t>({2, -1, 1}));
}

// Files are seen by all tasks, as they run on one machine.
class CheckpointTest : public StateTest {
 protected:
  std::string Prefix() const { return directory_.Path("model"); }
  ScratchDirectory directory_;
};
WEIR_SESSION_SUITE(CheckpointTest);

TEST_P(CheckpointTest, RestoresWhatWasSavedOnBothDevices) {
  const auto a = Variable(On(0), "a", AsTensor<float>({1, 2}));
  const auto b = Variable(On(1), "b", AsTensor<int64_t>({3, 4, 5}));
  const auto c = Variable(On(1), "c", AsScalar<bool>(true));
  const Operation change = ops::NoOp(scope_.WithControlDependencies({a.Assign(On(0), ops::Neg(On(1), a.value())),
                                                                     b.Assign(On(1), AsTensor<int64_t>({0, 0, 0})),
                                                                     c.Assign(On(1), AsScalar<bool>(false))}));
  const Saver saver(scope_);
  ASSERT_OK_AND_ASSIGN(const std::string first, saver.Save(session(), Prefix(), 1));
  RunOp(change);
  ASSERT_OK_AND_ASSIGN(const std::string second, saver.Save(session(), Prefix(), 2));
  ASSERT_OK_AND_ASSIGN(const std::string latest, saver.Latest(directory_.path()));
  EXPECT_EQ(latest, second);
  ASSERT_THAT(saver.Restore(session(), first), IsOk());
  auto result = Run({}, {a.value(), b.value(), c.value()});
  ExpectTensorEqual(result[0], AsTensor<float>({1, 2}));
  ExpectTensorEqual(result[1], AsTensor<int64_t>({3, 4, 5}));
  ExpectTensorEqual(result[2], AsScalar<bool>(true));
  ASSERT_THAT(saver.Restore(session(), second), IsOk());
  result = Run({}, {a.value(), b.value(), c.value()});
  ExpectTensorEqual(result[0], AsTensor<float>({-1, -2}));
  ExpectTensorEqual(result[2], AsScalar<bool>(false));
}

TEST_P(CheckpointTest, WhatIsMissingIsNamed) {
  Variable(On(1), "v", AsScalar<float>(1));
  const Saver saver(scope_);
  EXPECT_THAT(saver.Latest(directory_.path()), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(saver.Restore(session(), directory_.Path("absent-1")),
              StatusIs(AnyOf(absl::StatusCode::kNotFound, absl::StatusCode::kDataLoss), HasSubstr("absent-1")));
}

TEST_P(CheckpointTest, AnotherShapeIsRefused) {
  Variable(On(1), "v", AsTensor<float>({1, 2}));
  const Saver saver(scope_);
  ASSERT_OK_AND_ASSIGN(const std::string saved, saver.Save(session(), Prefix(), 1));
  Scope other = Scope::NewRoot();
  Variable(other.WithDevice(device_name(0)), "v", AsTensor<float>({1, 2, 3}));
  const Saver restorer(other);
  ASSERT_OK_AND_ASSIGN(auto second, backend_->Connect(other, {}));
  EXPECT_THAT(
      restorer.Restore(*second, saved),
      StatusIs(AnyOf(absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition), HasSubstr("v")));
}

TEST_P(CheckpointTest, OldOnesAreDeleted) {
  Variable(On(0), "v", AsScalar<float>(1));
  const Saver saver(scope_, {}, {.max_to_keep = 2});
  for (int step = 1; step <= 4; ++step) ASSERT_THAT(saver.Save(session(), Prefix(), step), IsOk());
  EXPECT_FALSE(std::filesystem::exists(Prefix() + "-2.index"));
  EXPECT_TRUE(std::filesystem::exists(Prefix() + "-3.index"));
  EXPECT_TRUE(std::filesystem::exists(Prefix() + "-4.index"));
}

}  // namespace
}  // namespace weir
