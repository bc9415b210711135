// Kills and restarts a real etcd while clients wait for it.
#include <future>
#include <thread>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/coordination/barrier.h"
#include "distribute/coordination/election.h"
#include "distribute/coordination/etcd/etcd_process_testing.h"
#include "distribute/coordination/store_conformance_testing.h"

namespace weir::coordination {
namespace {

using testing::HasSubstr;

class EtcdFaultTest : public testing::Test {
 protected:
  void Start(int members = 1) {
    auto etcd = EtcdProcesses::Start(members);
    if (absl::IsNotFound(etcd.status())) GTEST_SKIP() << etcd.status().message();
    ASSERT_THAT(etcd, IsOk());
    etcd_ = *std::move(etcd);
    store_ = etcd_->NewClient();
  }
  void KillAndRestart() {
    etcd_->Kill();
    etcd_->Restart();
  }
  std::future<absl::Status> Come(Store& store, Lease& lease, const std::string& self) {
    return std::async(std::launch::async, [&store, &lease, self] {
      return AwaitBarrier(store, lease, {.name = "b", .participants = {"x", "y", "z"}, .self = self}, Soon());
    });
  }

  std::unique_ptr<EtcdProcesses> etcd_;
  std::unique_ptr<EtcdStore> store_;
};

TEST_F(EtcdFaultTest, AWatchMissesNothingAndRepeatsNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  if (IsSkipped()) return;
  constexpr int kPuts = 400;
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Under("k/"), 1));
  std::thread writer([client = etcd_->NewClient()] {
    for (int i = 0; i < kPuts; ++i) {
      const std::string key = absl::StrCat("k/", i);
      ASSERT_THAT(client->Commit(Soon(), {.conditions = {Condition::Absent(Keys::Of(key))},
                                          .then = {Operation::Put(key, std::string(100, 'v'))},
                                          .repeatable = true}),
                  IsOk());
    }
  });
  int seen = 0;
  int64_t last = 0;
  for (int kills = 0; seen < kPuts;) {
    auto events = watch->Next(Soon());
    ASSERT_THAT(events, IsOk()) << "after " << seen;
    for (const Event& event : *events) {
      ASSERT_EQ(event.kv.key, absl::StrCat("k/", seen++));
      ASSERT_GT(event.kv.mod_revision, last);
      last = event.kv.mod_revision;
    }
    if (seen > 80 * (kills + 1) && kills < 3) {
      KillAndRestart();
      ++kills;
    }
  }
  writer.join();
}

TEST_F(EtcdFaultTest, ACampaignGoesOn) {
  ASSERT_NO_FATAL_FAILURE(Start());
  if (IsSkipped()) return;
  auto other = etcd_->NewClient();
  auto first = NewLease(*store_), second = NewLease(*other);
  Election election(*store_, "e");
  ASSERT_OK_AND_ASSIGN(const Leader leader, election.Campaign(*first, "1", Soon()));
  auto next = std::async(std::launch::async, [&] { return Election(*other, "e").Campaign(*second, "2", Soon()); });
  AwaitKeys(*store_, "e/", 2);
  KillAndRestart();
  EXPECT_EQ(election.Current(Soon())->value, "1");
  EXPECT_EQ(next.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_FALSE(first->lost().IsCancelled());
  KillAndRestart();
  ASSERT_THAT(election.Resign(leader, Soon()), IsOk());
  ASSERT_OK_AND_ASSIGN(const Leader successor, next.get());
  EXPECT_EQ(successor.value, "2");
  EXPECT_GT(successor.revision, leader.revision);
}

TEST_F(EtcdFaultTest, ACampaignBeginsWhileEtcdIsDown) {
  ASSERT_NO_FATAL_FAILURE(Start());
  if (IsSkipped()) return;
  auto lease = NewLease(*store_);
  etcd_->Kill();
  auto leader = std::async(std::launch::async, [&] { return Election(*store_, "e").Campaign(*lease, "1", Soon()); });
  EXPECT_EQ(leader.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  etcd_->Restart();
  EXPECT_THAT(leader.get(), IsOk());
}

TEST_F(EtcdFaultTest, ABarrierGoesOn) {
  ASSERT_NO_FATAL_FAILURE(Start());
  if (IsSkipped()) return;
  auto client_x = etcd_->NewClient(), client_y = etcd_->NewClient();
  auto lease_x = NewLease(*client_x), lease_y = NewLease(*client_y), lease_z = NewLease(*store_);
  auto x = Come(*client_x, *lease_x, "x"), y = Come(*client_y, *lease_y, "y");
  AwaitKeys(*store_, "b/arrived/", 2);
  KillAndRestart();
  auto z = Come(*store_, *lease_z, "z");
  EXPECT_THAT(x.get(), IsOk());
  EXPECT_THAT(y.get(), IsOk());
  EXPECT_THAT(z.get(), IsOk());
}

TEST_F(EtcdFaultTest, ABarrierStillSeesADeath) {
  ASSERT_NO_FATAL_FAILURE(Start());
  if (IsSkipped()) return;
  auto client_x = etcd_->NewClient(), client_y = etcd_->NewClient();
  auto lease_x = NewLease(*client_x), lease_y = NewLease(*client_y), dead = NewLease(*store_, absl::Seconds(10));
  auto x = Come(*client_x, *lease_x, "x"), y = Come(*client_y, *lease_y, "y");
  ASSERT_THAT(store_->Put(Soon(), "b/arrived/z'", "", dead->id()), IsOk());
  AwaitKeys(*store_, "b/arrived/", 3);
  dead.reset();
  KillAndRestart();
  const auto named = StatusIs(absl::StatusCode::kAborted, HasSubstr("z' was lost while the others waited"));
  EXPECT_THAT(x.get(), named);
  EXPECT_THAT(y.get(), named);
}

TEST_F(EtcdFaultTest, ALeaseThatCannotBeRenewedCountsAsLost) {
  ASSERT_NO_FATAL_FAILURE(Start());
  if (IsSkipped()) return;
  auto lease = NewLease(*store_, absl::Seconds(10));
  std::promise<void> told;
  ASSERT_NE(lease->lost().Register([&told] { told.set_value(); }), CancellationManager::kInvalidToken);
  auto waiting = Come(*store_, *lease, "x");
  AwaitKeys(*store_, "b/arrived/", 1);
  etcd_->Kill();
  told.get_future().get();
  const auto named = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was not renewed for 10s"));
  EXPECT_THAT(lease->lost().status(), named);
  EXPECT_THAT(waiting.get(), named);
}

TEST_F(EtcdFaultTest, CallsEndAtTheirDeadlineOrWhenCancelled) {
  ASSERT_NO_FATAL_FAILURE(Start());
  if (IsSkipped()) return;
  const auto in_time = [] { return CallOptions{.deadline = MonotonicNow() + absl::Milliseconds(200)}; };
  const auto late = StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(etcd_->address()));
  ASSERT_THAT(store_->Put(Soon(), "k", "1"), IsOk());
  etcd_->Stop();
  EXPECT_THAT(store_->Get(in_time(), "k"), late);
  EXPECT_THAT(store_->Put(in_time(), "k", "2"), late);
  EXPECT_THAT(store_->GrantLease(in_time(), absl::Seconds(5)), late);
  CancellationManager cancellation;
  auto cancelled =
      std::async(std::launch::async, [&] { return store_->Get({.cancellation = &cancellation}, "k").status(); });
  cancellation.StartCancel(errors::Cancelled("enough"));
  EXPECT_THAT(cancelled.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
  etcd_->Kill();
  EXPECT_THAT(store_->Get(in_time(), "k"), late);
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Of("k"), 1));
  EXPECT_THAT(watch->Next(in_time()), StatusIs(absl::StatusCode::kDeadlineExceeded));
  etcd_->Restart();
  EXPECT_THAT(watch->Next(Soon()), IsOk());
}

TEST_F(EtcdFaultTest, AnyMemberWillDo) {
  ASSERT_NO_FATAL_FAILURE(Start(3));
  if (IsSkipped()) return;
  auto lease = NewLease(*store_);
  ASSERT_THAT(store_->Put(Soon(), "leased", "", lease->id()), IsOk());
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Under("k"), 1));
  int seen = 0;
  for (int member = 0; member < 3; ++member) {
    etcd_->Kill(member);
    // Each round stops another member, so that all connections move.
    const std::string key = absl::StrCat("k", member);
    ASSERT_THAT(store_->Commit(Soon(), {.conditions = {Condition::Absent(Keys::Of(key))},
                                        .then = {Operation::Put(key, "")},
                                        .repeatable = true}),
                IsOk());
    ASSERT_OK_AND_ASSIGN(const auto events, watch->Next(Soon()));
    ASSERT_EQ(events.size(), 1);
    EXPECT_EQ(events[0].kv.key, absl::StrCat("k", seen++));
    etcd_->Restart(member);
    // It must serve again before the next one stops, so that there is a majority.
    EtcdOptions options;
    options.endpoints = {etcd_->address(member)};
    ASSERT_OK_AND_ASSIGN(auto alone, EtcdStore::Create(options));
    ASSERT_THAT(alone->List(Soon(), ""), IsOk());
  }
  EXPECT_THAT(store_->Get(Soon(), "leased"), IsOk());
  EXPECT_FALSE(lease->lost().IsCancelled());
}

TEST(EtcdOptionsTest, EndpointsAreChecked) {
  const auto create = [](std::vector<std::string> endpoints) {
    EtcdOptions options;
    options.endpoints = std::move(endpoints);
    return EtcdStore::Create(std::move(options)).status();
  };
  EXPECT_THAT(create({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no endpoint")));
  EXPECT_THAT(create({"127.0.0.1"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(create({"127.0.0.1:0"}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no port")));
  EXPECT_THAT(create({"10.0.0.1:2379"}), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("tls")));
  EXPECT_THAT(create({"127.0.0.1:2379", "[::1]:2379"}), IsOk());
}

}  // namespace
}  // namespace weir::coordination
