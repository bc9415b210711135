#include "distribute/transport/request_log.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/random_bits.h"
#include "core/testing.h"
#include "distribute/transport/repeated_requests.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class RequestLogTest : public ::testing::Test {
 protected:
  ~RequestLogTest() override { unlink(RequestLog::PathFor(id_).c_str()); }

  const uint64_t id_ = RandomBits();
};

TEST_F(RequestLogTest, OutlivesAKilledProcess) {
  const pid_t child = fork();
  if (child == 0) {
    const auto log = RequestLog::Open(id_);
    if (!log.ok() || (*log)->continues()) _exit(2);
    for (int64_t id = 1; id <= 5; ++id) (*log)->Add(id);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_OK_AND_ASSIGN(const auto log, RequestLog::Open(id_));
  EXPECT_TRUE(log->continues());
  for (int64_t id = 1; id <= 5; ++id) EXPECT_TRUE(log->WasReceivedBefore(id)) << id;
  EXPECT_FALSE(log->WasReceivedBefore(6));
  log->Add(6);
  EXPECT_FALSE(log->WasReceivedBefore(6));  // by this process, not by an earlier one
}

TEST_F(RequestLogTest, TheNewestAreKept) {
  constexpr int64_t kIds = RequestLog::kCapacity + 10;
  {
    ASSERT_OK_AND_ASSIGN(const auto log, RequestLog::Open(id_));
    for (int64_t id = 1; id <= kIds; ++id) log->Add(id);
  }
  ASSERT_OK_AND_ASSIGN(const auto log, RequestLog::Open(id_));
  EXPECT_FALSE(log->WasReceivedBefore(10));
  EXPECT_TRUE(log->WasReceivedBefore(11));
  EXPECT_TRUE(log->WasReceivedBefore(kIds));
}

TEST_F(RequestLogTest, OneProcessUsesIt) {
  ASSERT_OK_AND_ASSIGN(const auto log, RequestLog::Open(id_));
  EXPECT_THAT(RequestLog::Open(id_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("used by another server")));
}

TEST_F(RequestLogTest, ARequestOfAnEarlierMasterIsNotRunAgain) {
  const auto answer = [](const CallOptions&) -> RepeatedRequests::Answer {
    const grpc::Slice slice("done");
    return grpc::ByteBuffer(&slice, 1);
  };
  {
    ASSERT_OK_AND_ASSIGN(const auto log, RequestLog::Open(id_));
    RepeatedRequests requests({.log = log.get()});
    ASSERT_THAT(requests.RunOnce(17, "RunStep", {}, answer), IsOk());
    ASSERT_THAT(requests.RunOnce(17, "RunStep", {}, answer), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto log, RequestLog::Open(id_));
  RepeatedRequests requests({.log = log.get()});
  EXPECT_THAT(requests.RunOnce(17, "RunStep", {}, answer),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("received before this master restarted")));
  EXPECT_THAT(requests.RunOnce(18, "RunStep", {}, answer), IsOk());
}

}  // namespace
}  // namespace weir
