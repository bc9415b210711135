#include "kernels/dealing/input_dealer.h"

#include <map>
#include <random>
#include <set>
#include <vector>

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLease = absl::Seconds(10);

class DealerTest : public ::testing::Test {
 protected:
  void Make(InputDealerOptions options) {
    options.name = "digits";
    options.lease = kLease;
    ASSERT_THAT(InputDealer::Check(options), IsOk());
    dealer_.emplace(std::move(options));
    table_ = dealer_->InitialProgress();
  }
  DealtProgress progress() { return DealtProgress(absl::MakeSpan(table_)); }
  absl::StatusOr<std::optional<DealtRange>> Take(const std::string& worker) {
    return dealer_->Take(progress(), worker, now_);
  }
  DealtRange Taken(const std::string& worker) {
    const auto range = Take(worker);
    EXPECT_THAT(range.status(), IsOk());
    return range.ok() && *range ? **range : DealtRange();
  }
  absl::StatusOr<int64_t> Claim(const DealtRange& range) { return dealer_->Claim(progress(), range, now_); }
  void Step(const DealtRange& range) {
    const auto claim = Claim(range);
    ASSERT_THAT(claim.status(), IsOk());
    ASSERT_THAT(dealer_->Advance(progress(), *claim, now_), IsOk());
  }

  std::optional<InputDealer> dealer_;
  std::vector<int64_t> table_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(DealerTest, AWorkerGoesThroughItsChunk) {
  Make({.chunk_sizes = {5, 2}, .batch_size = 2});
  std::vector<std::vector<int64_t>> ranges;
  for (int i = 0; i < 4; ++i) {
    const DealtRange range = Taken("a");
    ranges.push_back({range.chunk, range.begin, range.count, range.end});
    Step(range);
  }
  EXPECT_EQ(ranges, (std::vector<std::vector<int64_t>>{{0, 0, 2, 5}, {0, 2, 2, 5}, {0, 4, 1, 5}, {1, 0, 2, 2}}));
  EXPECT_THAT(Take("a"), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("dealt 1 epochs")));
}

TEST_F(DealerTest, ASmallerLastBatchIsDroppedIfTheOptionsSaySo) {
  Make({.chunk_sizes = {5, 1}, .batch_size = 2, .drop_remainder = true});
  Step(Taken("a"));
  Step(Taken("a"));
  EXPECT_THAT(Take("a"), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(DealerTest, ALateStepIsRefusedOnceItsChunkIsDealtToAnother) {
  Make({.chunk_sizes = {4}, .batch_size = 2});
  const DealtRange late = Taken("a");
  EXPECT_EQ(*Take("b"), std::nullopt);
  now_ += kLease;
  const DealtRange next = Taken("b");
  EXPECT_EQ(next.begin, 0);
  EXPECT_THAT(Claim(late), StatusIs(absl::StatusCode::kAborted, HasSubstr("the chunk is dealt to b")));
  Step(next);
}

TEST_F(DealerTest, ALateStepIsAcceptedIfNobodyTookItsChunk) {
  Make({.chunk_sizes = {4}, .batch_size = 2});
  const DealtRange late = Taken("a");
  now_ += 3 * kLease;
  Step(late);
}

TEST_F(DealerTest, AClaimPinsTheChunkWhateverTheLease) {
  Make({.chunk_sizes = {4}, .batch_size = 2});
  const auto claim = Claim(Taken("a"));
  ASSERT_THAT(claim.status(), IsOk());
  now_ += 5 * kLease;
  EXPECT_EQ(*Take("b"), std::nullopt);
  EXPECT_EQ(*Take("a"), std::nullopt);
  EXPECT_EQ(dealer_->NextLeaseEnd(now_), absl::InfiniteFuture());
  dealer_->Release(*claim);
  EXPECT_EQ(Taken("b").begin, 0);
  EXPECT_THAT(dealer_->Advance(progress(), *claim, now_), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(DealerTest, TwoStepsOfOneWorkerDoNotUseTheSameExamples) {
  Make({.chunk_sizes = {4}, .batch_size = 2});
  const DealtRange first = Taken("a"), second = Taken("a");
  EXPECT_EQ(first, second);
  const auto claim = Claim(first);
  ASSERT_THAT(claim.status(), IsOk());
  EXPECT_THAT(Claim(second), StatusIs(absl::StatusCode::kAborted, HasSubstr("another step claims them")));
  ASSERT_THAT(dealer_->Advance(progress(), *claim, now_), IsOk());
  EXPECT_THAT(Claim(second), StatusIs(absl::StatusCode::kAborted, HasSubstr("what is left begins at 2")));
}

TEST_F(DealerTest, ARestoredTableWins) {
  Make({.chunk_sizes = {6}, .batch_size = 2});
  const std::vector<int64_t> saved = table_;
  Step(Taken("a"));
  const DealtRange of_the_future = Taken("a");
  table_ = saved;
  EXPECT_THAT(Claim(of_the_future), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(Taken("a").begin, 0);
}

TEST_F(DealerTest, ATableOfOtherChunksIsAnError) {
  Make({.chunk_sizes = {6, 2}, .batch_size = 2});
  EXPECT_THAT(dealer_->CheckProgress(progress()), IsOk());
  progress().Set(1, 0, 0, 3);
  EXPECT_THAT(dealer_->CheckProgress(progress()), StatusIs(absl::StatusCode::kFailedPrecondition));
  std::vector<int64_t> shorter(8, 0);
  EXPECT_THAT(dealer_->CheckProgress(DealtProgress(absl::MakeSpan(shorter))),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has 2 chunks")));
}

TEST_F(DealerTest, EpochsHaveOrdersOfTheirOwnAndTheSeedRepeatsThem) {
  const auto order = [this](int64_t seed) {
    Make({.chunk_sizes = std::vector<int64_t>(20, 1), .epochs = 2, .shuffle = true, .seed = seed});
    std::vector<std::vector<int64_t>> epochs(2);
    for (int i = 0; i < 40; ++i) {
      const DealtRange range = Taken("a");
      epochs[range.epoch].push_back(range.chunk);
      Step(range);
    }
    for (const auto& chunks : epochs) EXPECT_EQ(std::set<int64_t>(chunks.begin(), chunks.end()).size(), 20u);
    EXPECT_NE(epochs[0], epochs[1]);
    return epochs;
  };
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
}

TEST_F(DealerTest, TheChunkOfASlowWorkerIsDivided) {
  Make({.chunk_sizes = {100, 100}, .batch_size = 2, .straggler_factor = 2});
  for (int i = 0; i < 30; ++i) {
    now_ += absl::Milliseconds(100);
    Step(Taken("fast"));
    if (i % 10 == 0) {
      const DealtRange range = Taken("slow");
      now_ += absl::Seconds(1);
      Step(range);
    }
  }
  EXPECT_EQ(dealer_->num_divided(), 0);
  const DealtRange kept = Taken("slow");
  EXPECT_EQ(dealer_->num_divided(), 1);
  EXPECT_LT(kept.end, 40);
  EXPECT_EQ((kept.end - kept.begin) % 2, 0);
  const DealtRange rest = Taken("other");
  EXPECT_EQ(rest.chunk, kept.chunk);
  EXPECT_EQ(rest.begin, kept.end);
  EXPECT_EQ(rest.end, 100);
}

TEST_F(DealerTest, BadOptionsAreRejected) {
  const auto check = [](InputDealerOptions options) { return InputDealer::Check(options); };
  EXPECT_THAT(check({.chunk_sizes = {4}, .batch_size = 0}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {4}, .epochs = 0}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {-1, 4}}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {}}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {0, 0}}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {3}, .batch_size = 4, .drop_remainder = true}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {4}, .lease = absl::ZeroDuration()}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {4}, .straggler_factor = 0.5}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {int64_t{1} << 62, int64_t{1} << 62}}), StatusIs(kInvalid));
  EXPECT_THAT(check({.chunk_sizes = {4}}), IsOk());
}

// One random schedule: workers step, stop, die, come back and are replaced; steps are committed, aborted and stay in
// doubt; the dealer's task is lost with its table and restored from a checkpoint.
class Schedule {
 public:
  explicit Schedule(uint64_t seed) : random_(seed) {
    InputDealerOptions options{.name = "digits",
                               .batch_size = Between(1, 4),
                               .drop_remainder = Below(3) == 0,
                               .epochs = Between(1, 3),
                               .shuffle = Below(2) == 0,
                               .seed = Below(1000),
                               .lease = kLease,
                               .straggler_factor = Below(2) == 0 ? 1.5 : 0};
    for (int64_t chunks = Between(1, 6); chunks > 0; --chunks) options.chunk_sizes.push_back(Between(0, 12));
    options.chunk_sizes.push_back(options.batch_size + 1);
    dealer_.emplace(std::move(options));
    state_.table = dealer_->InitialProgress();
    saved_ = state_;
  }

  void Run() {
    for (int i = 0; i < 20'000 && !is_complete_; ++i) {
      Act();
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_TRUE(is_complete_) << "the schedule does not end";
    divided_ += dealer_->num_divided();
    CheckEpoch(dealer_->options().epochs - 1);
    EXPECT_EQ(state_.ledger.size(), static_cast<size_t>(dealer_->options().epochs));
  }

  int64_t refused() const { return refused_; }
  int64_t divided() const { return divided_; }

 private:
  // What a checkpoint holds: the table, and beside it what the steps left in the variables.
  struct State {
    std::vector<int64_t> table;
    std::map<int64_t, std::map<std::pair<int64_t, int64_t>, int>> ledger;  // by epoch: times of (chunk, example)
  };
  struct Step {
    DealtRange range;
    std::optional<int64_t> claim;
  };

  int64_t Below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  DealtProgress progress() { return DealtProgress(absl::MakeSpan(state_.table)); }

  void Act() {
    now_ += absl::Milliseconds(Below(500));
    const int64_t choice = Below(100);
    if (choice < 40) return Take();
    if (choice < 90) return GoOn();
    if (choice < 93) now_ += kLease * static_cast<double>(Below(3));  // all are late
    if (choice < 95 && !steps_.empty()) Forget(static_cast<size_t>(Below(static_cast<int64_t>(steps_.size()))));
    if (choice >= 95 && choice < 99) Save();
    if (choice == 99 && Below(8) == 0) Restore();
  }

  void Take() {
    if (steps_.size() > 6) return;
    const auto range = dealer_->Take(progress(), absl::StrCat("worker-", Below(4)), now_);
    if (absl::IsOutOfRange(range.status())) {
      is_complete_ = true;
      return;
    }
    ASSERT_THAT(range.status(), IsOk());
    ASSERT_THAT(dealer_->CheckProgress(progress()), IsOk());
    if (*range) steps_.push_back({.range = **range});
  }

  // Of a random step: steps overtake each other.
  void GoOn() {
    if (steps_.empty()) return;
    const auto i = static_cast<size_t>(Below(static_cast<int64_t>(steps_.size())));
    Step& step = steps_[i];
    if (!step.claim) {
      const auto claim = dealer_->Claim(progress(), step.range, now_);
      if (claim.ok()) {
        step.claim = *claim;
        return;
      }
      ASSERT_TRUE(absl::IsAborted(claim.status())) << claim.status();
      ++refused_;
      return Forget(i);
    }
    if (Below(4) == 0) return Forget(i);
    Commit(step);
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void Commit(const Step& step) {
    const int64_t epoch = progress().epoch();
    ASSERT_EQ(step.range.epoch, epoch);
    ASSERT_THAT(dealer_->Advance(progress(), *step.claim, now_), IsOk());
    for (int64_t i = 0; i < step.range.count; ++i) {
      const int times = ++state_.ledger[epoch][{step.range.chunk, step.range.begin + i}];
      ASSERT_EQ(times, 1) << "example " << step.range.begin + i << " of chunk " << step.range.chunk;
    }
    if (progress().epoch() != epoch) CheckEpoch(epoch);
  }

  // The step is aborted, or its worker dies.
  void Forget(size_t i) {
    if (steps_[i].claim) dealer_->Release(*steps_[i].claim);
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void Save() { saved_ = state_; }
  // The dealer's task comes back empty. Its steps cannot be committed any more, and some are still under way.
  void Restore() {
    divided_ += dealer_->num_divided();
    const InputDealerOptions options = dealer_->options();
    dealer_.emplace(options);
    state_ = saved_;
    for (Step& step : steps_) step.claim.reset();
  }

  void CheckEpoch(int64_t epoch) {
    size_t examples = 0;
    for (const int64_t size : dealer_->options().chunk_sizes) {
      const int64_t batch = dealer_->options().batch_size;
      examples += static_cast<size_t>(dealer_->options().drop_remainder ? size - size % batch : size);
    }
    EXPECT_EQ(state_.ledger[epoch].size(), examples) << "in epoch " << epoch;
  }

  std::mt19937_64 random_;
  std::optional<InputDealer> dealer_;
  State state_, saved_;
  std::vector<Step> steps_;
  absl::Time now_ = absl::UnixEpoch();
  bool is_complete_ = false;
  int64_t refused_ = 0, divided_ = 0;
};

TEST(DealerScheduleTest, EachExampleCountsOnceInTwoThousandSchedules) {
  int64_t refused = 0, divided = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Schedule schedule(seed);
    schedule.Run();
    if (HasFailure()) return;
    refused += schedule.refused();
    divided += schedule.divided();
  }
  // The schedules reach what they are for.
  EXPECT_GT(refused, 2'000);
  EXPECT_GT(divided, 0);
}

}  // namespace
}  // namespace weir
