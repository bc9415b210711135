#include "distribute/coordination/in_process_store.h"

#include "distribute/coordination/fake_alarm_clock_testing.h"
#include "distribute/coordination/store_conformance_testing.h"

namespace weir::coordination {
namespace {

using testing::HasSubstr;

class InProcess : public StoreUnderTest {
 public:
  std::shared_ptr<Store> NewClient() override { return store_; }
  void Advance(absl::Duration duration) override { clock_->Advance(duration); }

 private:
  const std::shared_ptr<FakeAlarmClock> clock_ = std::make_shared<FakeAlarmClock>();
  const std::shared_ptr<Store> store_ = std::make_shared<InProcessStore>(InProcessStore::Options{.clock = clock_});
};

INSTANTIATE_TEST_SUITE_P(InProcess, StoreConformance,
                         testing::Values(StoreKind{"Store", [] { return std::make_unique<InProcess>(); }}),
                         StoreKindName);

TEST(InProcessStoreTest, HistoryIsBounded) {
  InProcessStore store({.max_history_bytes = 1000});
  ASSERT_OK_AND_ASSIGN(auto slow, store.NewWatch(Keys::Of("k"), 1));
  ASSERT_OK_AND_ASSIGN(auto quick, store.NewWatch(Keys::Of("k"), 1));
  int64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK_AND_ASSIGN(last, store.Put(Soon(), "k", std::string(50, 'v')));
    ASSERT_THAT(quick->Next(Soon()), IsOk());
  }
  EXPECT_THAT(slow->Next(Soon()), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("compacted")));
  ASSERT_OK_AND_ASSIGN(auto fresh, store.NewWatch(Keys::Of("k"), last));
  EXPECT_THAT(fresh->Next(Soon()), IsOk());
}

TEST(InProcessStoreTest, LeasesRunOutByTheSystemsClockToo) {
  InProcessStore store;
  auto lease = NewLease(store, absl::Seconds(1));
  ASSERT_OK_AND_ASSIGN(const int64_t put, store.Put(Soon(), "k", "", lease->id()));
  ASSERT_OK_AND_ASSIGN(auto watch, store.NewWatch(Keys::Of("k"), put + 1));
  lease.reset();
  ASSERT_OK_AND_ASSIGN(const auto events, watch->Next(Soon()));
  EXPECT_EQ(events[0].type, Event::Type::kDelete);
}

TEST(InProcessStoreTest, ARevokedLeaseLeavesNoAlarmBehind) {
  const auto clock = std::make_shared<FakeAlarmClock>();
  {
    InProcessStore store({.clock = clock});
    auto lease = NewLease(store, absl::Hours(1));
    const LeaseId id = lease->id();
    lease.reset();
    ASSERT_THAT(store.RevokeLease(Soon(), id), IsOk());
  }
  EXPECT_FALSE(clock->HasAlarms());
  clock->Advance(absl::Hours(2));
}

TEST(InProcessStoreTest, EndsWhileALeaseHasYetToRunOut) {
  InProcessStore store;
  NewLease(store, absl::Hours(1)).reset();
}

}  // namespace
}  // namespace weir::coordination
