// Embeddings and partitioned variables in a local session.
#include <filesystem>
#include <fstream>
#include <map>

#include "client/embedding/embedding_prefetch.h"
#include "client/embedding/embedding_saver.h"
#include "client/embedding/embedding_variable.h"
#include "client/embedding/partitioned_variable.h"
#include "client/gradients.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EmbeddingVariableTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }

  const ScratchDirectory directory_;
};

// An embedding of width 2 with `parts` parts, and a step that adds 1 to the rows of the fed keys.
struct Counter {
  explicit Counter(int parts, EmbeddingOptimizer::Kind kind = EmbeddingOptimizer::Kind::kGradientDescent) {
    EmbeddingVariableOptions options{.width = 2, .devices = std::vector<std::string>(parts)};
    options.optimizer = {.kind = kind, .learning_rate = 1};
    options.initializer = "constant";
    options.initializer_params = {0};
    variable = EmbeddingVariable::Make(scope.WithName("counter"), options);
    keys = ops::Placeholder(scope.WithName("keys"), DT_INT64);
    const EmbeddingPull pull = variable.Pull(scope, keys);
    rows = variable.Embed(scope, pull);
    const Output loss = ops::Neg(scope, ops::Sum(scope, rows, Tensor::Vector<int32_t>({0, 1})));
    const std::vector<Gradient> gradients = Gradients(scope, {loss}, {pull.unique});
    EXPECT_THAT(scope.status(), IsOk());
    push = variable.Push(scope, pull, gradients[0], scope.Constant(Tensor::Scalar<int64_t>(0)));
    saver = std::make_unique<EmbeddingSaver>(scope, std::vector<EmbeddingVariable>{variable},
                                             EmbeddingSaverOptions{.full_every = 3});
    absl::StatusOr<std::unique_ptr<Session>> made = Session::Local(scope);
    EXPECT_THAT(made.status(), IsOk());
    session = *std::move(made);
  }
  void Add(std::vector<int64_t> which) {
    EXPECT_THAT(session->Run({{keys, Tensor::Vector<int64_t>(which)}}, {}, {push}).status(), IsOk());
  }
  // The first of the two numbers of each row.
  std::vector<float> Get(std::vector<int64_t> which) {
    auto result = session->Run({{keys, Tensor::Vector<int64_t>(which)}}, {rows});
    EXPECT_THAT(result.status(), IsOk());
    std::vector<float> values;
    for (size_t i = 0; result.ok() && i < which.size(); ++i) values.push_back((*result)[0].flat<float>()[2 * i]);
    return values;
  }

  Scope scope = Scope::NewRoot();
  EmbeddingVariable variable;
  Output keys, rows;
  Operation push;
  std::unique_ptr<EmbeddingSaver> saver;
  std::unique_ptr<Session> session;
};

TEST_F(EmbeddingVariableTest, PartsTogetherAreOne) {
  for (int parts : {1, 2, 5}) {
    Counter counter(parts);
    EXPECT_THAT(counter.session->Run({{counter.keys, Tensor::Vector<int64_t>({1})}}, {counter.rows}).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_THAT(counter.saver->Initialize(*counter.session), IsOk());
    counter.Add({7, -1, 7, 100, 7});
    counter.Add({100, 3});
    counter.Add({});
    EXPECT_THAT(counter.Get({-1, 3, 7, 7, 100, 55}), ElementsAre(1, 1, 3, 3, 2, 0)) << parts;
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> size, counter.session->Run({counter.variable.size()}));
    EXPECT_EQ(size[0].scalar<int64_t>(), 4);
  }
}

TEST_F(EmbeddingVariableTest, EveryOptimizerPushes) {
  using Kind = EmbeddingOptimizer::Kind;
  for (Kind kind : {Kind::kAdagrad, Kind::kAdam, Kind::kFtrl}) {
    Counter counter(2, kind);
    ASSERT_THAT(counter.saver->Initialize(*counter.session), IsOk());
    counter.Add({1, 2});
    EXPECT_GT(counter.Get({1})[0], 0.5);
  }
}

TEST_F(EmbeddingVariableTest, CheckpointsOfChangesAreRestoredInOrder) {
  Counter counter(2);
  ASSERT_THAT(counter.saver->Initialize(*counter.session), IsOk());
  std::vector<bool> deltas;
  for (int64_t step = 1; step <= 5; ++step) {
    counter.Add({step, 1000});
    ASSERT_THAT(counter.saver->Save(*counter.session, Path(absl::StrCat("model-", step))), IsOk());
    deltas.push_back(counter.saver->last_was_delta());
  }
  EXPECT_THAT(deltas, ElementsAre(false, true, true, false, true));
  for (int parts : {1, 2, 3}) {  // as many as were saved, fewer, more
    Counter other(parts);
    ASSERT_OK_AND_ASSIGN(bool whole, other.saver->IsWhole(*other.session));
    EXPECT_FALSE(whole);
    ASSERT_THAT(other.saver->Restore(*other.session, Path("model-3")), IsOk());
    EXPECT_THAT(other.Get({1, 2, 3, 4, 1000}), ElementsAre(1, 1, 1, 0, 3));
    ASSERT_THAT(other.saver->Restore(*other.session, Path("model-5")), IsOk());
    EXPECT_THAT(other.Get({1, 2, 3, 4, 5, 1000}), ElementsAre(1, 1, 1, 1, 1, 5));
    // Training continues from there, whatever the number of parts.
    other.Add({6});
    ASSERT_THAT(other.saver->Save(*other.session, Path("model-6")), IsOk());
    EXPECT_EQ(other.saver->last_was_delta(), parts == 2);
    ASSERT_THAT(counter.saver->Restore(*counter.session, Path("model-6")), IsOk());
    EXPECT_THAT(counter.Get({1, 5, 6, 1000}), ElementsAre(1, 1, 1, 5));
  }
}

TEST_F(EmbeddingVariableTest, AMissingLinkIsAnError) {
  Counter counter(2);
  ASSERT_THAT(counter.saver->Initialize(*counter.session), IsOk());
  for (int64_t step = 1; step <= 3; ++step) {
    counter.Add({step});
    ASSERT_THAT(counter.saver->Save(*counter.session, Path(absl::StrCat("model-", step))), IsOk());
  }
  std::filesystem::remove(Path("embeddings/model-2.index"));
  EXPECT_THAT(counter.saver->Restore(*counter.session, Path("model-3")), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(bool whole, counter.saver->IsWhole(*counter.session));
  EXPECT_TRUE(whole);  // the old checkpoint is still there
  EXPECT_THAT(counter.Get({1, 2, 3}), ElementsAre(1, 1, 1));
}

TEST_F(EmbeddingVariableTest, EveryPartMustBeThere) {
  Counter counter(3);
  ASSERT_THAT(counter.saver->Initialize(*counter.session), IsOk());
  counter.Add({1, 2, 3, 4, 5});
  ASSERT_THAT(counter.saver->Save(*counter.session, Path("model-1")), IsOk());
  // A checkpoint without the last part.
  const auto files = NewPosixFileSystem();
  ASSERT_OK_AND_ASSIGN(const auto whole, BundleReader::Open(files.get(), Path("embeddings/model-1")));
  ASSERT_OK_AND_ASSIGN(const auto rest, BundleWriter::Create(files.get(), Path("embeddings/model-2")));
  for (const BundleReader::Info& entry : whole->List()) {
    if (entry.name.starts_with("counter/part_2")) continue;
    ASSERT_OK_AND_ASSIGN(const Tensor tensor, whole->Read(entry.name));
    ASSERT_THAT(rest->Add(entry.name, tensor), IsOk());
  }
  ASSERT_THAT(rest->Finish(), IsOk());
  EXPECT_THAT(counter.saver->Restore(*counter.session, Path("model-2")), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(counter.Get({1, 2, 3, 4, 5}), ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(EmbeddingVariableTest, NothingIsDeletedWhileACheckpointCannotBeRead) {
  Counter counter(1);
  ASSERT_THAT(counter.saver->Initialize(*counter.session), IsOk());
  for (int64_t step = 1; step <= 3; ++step) {
    counter.Add({step});
    ASSERT_THAT(counter.saver->Save(*counter.session, Path(absl::StrCat("model-", step))), IsOk());
  }
  const auto files = NewPosixFileSystem();
  ASSERT_THAT(
      WriteCheckpointState(files.get(), directory_.path(), {.latest = Path("model-2"), .all = {Path("model-2")}}),
      IsOk());
  std::ofstream(Path("embeddings/model-2.index"), std::ios::trunc) << "cut off";
  EXPECT_THAT(counter.saver->Save(*counter.session, Path("model-4")), IsOk());
  EXPECT_FALSE(counter.saver->last_was_delta());
  EXPECT_TRUE(std::filesystem::exists(Path("embeddings/model-1.index")));
}

EmbeddingVariable SummedRows(const Scope& scope) {
  EmbeddingVariableOptions options{.width = 1, .devices = {"", ""}};
  options.optimizer = {.kind = EmbeddingOptimizer::Kind::kGradientDescent, .learning_rate = 1};
  options.initializer = "constant";
  options.initializer_params = {0};
  return EmbeddingVariable::Make(scope, options);
}

TEST_F(EmbeddingVariableTest, AStepBehindTheLastPullSaysWhyThereIsNone) {
  const Scope scope = Scope::NewRoot();
  const EmbeddingVariable variable = SummedRows(scope);
  const Output keys = ops::Placeholder(scope, DT_INT64);
  EmbeddingPrefetch prefetch(scope, {variable.Pull(scope, keys)}, {keys}, 2);
  ASSERT_THAT(scope.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, Session::Local(scope));
  const Output batch = prefetch.others()[0];
  const auto until = [&](int64_t end, const absl::Status& status) {
    return [=](int64_t step) -> absl::StatusOr<FeedList> {
      if (step == end) return status;
      return FeedList{{keys, Tensor::Vector<int64_t>({step})}};
    };
  };
  // The rows do not exist yet.
  ASSERT_THAT(prefetch.Start(*session, until(9, errors::Internal("not reached")), 0), IsOk());
  EXPECT_THAT(session->Run({batch}), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("uninitialized")));
  EXPECT_THAT(session->Run({batch}), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(prefetch.Stop(), StatusIs(absl::StatusCode::kFailedPrecondition));

  ASSERT_THAT(session->RunTargets({variable.initializer()}), IsOk());
  ASSERT_THAT(prefetch.Start(*session, until(3, errors::OutOfRange("the end")), 0), IsOk());
  for (int64_t step = 0; step < 3; ++step) {
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, session->Run({batch}));
    ExpectTensorEqual(out[0], Tensor::Vector<int64_t>({step}));
  }
  EXPECT_THAT(session->Run({batch}), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(prefetch.Stop(), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("the end")));

  ASSERT_THAT(prefetch.Start(*session, until(3, errors::DataLoss("a bad record")), 2), IsOk());
  EXPECT_THAT(session->Run({batch}).status(), IsOk());
  EXPECT_THAT(session->Run({batch}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a bad record")));
  EXPECT_THAT(prefetch.Stop(), StatusIs(absl::StatusCode::kDataLoss));

  // FollowSteps restarts when a step is repeated.
  const EmbeddingPrefetch::Feeds follow = prefetch.FollowSteps(*session, until(-1, errors::Internal("not reached")));
  for (const int64_t step : {4, 5, 6, 5, 6, 2}) {
    ASSERT_OK_AND_ASSIGN(const FeedList none, follow(step));
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, session->Run(none, {batch}));
    ExpectTensorEqual(out[0], Tensor::Vector<int64_t>({step}));
  }

  // Stop does not wait for room, and fails a step that waits for a batch.
  ASSERT_THAT(prefetch.Start(*session, until(-1, errors::Internal("not reached")), 0), IsOk());
  EXPECT_THAT(session->Run({batch}).status(), IsOk());
  EXPECT_THAT(prefetch.Stop(), IsOk());
  absl::Status left;
  for (int i = 0; left.ok() && i < 3; ++i) left = session->Run({batch}).status();
  EXPECT_THAT(left, StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(EmbeddingVariableTest, SynchronousWorkersPushTogether) {
  const Scope scope = Scope::NewRoot();
  EmbeddingVariableOptions options{.width = 1, .devices = {"", ""}};
  options.optimizer = {.kind = EmbeddingOptimizer::Kind::kAdagrad, .learning_rate = 1};
  options.initializer = "constant";
  options.initializer_params = {0};
  const EmbeddingVariable alone = EmbeddingVariable::Make(scope.WithName("alone"), options);
  options.synchronous_workers = 2;
  const EmbeddingVariable together = EmbeddingVariable::Make(scope.WithName("together"), options);
  const Output step = scope.Constant(Tensor::Scalar<int64_t>(0));
  const auto push_of = [&](const EmbeddingVariable& variable, std::vector<int64_t> keys, int worker) {
    const EmbeddingPull pull = variable.Pull(scope, scope.Constant(Tensor::Vector<int64_t>(keys)));
    const Output loss = ops::Neg(scope, ops::Sum(scope, variable.Embed(scope, pull), Tensor::Vector<int32_t>({0, 1})));
    return variable.Push(scope, pull, Gradients(scope, {loss}, {pull.unique})[0], step, worker);
  };
  const Operation first = push_of(together, {7, 8, 9}, 0), second = push_of(together, {9, 10}, 1);
  const Operation both = push_of(alone, {7, 8, 9, 9, 10}, 0);
  const auto rows_of = [&](const EmbeddingVariable& variable) {
    const Output keys = scope.Constant(Tensor::Vector<int64_t>({7, 8, 9, 10}));
    return variable.Embed(scope, variable.Pull(scope, keys));
  };
  const Output rows = rows_of(together), expected = rows_of(alone);
  ASSERT_THAT(scope.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({together.initializer(), alone.initializer()}), IsOk());
  // A single push waits, and changes nothing.
  tensorflow::RunOptions limit;
  limit.set_timeout_in_ms(200);
  EXPECT_THAT(session->Run({}, {}, {first}, limit), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_THAT(session->RunTargets({first, second, both}), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, session->Run({rows, expected}));
  ExpectTensorEqual(out[0], out[1]);
  push_of(together, {1}, 2);
  EXPECT_THAT(scope.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 synchronous workers")));
}

TEST_F(EmbeddingVariableTest, AQueueOfBatchesHasABound) {
  const Scope scope = Scope::NewRoot();
  const Output keys = ops::Placeholder(scope, DT_INT64);
  const EmbeddingPrefetch prefetch(scope, {}, {keys}, 0);
  EXPECT_THAT(scope.status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(EmbeddingVariableTest, PullsGoAheadOfSteps) {
  const Scope scope = Scope::NewRoot();
  const EmbeddingVariable variable = SummedRows(scope);
  const Output keys = ops::Placeholder(scope, DT_INT64);
  EmbeddingPrefetch prefetch(scope, {variable.Pull(scope, keys)}, {keys}, 2);
  const EmbeddingPull& pull = prefetch.pulls()[0];
  const Output loss = ops::Neg(scope, ops::Sum(scope, variable.Embed(scope, pull), Tensor::Vector<int32_t>({0, 1})));
  const std::vector<Gradient> gradients = Gradients(scope, {loss}, {pull.unique});
  const Operation push = variable.Push(scope, pull, gradients[0], scope.Constant(Tensor::Scalar<int64_t>(0)));
  const Output rows = variable.Embed(scope, variable.Pull(scope, keys));
  ASSERT_THAT(scope.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({variable.initializer()}), IsOk());
  const auto feeds = [&](int64_t step) -> absl::StatusOr<FeedList> {
    return FeedList{{keys, Tensor::Vector<int64_t>({step, step, 99})}};
  };
  ASSERT_THAT(prefetch.Start(*session, feeds, 5), IsOk());
  for (int64_t step = 5; step < 15; ++step) {
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, session->Run({}, {prefetch.others()[0]}, {push}));
    ExpectTensorEqual(out[0], Tensor::Vector<int64_t>({step, step, 99}));
  }
  EXPECT_THAT(prefetch.Stop(), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out,
                       session->Run({{keys, Tensor::Vector<int64_t>({4, 5, 14, 15, 99})}}, {rows}));
  ExpectTensorEqual(out[0], AsTensor<float>({0, 2, 2, 0, 10}, {5, 1}));
}

TEST(PartitionerTest, DivideAsTensorFlowDoes) {
  const TensorShape shape({1000, 64});  // 256,000 bytes
  EXPECT_THAT(partitioners::FixedSize(3)(shape, DT_FLOAT), ElementsAre(3, 1));
  EXPECT_THAT(partitioners::FixedSize(3, 1)(shape, DT_FLOAT), ElementsAre(1, 3));
  EXPECT_THAT(partitioners::FixedSize(30)(TensorShape({7, 2}), DT_FLOAT), ElementsAre(7, 1));
  EXPECT_THAT(partitioners::MinMax(10)(shape, DT_FLOAT), ElementsAre(1, 1));
  EXPECT_THAT(partitioners::MinMax(10, 0, 100'000)(shape, DT_FLOAT), ElementsAre(3, 1));
  EXPECT_THAT(partitioners::MinMax(2, 0, 0)(shape, DT_FLOAT), ElementsAre(2, 1));
  EXPECT_THAT(partitioners::MinMax(2, 0, 100'000)(shape, DT_FLOAT), ElementsAre(2, 1));
  EXPECT_THAT(partitioners::AxisSize(100'000)(shape, DT_FLOAT), ElementsAre(3, 1));  // 390 rows each
  EXPECT_THAT(partitioners::AxisSize(1)(TensorShape({4, 64}), DT_FLOAT), ElementsAre(4, 1));
  EXPECT_THAT(partitioners::AxisSize(1, 0, 2)(TensorShape({4, 64}), DT_FLOAT), ElementsAre(2, 1));
}

TEST(ByteBalancedDevicesTest, TheEmptiestTaskIsNext) {
  ByteBalancedDevices devices("ps", 2);
  EXPECT_EQ(devices.Next(100), "/job:ps/task:0");
  EXPECT_EQ(devices.Next(30), "/job:ps/task:1");
  EXPECT_EQ(devices.Next(30), "/job:ps/task:1");
  EXPECT_EQ(devices.Next(50), "/job:ps/task:1");
  EXPECT_EQ(devices.Next(1), "/job:ps/task:0");
  EXPECT_EQ(ByteBalancedDevices("ps", 0).Next(1), "/job:ps");
}

// Rows [0, 1], [2, 3], …
Tensor Counting(int64_t rows) {
  Tensor tensor(DT_FLOAT, TensorShape({rows, 2}));
  for (int64_t i = 0; i < 2 * rows; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

PartitionedVariable Make(const Scope& scope, int64_t parts) {
  return PartitionedVariable::Make(scope.WithName("w"), TensorShape({7, 2}), DT_FLOAT, initializers::Zeros(),
                                   partitioners::FixedSize(parts));
}

TEST_F(EmbeddingVariableTest, APartitionedVariableIsOneTensorInCheckpoints) {
  std::string prefix;
  {
    const Scope scope = Scope::NewRoot();
    const PartitionedVariable variable = Make(scope, 3);
    ASSERT_EQ(variable.parts().size(), 3);
    EXPECT_EQ(variable.parts()[0].name(), "w/part_0");
    EXPECT_EQ(variable.parts()[0].shape(), TensorShape({3, 2}));
    EXPECT_EQ(variable.parts()[2].options().save_slice, "7 2 5,2:0,2");
    std::vector<Operation> assign;
    int64_t row = 0;
    const Output whole = scope.Constant(Counting(7));
    for (const ResourceVariable& part : variable.parts()) {
      const int64_t rows = part.shape().dim_size(0);
      assign.push_back(part.Assign(
          scope, ops::Slice(scope, whole, Tensor::Vector<int64_t>({row, 0}), Tensor::Vector<int64_t>({rows, 2}))));
      row += rows;
    }
    const Output ids = ops::Placeholder(scope, DT_INT64);
    const Output found = variable.Lookup(scope, ids);
    const Saver saver(scope);
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, Session::Local(scope));
    ASSERT_THAT(session->RunTargets(assign), IsOk());
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out,
                         session->Run({{ids, AsTensor<int64_t>({6, 0, 3, 3}, {2, 2})}}, {found}));
    ExpectTensorEqual(out[0], AsTensor<float>({12, 13, 0, 1, 6, 7, 6, 7}, {2, 2, 2}));
    ASSERT_OK_AND_ASSIGN(prefix, saver.Save(*session, Path("model"), 1));
  }
  const auto files = NewPosixFileSystem();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<BundleReader> reader, BundleReader::Open(files.get(), prefix));
  ASSERT_OK_AND_ASSIGN(Tensor read, reader->Read("w"));
  ExpectTensorEqual(read, Counting(7));
  for (int64_t parts : {1, 2, 7}) {
    const Scope scope = Scope::NewRoot();
    const PartitionedVariable variable = Make(scope, parts);
    const Output value = variable.value(scope);
    const Saver saver(scope);
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, Session::Local(scope));
    ASSERT_THAT(saver.Restore(*session, prefix), IsOk());
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, session->Run({value}));
    ExpectTensorEqual(out[0], Counting(7));
  }
}

TEST_F(EmbeddingVariableTest, AVariableGoesIntoPartsAlongOneAxis) {
  const Scope scope = Scope::NewRoot();
  PartitionedVariable::Make(scope, TensorShape({4, 4}), DT_FLOAT, initializers::Zeros(),
                            [](const TensorShape&, DataType) {
                              return std::vector<int64_t>{2, 2};
                            });
  EXPECT_THAT(scope.status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
