// Dealt input in a local session: one task, so that steps have no commit. tests/chaos/deal.cc has clusters.
#include "client/data/dealt_dataset.h"

#include <future>
#include <set>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/session.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kChunk = 5;

// Numbers 5 c to 5 c + 4 of chunk c.
Dataset Numbers(const Scope& scope, const Output& chunk) {
  return Dataset::Range(scope, kChunk).Map([chunk](const Scope& s, const OutputList& example) {
    return OutputList{ops::AddV2(s, ops::Mul(s, chunk, int64_t{kChunk}), example[0])};
  });
}

class DealtDatasetTest : public ::testing::Test {
 protected:
  struct Worker {
    DealtInput input;
    Operation advance;
  };
  void Deal(int64_t examples, DealOptions options) {
    options.batch_size = 2;
    dealt_ = DealtDataset(scope_, "numbers", EvenChunks(examples, kChunk), options);
  }
  Worker Join(const std::string& name) {
    Worker worker;
    worker.input =
        dealt_.ForWorker(scope_, Tensor::Scalar<tstring>(name),
                         [](const Scope& s, const Output&, const Output& chunk) { return Numbers(s, chunk); });
    worker.advance = worker.input.Advance(scope_, {});
    return worker;
  }
  void Start() {
    ASSERT_THAT(scope_.status(), IsOk());
    const Operation initialize = InitializeAll(scope_);
    ASSERT_OK_AND_ASSIGN(session_, Session::Local(scope_));
    ASSERT_THAT(session_->RunTargets({initialize}), IsOk());
  }
  // A step with the worker's batch; it uses the batch up if `advances`.
  absl::StatusOr<std::vector<int64_t>> Step(const Worker& worker, bool advances = true) {
    std::vector<Operation> targets;
    if (advances) targets.push_back(worker.advance);
    ASSIGN_OR_RETURN(const std::vector<Tensor> batch, session_->Run({}, worker.input.next(), targets));
    const auto numbers = batch[0].flat<int64_t>();
    return std::vector<int64_t>(numbers.begin(), numbers.end());
  }

  Scope scope_ = Scope::NewRoot();
  DealtDataset dealt_;
  std::unique_ptr<Session> session_;
};

TEST_F(DealtDatasetTest, TwoWorkersUseEachExampleOnce) {
  Deal(12, {.epochs = 2, .shuffle = true});
  const Worker workers[] = {Join("a"), Join("b")};
  Start();
  std::multiset<int64_t> seen;
  for (int step = 0;; ++step) {
    const auto numbers = Step(workers[step % 2]);
    if (absl::IsOutOfRange(numbers.status())) break;
    ASSERT_THAT(numbers, IsOk());
    seen.insert(numbers->begin(), numbers->end());
    // One worker alone at the end of an epoch would wait for the other.
    if (step > 100) FAIL() << "no end";
  }
  EXPECT_EQ(seen.size(), 24u);
  for (int64_t number = 0; number < 12; ++number) EXPECT_EQ(seen.count(number), 2u) << number;
}

TEST_F(DealtDatasetTest, AStepThatDoesNotAdvanceLeavesItsBatch) {
  Deal(5, {});
  const Worker worker = Join("a");
  Start();
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto numbers, Step(worker, /*advances=*/false));
    EXPECT_THAT(numbers, ElementsAre(0, 1));
  }
  ASSERT_OK_AND_ASSIGN(const auto first, Step(worker));
  EXPECT_THAT(first, ElementsAre(0, 1));
  ASSERT_OK_AND_ASSIGN(const auto second, Step(worker));
  EXPECT_THAT(second, ElementsAre(2, 3));
  ASSERT_OK_AND_ASSIGN(const auto last, Step(worker));
  EXPECT_THAT(last, ElementsAre(4));
  EXPECT_THAT(Step(worker), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("End of sequence")));
}

TEST_F(DealtDatasetTest, AClaimEndsWithAStepThatFails) {
  Deal(5, {});
  const Worker worker = Join("a");
  const Output fails = ops::Placeholder(scope_, DT_BOOL, {.shape = TensorShape()});
  const Output range = worker.input.range();
  const Output claim = ops::InputDealerClaim(scope_, dealt_.handle(), dealt_.progress().handle(), range);
  const Operation assert_op = ops::Assert(scope_.WithControlDependencies({claim.op()}), fails, {range});
  Start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(session_->Run({{fails, Tensor::Scalar<bool>(false)}}, {}, {assert_op}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  ASSERT_OK_AND_ASSIGN(const auto numbers, Step(worker));
  EXPECT_THAT(numbers, ElementsAre(0, 1));
}

TEST_F(DealtDatasetTest, AWorkerWithoutAChunkWaitsForOneThatComesBack) {
  Deal(5, {.lease = absl::Milliseconds(300)});
  const Worker dead = Join("dead"), worker = Join("a");
  Start();
  ASSERT_OK_AND_ASSIGN(const auto lost, Step(dead));
  EXPECT_THAT(lost, ElementsAre(0, 1));
  ASSERT_OK_AND_ASSIGN(const auto next, Step(worker));
  EXPECT_THAT(next, ElementsAre(2, 3));
}

TEST_F(DealtDatasetTest, AWaitEndsWithItsStep) {
  Deal(5, {.lease = absl::Hours(1)});
  const Worker dead = Join("dead"), worker = Join("a");
  Start();
  ASSERT_THAT(Step(dead), IsOk());
  RunOptions options;
  ASSERT_THAT(options.MergeText("timeout_in_ms: 50"), IsOk());
  EXPECT_THAT(session_->Run({}, worker.input.next(), {}, options), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_THAT(Step(dead), IsOk());
}

TEST_F(DealtDatasetTest, TheEndOfTheChunkWakesAWorkerThatWaits) {
  Deal(2, {.lease = absl::Hours(1)});
  const Worker first = Join("a"), second = Join("b");
  Start();
  ASSERT_THAT(Step(first, /*advances=*/false), IsOk());
  auto waiting = std::async(std::launch::async, [&] { return Step(second); });
  ASSERT_THAT(Step(first), IsOk());
  EXPECT_THAT(waiting.get(), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(DealtDatasetTest, ACheckpointHasTheProgress) {
  const ScratchDirectory directory;
  Deal(10, {});
  const Worker worker = Join("a");
  const Saver saver(scope_);
  Start();
  ASSERT_THAT(Step(worker), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string checkpoint, saver.Save(*session_, directory.Path("model.ckpt"), 1));
  for (int i = 0; i < 3; ++i) ASSERT_THAT(Step(worker), IsOk());
  ASSERT_THAT(saver.Restore(*session_, checkpoint), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto again, Step(worker));
  EXPECT_THAT(again, ElementsAre(2, 3));
}

TEST_F(DealtDatasetTest, AChunkWithFewerExamplesThanItsSizeIsAnError) {
  dealt_ = DealtDataset(scope_, "numbers", {7}, {.batch_size = 2});
  const Worker worker = Join("a");
  Start();
  ASSERT_THAT(Step(worker), IsOk());
  ASSERT_THAT(Step(worker), IsOk());
  EXPECT_THAT(Step(worker), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dataset of chunk 0")));
}

TEST_F(DealtDatasetTest, ProgressWithoutAValueIsAnError) {
  Deal(5, {});
  const Worker worker = Join("a");
  ASSERT_OK_AND_ASSIGN(session_, Session::Local(scope_));
  EXPECT_THAT(Step(worker), StatusIs(absl::StatusCode::kNotFound, HasSubstr("numbers/progress")));
}

TEST_F(DealtDatasetTest, OptionsThatAllowNoBatchAreAnError) {
  dealt_ = DealtDataset(scope_, "numbers", {1}, {.batch_size = 2, .drop_remainder = true});
  const Worker worker = Join("a");
  Start();
  EXPECT_THAT(Step(worker), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no chunk has a batch")));
}

}  // namespace
}  // namespace weir
