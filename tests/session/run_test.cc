// Steps: what is fed and fetched, on one device and across two, and graphs that grow.
#include <atomic>
#include <thread>

#include "client/ops.h"
#include "core/tensor/numeric_types.h"
#include "tests/session/session_suite.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class RunTest : public SessionSuite {};
WEIR_SESSION_SUITE(RunTest);

TEST_P(RunTest, ComputesFetchesFromFeeds) {
  const Output x = ops::Placeholder(scope_.WithName("x"), DT_FLOAT);
  const Output y = ops::AddV2(scope_, ops::Mul(scope_, x, 2), 1);
  ExpectTensorEqual(Run({{x, AsTensor<float>({1, 2, 3})}}, {y})[0], AsTensor<float>({3, 5, 7}));
}

TEST_P(RunTest, FetchesMayRepeatAndGoInAnyOrder) {
  const Output a = scope_.Constant(1.0f), b = On(1).Constant(2.0f);
  const auto result = Run({}, {b, a, b});
  ExpectTensorEqual(result[0], AsScalar<float>(2));
  ExpectTensorEqual(result[1], AsScalar<float>(1));
  ExpectTensorEqual(result[2], AsScalar<float>(2));
}

TEST_P(RunTest, NamesWithoutAnOutputMeanTheFirst) {
  const Output x = ops::Placeholder(scope_.WithName("x"), DT_INT32);
  ops::Neg(scope_.WithName("y"), x);
  for (const std::string suffix : {"", ":0"}) {
    ASSERT_OK_AND_ASSIGN(auto result, session().RunNamed({{"x" + suffix, AsScalar<int32_t>(4)}}, {"y" + suffix}));
    ExpectTensorEqual(result[0], AsScalar<int32_t>(-4));
  }
}

TEST_P(RunTest, AFedTensorReplacesWhatTheGraphComputes) {
  const Output inner = ops::AddV2(On(0).WithName("inner"), On(0).Constant(1.0f), On(0).Constant(2.0f));
  const Output outer = ops::Mul(On(1), inner, 10.0f);
  ExpectTensorEqual(Fetch(outer), AsScalar<float>(30));
  ExpectTensorEqual(Run({{inner, AsScalar<float>(7)}}, {outer})[0], AsScalar<float>(70));
}

TEST_P(RunTest, WhatIsFedIsNotFetched) {
  const Output x = ops::Placeholder(On(1).WithName("x"), DT_FLOAT);
  EXPECT_THAT(ErrorOf({{x, AsTensor<float>({5, 6})}}, {x}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both fed and fetched")));
}

TEST_P(RunTest, AnyOutputOfANodeCanBeFetched) {
  const OutputList parts = ops::Split(On(1), 0, ops::Range(On(0), 0, 6, 1), 3);
  ASSERT_EQ(parts.size(), 3);
  const auto result = Run({}, {parts[2], parts[0]});
  ExpectTensorEqual(result[0], AsTensor<int32_t>({4, 5}));
  ExpectTensorEqual(result[1], AsTensor<int32_t>({0, 1}));
}

TEST_P(RunTest, AHundredFeedsAndFetches) {
  OutputList fetches;
  FeedList feeds;
  for (int i = 0; i < 100; ++i) {
    const Output x = ops::Placeholder(On(i % 2), DT_INT32);
    feeds.emplace_back(x, AsScalar<int32_t>(i));
    fetches.push_back(ops::AddV2(On(i / 2 % 2), x, 1000));
  }
  const auto result = Run(feeds, fetches);
  for (int i = 0; i < 100; ++i) ExpectTensorEqual(result[i], AsScalar<int32_t>(1000 + i));
}

TEST_P(RunTest, ValuesGoBackAndForthBetweenDevices) {
  Output x = ops::Placeholder(On(0), DT_FLOAT);
  const Output first = x;
  for (int i = 0; i < 20; ++i) x = ops::AddV2(On(i % 2), x, 1.0f);
  for (float value : {0.0f, 5.0f}) {
    ExpectTensorEqual(Run({{first, AsScalar<float>(value)}}, {x})[0], AsScalar<float>(value + 20));
  }
}

// A value of each type, of each of the usual shapes, crosses twice.
template <typename T>
Tensor Values(const TensorShape& shape) {
  Tensor tensor(DataTypeOf<T>(), shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) tensor.data<T>()[i] = static_cast<T>(i % 2);
  return tensor;
}

TEST_P(RunTest, EveryTypeCrossesDevices) {
  std::vector<Tensor> values;
  for (const TensorShape& shape : {TensorShape(), TensorShape({0, 3}), TensorShape({2, 3}), TensorShape({257})}) {
    values.insert(values.end(),
                  {Values<float>(shape), Values<double>(shape), Values<half>(shape), Values<bfloat16>(shape),
                   Values<int8_t>(shape), Values<uint8_t>(shape), Values<int16_t>(shape), Values<uint16_t>(shape),
                   Values<int32_t>(shape), Values<uint32_t>(shape), Values<int64_t>(shape), Values<uint64_t>(shape),
                   Values<bool>(shape), Values<complex64>(shape), Values<complex128>(shape)});
  }
  values.push_back(
      AsTensor<tstring>({"", "short", std::string(100000, 'x'), std::string("\0null", 5)}, TensorShape({2, 2})));
  FeedList feeds;
  OutputList fetches;
  for (const Tensor& value : values) {
    const Output x = ops::Placeholder(On(0), value.dtype());
    feeds.emplace_back(x, value);
    fetches.push_back(ops::Identity(On(0), ops::Identity(On(1), x)));
  }
  const auto result = Run(feeds, fetches);
  for (size_t i = 0; i < values.size(); ++i) ExpectTensorEqual(result[i], values[i], DataTypeName(values[i].dtype()));
}

TEST_P(RunTest, LargeTensorsCrossDevices) {
  const int64_t elements = 3 * 1024 * 1024 + 17;
  const Output n = ops::Placeholder(On(0), DT_INT32);
  const Output there = ops::Range(On(1), 0, n, 1);
  const Output back = ops::Neg(On(0), there);
  const Output sum = ops::Sum(On(1), ops::Cast(On(1), ops::AddV2(On(1), back, there), DT_INT64), 0);
  for (int round = 0; round < 3; ++round) {
    const auto result = Run({{n, AsScalar<int32_t>(static_cast<int32_t>(elements))}}, {back, sum});
    ASSERT_EQ(result[0].NumElements(), elements);
    for (int64_t i = 0; i < elements; ++i) ASSERT_EQ(result[0].data<int32_t>()[i], -i);
    ExpectTensorEqual(result[1], AsScalar<int64_t>(0));
  }
}

TEST_P(RunTest, OneTensorGoesToManyConsumers) {
  const Output x = ops::Placeholder(On(0), DT_INT64);
  OutputList sums;
  for (int i = 1; i <= 10; ++i) sums.push_back(ops::Mul(On(1), x, static_cast<int64_t>(i)));
  const auto result = Run({{x, AsScalar<int64_t>(3)}}, sums);
  for (int i = 1; i <= 10; ++i) ExpectTensorEqual(result[i - 1], AsScalar<int64_t>(3 * i));
}

TEST_P(RunTest, ControlDependenciesCrossDevices) {
  const Output handle = ops::FIFOQueueV2(On(0), {DT_INT32});
  const Operation enqueue = ops::QueueEnqueueV2(On(0), handle, {scope_.Constant(5)});
  const Output between = ops::Identity(On(1).WithControlDependencies({enqueue}), On(1).Constant(1));
  const Output size = ops::QueueSizeV2(On(0).WithControlDependencies({between}), handle);
  for (int i = 1; i <= 5; ++i) ExpectTensorEqual(Fetch(size), AsScalar<int32_t>(i));
}

TEST_P(RunTest, TheGraphMayGrowBetweenRuns) {
  Output total = scope_.Constant(0);
  for (int i = 0; i < 10; ++i) {
    total = ops::AddV2(On(i % 2), total, i);
    ExpectTensorEqual(Fetch(total), AsScalar<int32_t>(i * (i + 1) / 2));
  }
}

TEST_P(RunTest, StepsOfOldSignaturesEndWaitsIfCommittedTheGraphGrew) {
  const Output x = ops::Placeholder(scope_, DT_INT32), y = ops::Neg(On(1), x);
  ExpectTensorEqual(Run({{x, AsScalar<int32_t>(1)}}, {y})[0], AsScalar<int32_t>(-1));
  const Output z = ops::Square(On(0), y);
  ExpectTensorEqual(Run({{x, AsScalar<int32_t>(3)}}, {z})[0], AsScalar<int32_t>(9));
  ExpectTensorEqual(Run({{x, AsScalar<int32_t>(2)}}, {y})[0], AsScalar<int32_t>(-2));
}

TEST_P(RunTest, TargetsRunWithoutGivingAnything) {
  const Output handle = ops::FIFOQueueV2(On(1), {DT_INT32});
  const Operation enqueue = ops::QueueEnqueueV2(On(1), handle, {scope_.Constant(5)});
  for (int i = 0; i < 3; ++i) RunOp(enqueue);
  ExpectTensorEqual(Fetch(ops::QueueSizeV2(On(1), handle)), AsScalar<int32_t>(3));
}

TEST_P(RunTest, AnEmptyStepSucceeds) {
  const Operation nothing = ops::NoOp(On(1));
  RunOp(nothing);
}

TEST_P(RunTest, StepsRunFromManyThreads) {
  const Output x = ops::Placeholder(On(0), DT_FLOAT);
  const Output y = ops::AddV2(On(1), x, 1);
  Session& session = this->session();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        auto result = session.Run({{x, AsScalar<float>(static_cast<float>(t * 1000 + i))}}, {y});
        ASSERT_THAT(result, IsOk());
        EXPECT_EQ((*result)[0].scalar<float>(), static_cast<float>(t * 1000 + i + 1));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(RunTest, SeedsGiveTheSameNumbersEverywhere) {
  const Output numbers = ops::StatelessRandomUniform(On(1), AsTensor<int32_t>({3}), AsTensor<int64_t>({5, 6}));
  const Output stateful = ops::RandomUniform(On(1), AsTensor<int32_t>({3}), DT_FLOAT, {.seed = 1, .seed2 = 2});
  const Tensor stateless = Fetch(numbers), first = Fetch(stateful), second = Fetch(stateful);
  ExpectTensorEqual(Fetch(numbers), stateless);
  EXPECT_NE(first.data<float>()[0], second.data<float>()[0]);
  // As any other place gives them.
  ASSERT_OK_AND_ASSIGN(auto local, Session::Local(Scope::NewRoot()));
  Scope other = Scope::NewRoot();
  const Output again = ops::RandomUniform(other, AsTensor<int32_t>({3}), DT_FLOAT, {.seed = 1, .seed2 = 2});
  ASSERT_OK_AND_ASSIGN(local, Session::Local(other));
  ASSERT_OK_AND_ASSIGN(auto expected, local->Run({again}));
  ExpectTensorEqual(first, expected[0]);
}

TEST_P(RunTest, TheStepReportsWhereItRan) {
  const Output x = ops::Placeholder(On(0), DT_FLOAT);
  const Output y = ops::MatMul(On(1).WithName("product"), x, x);
  tensorflow::RunOptions options;
  options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  options.set_output_partition_graphs(true);
  tensorflow::RunMetadata metadata;
  ASSERT_THAT(session().Run({{x, AsTensor<float>({1, 2, 3, 4}, {2, 2})}}, {y}, {}, options, &metadata), IsOk());
  EXPECT_EQ(metadata.partition_graphs_size(), 2);
  bool found = false;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    for (const auto& node : device.node_stats()) {
      found = found || (node.node_name() == "product" && device.device() == device_name(1));
    }
  }
  EXPECT_TRUE(found) << metadata.step_stats().ShortDebugString();
}

TEST_P(RunTest, TheSessionKnowsItsDevices) {
  scope_.Constant(1);
  ASSERT_OK_AND_ASSIGN(const std::vector<DeviceInfo> devices, session().ListDevices());
  std::vector<std::string> names;
  for (const DeviceInfo& device : devices) names.push_back(device.name);
  std::vector<std::string> expected = backend_->devices();
  if (IsOnGpus(GetParam())) expected.push_back("/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(expected));
}

TEST_P(RunTest, TwoSessionsHaveTwoGraphs) {
  const Output a = ops::Identity(On(1).WithName("same_name"), scope_.Constant(1));
  session();
  Scope other = Scope::NewRoot();
  const Output b = ops::Identity(other.WithDevice(device_name(1)).WithName("same_name"), other.Constant(2));
  ASSERT_OK_AND_ASSIGN(auto second, backend_->Connect(other, {}));
  ExpectTensorEqual(Fetch(a), AsScalar<int32_t>(1));
  ASSERT_OK_AND_ASSIGN(auto result, second->Run({b}));
  ExpectTensorEqual(result[0], AsScalar<int32_t>(2));
  ASSERT_THAT(second->Close(), IsOk());
  ExpectTensorEqual(Fetch(a), AsScalar<int32_t>(1));
}

TEST_P(RunTest, ACallAfterCloseIsRefused) {
  const Output a = scope_.Constant(1.0f);
  ASSERT_THAT(session().Close(), IsOk());
  EXPECT_THAT(ErrorOf({}, {a}), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(session().Close(), IsOk());
}

TEST_P(RunTest, ClosingRacesWithSteps) {
  const Output a = ops::AddV2(On(0), ops::Neg(On(1), scope_.Constant(1.0f)), 2.0f);
  for (int round = 0; round < 5; ++round) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> shared, Connect());
    std::atomic<int> ended{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        absl::Status status;
        while (status.ok()) {
          status = shared->Run({a}).status();
          ++ended;
        }
        EXPECT_TRUE(absl::IsAborted(status) || absl::IsCancelled(status) || absl::IsFailedPrecondition(status))
            << status;
      });
    }
    while (ended < 4) std::this_thread::yield();
    EXPECT_THAT(shared->Close(), IsOk());
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace weir
