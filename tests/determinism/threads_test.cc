// The same program gives the same bits with every number of threads, in every run, while other threads take turns with
// its own.
#include <atomic>
#include <thread>

#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/determinism/programs.h"

namespace weir {
namespace {

struct Named {
  const char* name;
  Program (*make)(const Scope& scope);
};

constexpr int kSteps = 3;

absl::StatusOr<std::string> Train(Program (*make)(const Scope& scope), int threads, bool deterministic) {
  const Scope scope = Scope::NewRoot();
  const Program program = make(scope);
  RETURN_IF_ERROR(scope.status());
  SessionOptions options;
  options.config->set_intra_op_parallelism_threads(threads);
  options.deterministic = deterministic;
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope, options));
  return TrainedBits(program, *session, kSteps);
}

// Keeps a processor busy, in bursts, so that the threads of a session get on unevenly.
class Load {
 public:
  Load() : thread_([this] { Run(); }) {}
  ~Load() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Run() {
    for (uint32_t burst = 1; !stop_; burst = burst * 1664525 + 1013904223) {
      for (uint32_t i = 0; i < burst >> 12 && !stop_; ++i) {
      }
      std::this_thread::yield();
    }
  }
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class ThreadsTest : public testing::TestWithParam<Named> {};

TEST_P(ThreadsTest, DoNotShowInTheBits) {
  const Load load;
  ASSERT_OK_AND_ASSIGN(const std::string expected, Train(GetParam().make, 1, true));
  for (const int threads : {1, 2, 3, 8, 2, 3, 8}) {
    ASSERT_OK_AND_ASSIGN(const std::string bits, Train(GetParam().make, threads, true));
    EXPECT_TRUE(bits == expected) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ThreadsTest,
                         testing::Values(Named{"Convnet", Convnet}, Named{"Lstm", Lstm},
                                         Named{"SparseEmbedding", SparseEmbedding}, Named{"Pipeline", Pipeline},
                                         Named{"Sums", Sums}, Named{"RandomLoop", RandomLoop}),
                         [](const auto& info) { return std::string(info.param.name); });

// The control: without the option, the results depend on the number of threads.
TEST(ThreadsWithoutTheOptionTest, ShowInTheBits) {
  ASSERT_OK_AND_ASSIGN(const std::string one, Train(Convnet, 1, false));
  ASSERT_OK_AND_ASSIGN(const std::string three, Train(Convnet, 3, false));
  EXPECT_FALSE(one == three);
}

}  // namespace
}  // namespace weir
