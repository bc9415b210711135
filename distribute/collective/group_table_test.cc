#include "distribute/collective/group_table.h"

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/fingerprint.h"
#include "core/testing.h"
#include "core/threads/work_queue.h"
#include "distribute/collective/collective_group.h"
#include "distribute/collective/instance_table.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string DeviceOf(int task) { return absl::StrCat("/job:w/replica:0/task:", task, "/device:CPU:0"); }

// A call to the leader.
template <typename Request, typename Response>
struct Call {
  Request request;
  Response response;
  std::optional<absl::Status> status;
  std::function<void(absl::Status)> Done() {
    return [this](absl::Status s) { status = std::move(s); };
  }
};
using GroupCall = Call<JoinGroupRequest, JoinGroupResponse>;
using InstanceCall = Call<tensorflow::CompleteInstanceRequest, tensorflow::CompleteInstanceResponse>;

// The tables of a leader, and the calls made to them.
class LeaderTest : public testing::Test {
 protected:
  GroupCall& Join(int task, int key = 1, int size = 2, uint64_t incarnation = 1) {
    GroupCall& call = joins_.emplace_back();
    tensorflow::CompleteGroupRequest& request = *call.request.mutable_group();
    request.set_group_key(key);
    request.set_group_size(size);
    request.set_device_type("CPU");
    request.mutable_device_attributes()->set_name(DeviceOf(task));
    request.mutable_device_attributes()->set_incarnation(incarnation);
    groups_.Join(options_, call.request, &call.response, call.Done());
    return call;
  }
  // Asks whether the group is still formed as when this member joined it.
  absl::Status Check(const GroupCall& joined, const std::string& formation) {
    GroupCall& call = joins_.emplace_back();
    call.request = joined.request;
    call.request.set_checked_formation(Fingerprint64(formation));
    groups_.Join(options_, call.request, &call.response, call.Done());
    return *call.status;
  }
  InstanceCall& Declare(int task, bool is_source = false, int type = 1) {
    InstanceCall& call = declarations_.emplace_back();
    call.request.set_group_key(1);
    call.request.set_group_size(2);
    call.request.set_instance_key(4);
    call.request.set_step_id(9);
    call.request.set_type(type);
    call.request.set_data_type(tensorflow::DT_FLOAT);
    call.request.set_device(DeviceOf(task));
    call.request.set_is_source(is_source);
    instances_.Declare(options_, call.request, &call.response, call.Done());
    return call;
  }

  CallOptions options_;
  TimerQueue timers_;
  GroupTable groups_{{.tasks =
                          [] {
                            return std::vector<std::string>{"/job:w/replica:0/task:0", "/job:w/replica:0/task:1",
                                                            "/job:w/replica:0/task:2"};
                          },
                      .timers = &timers_,
                      .on_reset = [this](const std::string& formation,
                                         const absl::Status& status) { instances_.EndFormation(formation, status); },
                      .max_groups = 3}};
  InstanceTable instances_{{.groups = &groups_, .timers = &timers_}};
  std::deque<GroupCall> joins_;
  std::deque<InstanceCall> declarations_;
};

using GroupTableTest = LeaderTest;
using InstanceTableTest = LeaderTest;

TEST(GroupRanksTest, FollowTasksByNumberOrWishes) {
  for (const bool wishes : {false, true}) {
    GroupTable table(GroupTable::Options{});
    JoinGroupResponse responses[12];
    int answered = 0;
    for (int task = 11; task >= 0; --task) {
      auto queue = WorkQueue::Create({.name = "test", .compute_threads = 1});
      const auto device =
          NewCpuDevice(DeviceName::Parse(absl::StrCat("/job:w/replica:0/task:", task)).value(), 0, queue.get());
      JoinGroupRequest request;
      request.mutable_group()->set_group_key(1);
      request.mutable_group()->set_group_size(12);
      request.mutable_group()->set_device_type("CPU");
      device->ToProto(request.mutable_group()->mutable_device_attributes());
      *request.mutable_member() = DescribeMember(wishes ? 11 - task : -1);
      table.Join({}, request, &responses[task], [&answered](const absl::Status& status) {
        EXPECT_THAT(status, IsOk());
        ++answered;
      });
    }
    EXPECT_EQ(answered, 12);
    EXPECT_EQ(responses[3].group().num_tasks(), 12);
    EXPECT_EQ(responses[3].group().device_attributes(10).name(),
              absl::StrCat("/job:w/replica:0/task:", wishes ? 1 : 10, "/device:CPU:0"));
  }
}

TEST(FormedGroupTest, MembersOfOtherRuntimesAreNamed) {
  JoinGroupResponse response;
  response.mutable_group()->set_group_key(1);
  response.mutable_group()->set_group_size(1);
  response.mutable_group()->add_device_attributes()->set_name("/job:worker/replica:0/task:7/device:CPU:0");
  EXPECT_THAT(GroupFromResponse(response), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("task:7")));
}

TEST_F(GroupTableTest, DevicesOfTasksThatAreNotOfTheClusterMayNotJoin) {
  EXPECT_THAT(*Join(7).status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not of this cluster")));
}

TEST_F(GroupTableTest, AttributesThatAreTooLongAreRejected) {
  GroupCall call;
  call.request.mutable_group()->set_group_size(2);
  call.request.mutable_group()->mutable_device_attributes()->set_name(DeviceOf(0));
  call.request.mutable_group()->mutable_device_attributes()->set_physical_device_desc(std::string(1 << 20, 'x'));
  groups_.Join({}, call.request, &call.response, call.Done());
  EXPECT_THAT(*call.status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes of attributes")));
}

TEST_F(GroupTableTest, OfTooManyGroupsThatWithTheOldestCallIsForgotten) {
  for (const int key : {1, 2, 3, 1, 4}) EXPECT_THAT(*Join(0, key, /*size=*/1).status, IsOk());
  EXPECT_TRUE(groups_.Find(1, DeviceOf(0)));
  EXPECT_FALSE(groups_.Find(2, DeviceOf(0)));
  EXPECT_TRUE(groups_.Find(3, DeviceOf(0)));
}

// Members that only ask use the group too.
TEST_F(GroupTableTest, AGroupThatIsCheckedIsNotTheOldest) {
  const GroupCall& first = Join(0, 1, /*size=*/1);
  for (const int key : {2, 3}) EXPECT_THAT(*Join(0, key, /*size=*/1).status, IsOk());
  EXPECT_THAT(Check(first, first.response.group().communicator_key()), IsOk());
  EXPECT_THAT(*Join(0, 4, /*size=*/1).status, IsOk());
  EXPECT_TRUE(groups_.Find(1, DeviceOf(0)));
  EXPECT_FALSE(groups_.Find(2, DeviceOf(0)));
}

TEST_F(GroupTableTest, GroupsThatWaitAreNotForgottenForOthers) {
  for (const int key : {1, 2, 3}) EXPECT_FALSE(Join(0, key).status);
  EXPECT_THAT(*Join(0, 4).status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(*Join(1, 2).status, IsOk());
}

TEST_F(GroupTableTest, AMemberThatComesBackStartsTheGroupAnew) {
  Join(0);
  const std::string first = Join(1).response.group().communicator_key();
  const GroupCall& again = Join(1, 1, 2, /*incarnation=*/2);
  EXPECT_FALSE(again.status);
  EXPECT_THAT(*Join(0).status, IsOk());
  EXPECT_THAT(*again.status, IsOk());
  EXPECT_NE(again.response.group().communicator_key(), first);
}

TEST_F(GroupTableTest, AFormationThatAMemberCallsVoidIsGivenUpOnce) {
  Join(0);
  const std::string first = Join(1).response.group().communicator_key();
  const auto join_after = [&](int task, const std::string& formation) -> GroupCall& {
    GroupCall& call = joins_.emplace_back();
    call.request = joins_[task].request;
    call.request.set_void_formation(Fingerprint64(formation));
    groups_.Join(options_, call.request, &call.response, call.Done());
    return call;
  };
  GroupCall& failed = join_after(0, first);
  EXPECT_EQ(failed.status, std::nullopt);
  GroupCall& other = join_after(1, first);
  const std::string second = other.response.group().communicator_key();
  EXPECT_NE(second, first);
  EXPECT_EQ(failed.response.group().communicator_key(), second);
  EXPECT_EQ(join_after(0, first).response.group().communicator_key(), second);
}

// As an op asks that waits for peers.
TEST_F(GroupTableTest, ACheckedFormationIsAbortedOnceItIsGivenUpAndJoinsNothing) {
  Join(0);
  const GroupCall& joined = Join(1);
  const std::string first = joined.response.group().communicator_key();
  const auto check = [&] { return Check(joined, first); };
  EXPECT_THAT(check(), IsOk());
  const GroupCall& restarted = Join(0, 1, 2, /*incarnation=*/2);
  EXPECT_THAT(check(), StatusIs(absl::StatusCode::kAborted, HasSubstr("formed anew")));
  EXPECT_EQ(restarted.status, std::nullopt);
  EXPECT_THAT(*Join(1).status, IsOk());
  EXPECT_THAT(check(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(GroupTableTest, AFormationThatIsNotKnownIsNotAborted) {
  GroupCall& call = joins_.emplace_back();
  call.request = Join(0, 1, /*size=*/1).request;
  call.request.mutable_group()->set_group_key(2);
  call.request.set_checked_formation(7);
  groups_.Join(options_, call.request, &call.response, call.Done());
  EXPECT_THAT(*call.status, IsOk());
}

TEST_F(GroupTableTest, WhoWaitsIsNotDisturbedByAMemberThatComesBack) {
  const GroupCall &first = Join(0, 1, 3), &old = Join(1, 1, 3);
  const GroupCall& again = Join(1, 1, 3, /*incarnation=*/2);
  EXPECT_THAT(*old.status, StatusIs(absl::StatusCode::kAborted, HasSubstr("task:1 was restarted")));
  EXPECT_FALSE(first.status);
  EXPECT_THAT(*Join(2, 1, 3).status, IsOk());
  EXPECT_THAT(*first.status, IsOk());
  EXPECT_THAT(*again.status, IsOk());
}

TEST_F(GroupTableTest, ACancelledMemberHasNotJoined) {
  CancellationManager cancellation;
  options_.cancellation = &cancellation;
  const GroupCall& gone = Join(0);
  cancellation.StartCancel(absl::CancelledError("enough"));
  EXPECT_THAT(*gone.status, StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
  EXPECT_THAT(*Join(0).status, StatusIs(absl::StatusCode::kCancelled));
  options_.cancellation = nullptr;
  EXPECT_FALSE(Join(1).status);
}

TEST_F(InstanceTableTest, TellsWhoBroadcasts) {
  Join(0), Join(1);
  const InstanceCall& receiver = Declare(0);
  EXPECT_FALSE(receiver.status);
  EXPECT_THAT(*Declare(1, /*is_source=*/true).status, IsOk());
  EXPECT_EQ(receiver.response.source_rank(), 1);
}

TEST_F(InstanceTableTest, AWaitEndsBeforeItsDeadline) {
  Join(0), Join(1);
  const absl::Time deadline = MonotonicNow() + absl::Milliseconds(700);
  options_.deadline = deadline;
  std::promise<absl::Status> ended;
  InstanceCall call;
  call.request.set_group_key(1);
  call.request.set_group_size(2);
  call.request.set_device(DeviceOf(0));
  instances_.Declare(options_, call.request, &call.response,
                     [&](absl::Status status) { ended.set_value(std::move(status)); });
  EXPECT_THAT(ended.get_future().get(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                                 AllOf(HasSubstr("1 of 2 members"), HasSubstr("task:0/device:CPU:0"))));
}

TEST_F(InstanceTableTest, AGroupThatIsFormedAnewEndsItsWaits) {
  Join(0), Join(1);
  const InstanceCall& waits = Declare(0);
  Join(1, 1, 2, /*incarnation=*/2);
  EXPECT_THAT(*waits.status, StatusIs(absl::StatusCode::kAborted, HasSubstr("task:1 was restarted")));
  EXPECT_THAT(*Declare(0).status, StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(InstanceTableTest, ARepeatedCallTakesThePlaceOfTheFirst) {
  Join(0), Join(1);
  const InstanceCall &first = Declare(0), &second = Declare(0);
  EXPECT_THAT(*first.status, StatusIs(absl::StatusCode::kAborted, HasSubstr("declared again")));
  EXPECT_THAT(*Declare(1, /*is_source=*/true).status, IsOk());
  EXPECT_THAT(*second.status, IsOk());
}

TEST_F(InstanceTableTest, MembersThatDisagreeFailTogether) {
  Join(0), Join(1);
  const InstanceCall& first = Declare(0);
  EXPECT_THAT(*Declare(1, false, /*type=*/2).status, StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(*first.status, StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace weir
