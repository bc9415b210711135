#include "distribute/transport/membership/regroup_service.h"

#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/grpc_channel.h"

namespace weir {
namespace {

class RegroupServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(server_, GrpcServer::Start({.methods = service_.Methods()}));
    channel_ = std::make_unique<GrpcChannel>(GrpcChannelOptions{.address = server_->address()}, nullptr);
  }
  absl::Status Put(const std::string& training, const std::string& task) {
    PutNoteRequest request;
    request.set_training(training);
    request.mutable_note()->mutable_self()->set_task(task);
    PutNoteResponse response;
    return channel_->CallMessage(kPutNoteMethod, {.deadline = MonotonicNow() + absl::Seconds(30)}, request, &response);
  }
  absl::StatusOr<GetNoteResponse> Get(const std::string& training) {
    GetNoteRequest request;
    request.set_training(training);
    GetNoteResponse response;
    RETURN_IF_ERROR(
        channel_->CallMessage(kGetNoteMethod, {.deadline = MonotonicNow() + absl::Seconds(30)}, request, &response));
    return response;
  }

  RegroupService service_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<GrpcChannel> channel_;
};

TEST_F(RegroupServiceTest, KeepsTheLastNoteOfEachTraining) {
  ASSERT_THAT(Put("a", "/job:worker/task:0"), IsOk());
  ASSERT_THAT(Put("b", "/job:worker/task:2"), IsOk());
  ASSERT_THAT(Put("a", "/job:worker/task:1"), IsOk());
  ASSERT_OK_AND_ASSIGN(const GetNoteResponse a, Get("a"));
  ASSERT_OK_AND_ASSIGN(const GetNoteResponse b, Get("b"));
  EXPECT_EQ(a.note().self().task(), "/job:worker/task:1");
  EXPECT_EQ(b.note().self().task(), "/job:worker/task:2");
  EXPECT_GE(b.age_micros(), a.age_micros());
}

TEST_F(RegroupServiceTest, NamesTheTrainingThatIsNotHere) {
  EXPECT_THAT(Get("mine").status(), StatusIs(absl::StatusCode::kNotFound, testing::HasSubstr("'mine'")));
}

TEST_F(RegroupServiceTest, KeepsABoundedNumberOfTrainings) {
  for (size_t i = 0; i <= RegroupService::kMaxTrainings; ++i)
    ASSERT_THAT(Put(absl::StrCat(i), "/job:worker/task:0"), IsOk());
  EXPECT_THAT(Get("0").status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Get(absl::StrCat(RegroupService::kMaxTrainings)).status(), IsOk());
}

TEST_F(RegroupServiceTest, RejectsALargeNote) {
  EXPECT_THAT(Put("a", std::string(RegroupService::kMaxNoteBytes, 'x')),
              StatusIs(absl::StatusCode::kResourceExhausted, testing::HasSubstr("at most")));
}

// Every worker of a training reads the notes of the others.
TEST_F(RegroupServiceTest, RejectsNotesThatNameNoTask) {
  for (const char* const task : {"", "/", "/job:worker", "/job:*", "worker"}) {
    EXPECT_THAT(Put("a", task), StatusIs(absl::StatusCode::kInvalidArgument)) << task;
  }
}

}  // namespace
}  // namespace weir
