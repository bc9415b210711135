#include "distribute/transport/polling_threads.h"

#include <sys/resource.h>

#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/synchronization/notification.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

#ifndef WEIR_SANITIZER_BUILD  // sanitizers need memory of their own

// While it lives, the system gives the process no memory for another thread's stack.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    threads_.reserve(kMostThreads);
    getrlimit(RLIMIT_DATA, &before_);
    const rlimit none = {.rlim_cur = 1, .rlim_max = before_.rlim_max};  // Linux takes 0 for no limit
    setrlimit(RLIMIT_DATA, &none);
    try {  // takes the stacks that earlier threads have left
      while (threads_.size() < kMostThreads) threads_.emplace_back([this] { may_end_.WaitForNotification(); });
    } catch (const std::system_error&) {
    }
  }
  ~NoMoreThreads() {
    setrlimit(RLIMIT_DATA, &before_);
    may_end_.Notify();
    for (std::thread& thread : threads_) thread.join();
  }

  // False: the system does not enforce the limit. Other processes need threads too, so this does not take them all.
  bool Holds() const { return threads_.size() < kMostThreads; }

 private:
  static constexpr size_t kMostThreads = 100;

  rlimit before_ = {};
  absl::Notification may_end_;
  std::vector<std::thread> threads_;
};

TEST(PollingThreadsTest, ASystemWithoutThreadsIsAnErrorAndNoException) {
  grpc::CompletionQueue queue;
  const absl::Cleanup shut_down = [&queue] { queue.Shutdown(); };
  absl::Status status;
  {
    const NoMoreThreads limit;
    if (!limit.Holds()) GTEST_SKIP() << "this system does not enforce RLIMIT_DATA";
    status = PollingThreads(&queue, PollingThreads::Options()).status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("No thread can be created")));
}

#endif

TEST(PollingThreadsTest, TheirLimitIsAnErrorToo) {
  grpc::CompletionQueue queue;
  const absl::Cleanup shut_down = [&queue] { queue.Shutdown(); };
  EXPECT_THAT(PollingThreads(&queue, {.max = 0}).status(), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace weir
