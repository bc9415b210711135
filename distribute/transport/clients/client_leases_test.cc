#include "distribute/transport/clients/client_leases.h"

#include <set>

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LeaseTableTest : public testing::Test {
 protected:
  // At a time in seconds.
  std::vector<std::string> Expire(int seconds) { return Check(seconds).sessions; }
  LeaseTable::Expired Check(int seconds) {
    return table_.Expire(At(seconds), [this](absl::string_view name) { return open_.contains(std::string(name)); });
  }
  static absl::Time At(int seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

  LeaseTable table_{absl::Seconds(60)};
  std::set<std::string> open_ = {"a"};
};

TEST_F(LeaseTableTest, ASessionStaysWhileItsConnectionIsOpen) {
  table_.Add("s", "a", At(0));
  EXPECT_THAT(Expire(1'000'000), IsEmpty());
}

TEST_F(LeaseTableTest, ASessionEndsALeaseAfterItsConnection) {
  table_.Add("s", "a", At(0));
  EXPECT_THAT(Expire(1000), IsEmpty());
  open_.clear();
  EXPECT_THAT(Expire(1059), IsEmpty());
  EXPECT_THAT(Expire(1060), ElementsAre("s"));
  EXPECT_THAT(Expire(2000), IsEmpty());
}

TEST_F(LeaseTableTest, AClientThatReconnectsInTimeKeepsItsSession) {
  table_.Add("s", "a", At(0));
  open_ = {"b"};
  EXPECT_THAT(Expire(59), IsEmpty());
  ASSERT_THAT(table_.BeginCall("s", "b", At(59)), IsOk());
  table_.EndCall("s", At(59));
  EXPECT_THAT(Expire(1000), IsEmpty());
  open_.clear();
  EXPECT_THAT(Expire(1059), IsEmpty());
  EXPECT_THAT(Expire(1060), ElementsAre("s"));
}

TEST_F(LeaseTableTest, ASessionStaysWhileItsCallRuns) {
  open_.clear();
  table_.Add("s", "a", At(0));
  ASSERT_THAT(table_.BeginCall("s", "a", At(1)), IsOk());
  ASSERT_THAT(table_.BeginCall("s", "a", At(2)), IsOk());
  table_.EndCall("s", At(3));
  EXPECT_THAT(Expire(1000), IsEmpty());
  table_.EndCall("s", At(1001));
  EXPECT_THAT(Expire(1060), IsEmpty());
  EXPECT_THAT(Expire(1061), ElementsAre("s"));
}

TEST_F(LeaseTableTest, AClientThatIsGoneIsReportedOnceBeforeItsLeaseEnds) {
  table_ = LeaseTable(absl::Hours(1));
  table_.Add("s", "a", At(0));
  EXPECT_THAT(Check(1000).disconnected, IsEmpty());
  open_.clear();
  EXPECT_THAT(Check(1059).disconnected, IsEmpty());
  EXPECT_THAT(Check(1060).disconnected, ElementsAre("s"));
  EXPECT_THAT(Check(2000).disconnected, IsEmpty());
  open_ = {"b"};
  ASSERT_THAT(table_.BeginCall("s", "b", At(2001)), IsOk());
  table_.EndCall("s", At(2001));
  EXPECT_THAT(Check(2002).disconnected, IsEmpty());
  open_.clear();
  EXPECT_THAT(Check(2062).disconnected, ElementsAre("s"));
}

TEST_F(LeaseTableTest, TheErrorOfAnEndedSessionSaysWhy) {
  open_.clear();
  table_.Add("s", "a", At(0));
  EXPECT_THAT(Expire(60), ElementsAre("s"));
  EXPECT_THAT(table_.BeginCall("s", "a", At(61)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("its client was not connected for 1m")));
  EXPECT_THAT(table_.BeginCall("another", "a", At(61)), IsOk());
  table_.EndCall("another", At(62));
}

TEST_F(LeaseTableTest, AClosedSessionHasNoLease) {
  open_.clear();
  table_.Add("s", "a", At(0));
  ASSERT_THAT(table_.BeginCall("s", "a", At(1)), IsOk());
  table_.Remove("s");
  table_.EndCall("s", At(2));
  EXPECT_THAT(Expire(1000), IsEmpty());
  EXPECT_THAT(table_.BeginCall("s", "a", At(1001)), IsOk());
}

}  // namespace
}  // namespace weir
