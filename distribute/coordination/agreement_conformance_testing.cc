// Barriers and elections, on every store.
#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/coordination/barrier.h"
#include "distribute/coordination/election.h"
#include "distribute/coordination/store_conformance_testing.h"

namespace weir::coordination {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kA[] = "/job:worker/task:0", kB[] = "/job:worker/task:1", kC[] = "/job:ps/task:0";

// A task at the barrier "start" of the three above.
class Participant {
 public:
  Participant(std::shared_ptr<Store> store, std::string name, absl::Duration patience = absl::Minutes(1),
              std::vector<std::string> participants = {kA, kB, kC}, absl::Duration ttl = absl::Seconds(30))
      : store_(std::move(store)), lease_(NewLease(*store_, ttl)), name_(std::move(name)) {
    result_ = std::async(std::launch::async, [this, patience, participants] {
      return AwaitBarrier(*store_, *lease_, {.name = "start", .participants = participants, .self = name_},
                          {.deadline = MonotonicNow() + patience, .cancellation = &cancellation_});
    });
  }

  Lease& lease() { return *lease_; }
  void Cancel() { cancellation_.StartCancel(errors::Cancelled("the user asked for it")); }
  absl::Status Result() { return result_.get(); }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<Lease> lease_;
  const std::string name_;
  CancellationManager cancellation_;
  std::future<absl::Status> result_;
};

}  // namespace

TEST_P(StoreConformance, ABarrierHoldsAllRoundAfterRound) {
  constexpr int kRounds = 8;
  const std::vector<std::string> names = {kA, kB, kC};
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (const std::string& name : names) {
    threads.emplace_back([&, client = server_->NewClient()] {
      auto lease = NewLease(*client);
      for (int round = 1; round <= kRounds; ++round) {
        ++arrived;
        ASSERT_THAT(AwaitBarrier(*client, *lease, {.name = "b", .participants = names, .self = name}, Soon()), IsOk());
        EXPECT_GE(arrived.load(), round * 3);
        EXPECT_LE(arrived.load(), round * 3 + 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // No key is left.
  EXPECT_TRUE(store_->List(Soon(), "b/")->found.empty());
}

TEST_P(StoreConformance, ABarrierNamesWhoDidNotCome) {
  Participant a(server_->NewClient(), kA);
  AwaitKeys(*store_, "start/arrived/", 1);
  Participant b(server_->NewClient(), kB, absl::Seconds(5));
  EXPECT_THAT(b.Result(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("missing: /job:ps/task:0")));
  EXPECT_THAT(a.Result(), StatusIs(absl::StatusCode::kAborted,
                                   AllOf(HasSubstr("/job:worker/task:1 gave up (its deadline passed)"),
                                         HasSubstr("missing: /job:ps/task:0"), Not(HasSubstr("task:0,")))));
  // The name can be reused for another try.
  Participant again_a(server_->NewClient(), kA), again_b(server_->NewClient(), kB), c(server_->NewClient(), kC);
  EXPECT_THAT(again_a.Result(), IsOk());
  EXPECT_THAT(again_b.Result(), IsOk());
  EXPECT_THAT(c.Result(), IsOk());
}

TEST_P(StoreConformance, ABarrierNamesWhoDied) {
  // Enters, and disappears without leaving, except that its lease ends.
  auto dead = NewLease(*store_, absl::Seconds(10));
  Participant a(server_->NewClient(), kA), b(server_->NewClient(), kB);
  AwaitKeys(*store_, "start/arrived/", 2);
  ASSERT_THAT(store_->Put(Soon(), absl::StrCat("start/arrived/", kC, "x"), "token", dead->id()), IsOk());
  AwaitKeys(*store_, "start/arrived/", 3);
  dead.reset();
  server_->Advance(absl::Seconds(10));
  const auto named =
      StatusIs(absl::StatusCode::kAborted, HasSubstr("/job:ps/task:0x was lost while the others waited"));
  EXPECT_THAT(a.Result(), named);
  EXPECT_THAT(b.Result(), named);
}

TEST_P(StoreConformance, ABarrierEndsForAllWhenOneIsCancelled) {
  Participant a(server_->NewClient(), kA), b(server_->NewClient(), kB);
  AwaitKeys(*store_, "start/arrived/", 2);
  a.Cancel();
  EXPECT_THAT(a.Result(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("the user asked for it")));
  EXPECT_THAT(b.Result(), StatusIs(absl::StatusCode::kAborted, HasSubstr("/job:worker/task:0 gave up")));
}

TEST_P(StoreConformance, ABarrierEndsWithTheCallersLease) {
  Participant a(server_->NewClient(), kA, absl::Minutes(1), {kA, kB, kC}, absl::Seconds(15));
  Participant b(server_->NewClient(), kB);
  AwaitKeys(*store_, "start/arrived/", 2);
  ASSERT_THAT(store_->RevokeLease(Soon(), a.lease().id()), IsOk());
  EXPECT_THAT(b.Result(), StatusIs(absl::StatusCode::kAborted, HasSubstr("/job:worker/task:0 was lost")));
  EXPECT_FALSE(a.Result().ok());
  EXPECT_THAT(AwaitBarrier(*store_, a.lease(), {.name = "x", .participants = {kA}, .self = kA}, Soon()), Not(IsOk()));
}

TEST_P(StoreConformance, ANameIsForOneAtATime) {
  Participant a(server_->NewClient(), kA);
  AwaitKeys(*store_, "start/arrived/", 1);
  Participant twin(server_->NewClient(), kA, absl::Milliseconds(200));
  EXPECT_THAT(twin.Result(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("could not come in")));
  Participant successor(server_->NewClient(), kA);
  a.Cancel();
  EXPECT_THAT(a.Result(), StatusIs(absl::StatusCode::kCancelled));
  AwaitKeys(*store_, "start/arrived/", 1);
  Participant b(server_->NewClient(), kB), c(server_->NewClient(), kC);
  EXPECT_THAT(successor.Result(), IsOk());
  EXPECT_THAT(b.Result(), IsOk());
  EXPECT_THAT(c.Result(), IsOk());
}

TEST_P(StoreConformance, ABarrierOutlivesCompaction) {
  Participant a(server_->NewClient(), kA), b(server_->NewClient(), kB);
  AwaitKeys(*store_, "start/arrived/", 2);
  ASSERT_OK_AND_ASSIGN(const int64_t last, store_->Put(Soon(), "other", ""));
  ASSERT_THAT(store_->Compact(Soon(), last), IsOk());
  Participant c(server_->NewClient(), kC);
  EXPECT_THAT(a.Result(), IsOk());
  EXPECT_THAT(b.Result(), IsOk());
  EXPECT_THAT(c.Result(), IsOk());
}

TEST_P(StoreConformance, BarriersAreChecked) {
  auto lease = NewLease(*store_);
  const auto rejected = [&](BarrierOptions barrier, const char* text) {
    EXPECT_THAT(AwaitBarrier(*store_, *lease, barrier, Soon()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  rejected({.name = "", .participants = {"a"}, .self = "a"}, "no name");
  rejected({.name = "b", .participants = {"a"}, .self = "c"}, "no participant c");
  rejected({.name = "b", .participants = {"a", "a"}, .self = "a"}, "two participants named a");
  EXPECT_THAT(AwaitBarrier(*store_, *lease, {.name = "b", .participants = {"a"}, .self = "a"}, Soon()), IsOk());
}

TEST_P(StoreConformance, OneLeadsAndTheNextFollows) {
  Election election(*store_, "master");
  EXPECT_THAT(election.Current(Soon()), StatusIs(absl::StatusCode::kNotFound));
  auto first = NewLease(*store_);
  ASSERT_OK_AND_ASSIGN(const Leader leader, election.Campaign(*first, "host:1", Soon()));
  EXPECT_EQ(leader.value, "host:1");
  auto client = server_->NewClient();
  auto second = NewLease(*client);
  auto next =
      std::async(std::launch::async, [&] { return Election(*client, "master").Campaign(*second, "host:2", Soon()); });
  AwaitKeys(*store_, "master/", 2);
  EXPECT_EQ(election.Current(Soon())->value, "host:1");
  ASSERT_THAT(election.Resign(leader, Soon()), IsOk());
  ASSERT_OK_AND_ASSIGN(const Leader successor, next.get());
  EXPECT_EQ(successor.value, "host:2");
  EXPECT_GT(successor.revision, leader.revision);
  EXPECT_EQ(election.Current(Soon())->key, successor.key);
  // The old leader's writes are rejected; resigning again has no effect.
  EXPECT_FALSE(store_->Commit(Soon(), {.conditions = {Election::StillLeads(leader)}, .then = {Operation::Put("x", "")}})
                   ->succeeded);
  EXPECT_TRUE(store_->Commit(Soon(), {.conditions = {Election::StillLeads(successor)}})->succeeded);
  EXPECT_THAT(election.Resign(leader, Soon()), IsOk());
  EXPECT_EQ(election.Current(Soon())->key, successor.key);
}

TEST_P(StoreConformance, ADeadLeaderIsSucceeded) {
  auto dead = NewLease(*store_, absl::Seconds(10));
  ASSERT_OK_AND_ASSIGN(const Leader leader, Election(*store_, "e").Campaign(*dead, "dead", Soon()));
  auto client = server_->NewClient();
  auto lease = NewLease(*client);
  auto next = std::async(std::launch::async, [&] { return Election(*client, "e").Campaign(*lease, "next", Soon()); });
  AwaitKeys(*store_, "e/", 2);
  dead.reset();
  server_->Advance(absl::Seconds(10));
  ASSERT_OK_AND_ASSIGN(const Leader successor, next.get());
  EXPECT_GT(successor.revision, leader.revision);
}

TEST_P(StoreConformance, CandidatesInTheMiddleMayGo) {
  auto first = NewLease(*store_), third = NewLease(*store_);
  Election election(*store_, "e");
  ASSERT_OK_AND_ASSIGN(const Leader leader, election.Campaign(*first, "1", Soon()));
  auto client = server_->NewClient();
  auto second = NewLease(*client);
  CancellationManager cancellation;
  auto cancelled = std::async(std::launch::async, [&] {
    return Election(*client, "e").Campaign(*second, "2", {.cancellation = &cancellation}).status();
  });
  AwaitKeys(*store_, "e/", 2);
  auto last = std::async(std::launch::async, [&] { return election.Campaign(*third, "3", Soon()); });
  AwaitKeys(*store_, "e/", 3);
  cancellation.StartCancel(errors::Cancelled("never mind"));
  EXPECT_THAT(cancelled.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("never mind")));
  AwaitKeys(*store_, "e/", 2);  // it was withdrawn
  EXPECT_EQ(last.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  ASSERT_THAT(election.Resign(leader, Soon()), IsOk());
  EXPECT_THAT(last.get(), IsOk());
}

TEST_P(StoreConformance, ACampaignEndsWithItsDeadlineOrLease) {
  auto first = NewLease(*store_), late = NewLease(*store_), lost = NewLease(*store_, absl::Seconds(15));
  Election election(*store_, "e");
  ASSERT_THAT(election.Campaign(*first, "1", Soon()), IsOk());
  EXPECT_THAT(election.Campaign(*late, "2", {.deadline = MonotonicNow() + absl::Milliseconds(50)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("election e")));
  late.reset();  // if the store was too slow to withdraw the candidate, its key ends with the lease
  AwaitKeys(*store_, "e/", 1);
  auto result = std::async(std::launch::async, [&] { return election.Campaign(*lost, "3", Soon()).status(); });
  AwaitKeys(*store_, "e/", 2);
  ASSERT_THAT(store_->RevokeLease(Soon(), lost->id()), IsOk());
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was revoked")));
}

TEST_P(StoreConformance, ObserversSeeEveryLeader) {
  Election election(*store_, "e");
  LeaderObserver observer(*store_, "e");
  EXPECT_EQ(*observer.Next(Soon()), std::nullopt);
  EXPECT_THAT(observer.Next({.deadline = MonotonicNow() + absl::Milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  for (const char* value : {"1", "2", "3"}) {
    auto lease = NewLease(*store_);
    ASSERT_OK_AND_ASSIGN(const Leader leader, election.Campaign(*lease, value, Soon()));
    ASSERT_THAT(election.Resign(leader, Soon()), IsOk());
  }
  LeaderObserver other(*store_, "e");
  for (const char* value : {"1", "2", "3"}) {
    ASSERT_OK_AND_ASSIGN(const auto leader, observer.Next(Soon()));
    ASSERT_TRUE(leader.has_value());
    EXPECT_EQ(leader->value, value);
    EXPECT_EQ(*observer.Next(Soon()), std::nullopt);
  }
  EXPECT_EQ(*other.Next(Soon()), std::nullopt);
}

}  // namespace weir::coordination
