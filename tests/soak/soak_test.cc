// Memory, threads and files stay flat: over many steps, and over servers that start and stop. WEIR_SOAK_STEPS is the
// number of local steps (scripts/soak: 1,000,000); a tenth as many go over gRPC.
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/variables.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/soak/process_usage.h"
#include "tools/server.h"

namespace weir {
namespace {

// A sanitizer keeps freed memory for a while, to catch who still uses it.
#ifdef WEIR_SANITIZER_BUILD
constexpr bool kMemoryIsMeasured = false;
#else
constexpr bool kMemoryIsMeasured = true;
#endif

int64_t Steps() {
  const char* text = std::getenv("WEIR_SOAK_STEPS");
  int64_t steps = 0;
  return text != nullptr && absl::SimpleAtoi(text, &steps) ? steps : 20000;
}

ProcessUsage Usage(pid_t pid = 0) {
  auto usage = UsageOf(pid);
  EXPECT_THAT(usage, IsOk());
  return usage.ok() ? *usage : ProcessUsage();
}

// Runs `step` so many times and compares what `pid` holds half-way, when pools, threads and the last thousands of step
// and request ids that servers remember are there, with what it holds at the end.
template <typename Step>
void ExpectFlat(const std::string& what, int64_t steps, int64_t allowed_bytes, pid_t pid, Step step) {
  const absl::Time start = MonotonicNow();
  ProcessUsage early;
  for (int64_t i = 0; i < steps; ++i) {
    if (i == steps / 2) early = Usage(pid);
    if (i % std::max<int64_t>(1, steps / 10) == 0) {
      std::printf("%s: %8lld steps, %s\n", what.c_str(), static_cast<long long>(i), Usage(pid).ToString().c_str());
      std::fflush(stdout);
    }
    ASSERT_THAT(step(i), IsOk()) << "step " << i;
  }
  const auto is_flat = [&](const ProcessUsage& usage) {
    return (!kMemoryIsMeasured || usage.resident_bytes - early.resident_bytes <= allowed_bytes) &&
           usage.threads <= early.threads + 8 && usage.files <= early.files + 4;
  };
  ProcessUsage late = Usage(pid);
  // The server may release connections, threads and sessions a moment after they have ended.
  for (const absl::Time end = MonotonicNow() + absl::Seconds(30); !is_flat(late) && MonotonicNow() < end;) {
    absl::SleepFor(absl::Milliseconds(20));
    late = Usage(pid);
  }
  std::printf("%s: %8lld steps, %s, %.1f s\n", what.c_str(), static_cast<long long>(steps), late.ToString().c_str(),
              absl::ToDoubleSeconds(MonotonicNow() - start));
  if (kMemoryIsMeasured) {
    EXPECT_LE(late.resident_bytes - early.resident_bytes, allowed_bytes) << what;
  }
  EXPECT_LE(late.threads, early.threads + 8) << what;
  EXPECT_LE(late.files, early.files + 4) << what;
}

constexpr int64_t kMiB = int64_t{1} << 20;

class SoakTest : public ::testing::Test {
 protected:
  Scope scope_ = Scope::NewRoot();
};

TEST_F(SoakTest, NullStepsInProcess) {
  const Operation nothing = ops::NoOp(scope_);
  ASSERT_OK_AND_ASSIGN(auto session, Session::Local(scope_));
  ExpectFlat("null steps", Steps(), kMiB, 0, [&](int64_t) { return session->RunTargets({nothing}); });
}

TEST_F(SoakTest, StepsThatTrainInProcess) {
  const auto w = ResourceVariable::Make(scope_.WithName("w"), TensorShape({16, 4}), DT_FLOAT, initializers::Zeros());
  const Output x = ops::Placeholder(scope_, DT_FLOAT);
  const Output y = ops::MatMul(scope_, x, w.value());
  const Operation add = w.AssignAdd(scope_, AsTensor<float>(std::vector<float>(64, 0.001f), {16, 4}));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Local(scope_));
  ASSERT_THAT(session->RunTargets({InitializeAll(scope_)}), IsOk());
  ExpectFlat("training steps", Steps(), kMiB, 0, [&](int64_t i) {
    // Shapes differ from step to step.
    return session->Run({{x, Tensor(DT_FLOAT, TensorShape({1 + i % 7, 16}))}}, {y}, {add}).status();
  });
}

TEST_F(SoakTest, FailingSteps) {
  const Output x = ops::Placeholder(scope_, DT_INT32);
  const Output bad = ops::FloorDiv(scope_, scope_.Constant(1), x);
  ASSERT_OK_AND_ASSIGN(auto session, Session::Local(scope_));
  ExpectFlat("failing steps", Steps() / 10, kMiB, 0, [&](int64_t) {
    const absl::Status status = session->Run({{x, AsScalar<int32_t>(0)}}, {bad}).status();
    return absl::IsInvalidArgument(status) ? absl::OkStatus() : errors::Internal("unexpected: ", status.ToString());
  });
}

TEST_F(SoakTest, SignaturesThatComeAndGo) {
  const Output x = ops::Placeholder(scope_, DT_INT32), y = ops::Neg(scope_, x);
  ASSERT_OK_AND_ASSIGN(auto session, Session::Local(scope_));
  ExpectFlat("callables", Steps() / 40, kMiB, 0, [&](int64_t) -> absl::Status {
    ASSIGN_OR_RETURN(auto callable, session->MakeCallable({x}, {y}));
    return callable->Run({AsScalar<int32_t>(1)}).status();
  });
}

// Client, master and a second task: each process is watched.
class ClusterSoakTest : public SoakTest {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}}));
  }
  Scope On(int task) { return scope_.WithDevice(absl::StrCat("/job:worker/task:", task)); }
  std::unique_ptr<ProcessCluster> cluster_;
};

TEST_F(ClusterSoakTest, NullStepsOverGrpc) {
  const Operation nothing = ops::NoOp(On(0));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect(cluster_->Target("worker", 0), scope_));
  const auto step = [&](int64_t) { return session->RunTargets({nothing}); };
  ExpectFlat("null steps over gRPC, server", Steps() / 20, 2 * kMiB, cluster_->pid("worker", 0), step);
  ExpectFlat("null steps over gRPC, client", Steps() / 20, 2 * kMiB, 0, step);
}

TEST_F(ClusterSoakTest, StepsAcrossTasks) {
  const Output x = ops::Placeholder(On(0), DT_FLOAT);
  const Output y = ops::Neg(On(0), ops::Square(On(1), x));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect(cluster_->Target("worker", 0), scope_));
  const auto step = [&](int64_t i) {
    return session->Run({{x, Tensor(DT_FLOAT, TensorShape({1 + i % 300}))}}, {y}).status();
  };
  for (int task = 0; task < 2; ++task) {
    // Servers get a thread now and then, each with its own pools.
    ExpectFlat(absl::StrCat("steps across tasks, task ", task), Steps() / 20, 4 * kMiB, cluster_->pid("worker", task),
               step);
  }
}

TEST_F(ClusterSoakTest, LargeTensorsAcrossTasks) {
  const Output n = ops::Placeholder(On(0), DT_INT32);
  const Output there = ops::Fill(On(1), n, On(1).Constant(1.0f));
  const Output sum = ops::Sum(On(0), there, 0);
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect(cluster_->Target("worker", 0), scope_));
  const auto step = [&](int64_t i) {
    const int32_t size = 1 << (16 + i % 6);
    return session->Run({{n, AsTensor<int32_t>({size})}}, {sum}).status();
  };
  for (int task = 0; task < 2; ++task) {
    ExpectFlat(absl::StrCat("large tensors, task ", task), Steps() / 200, 32 * kMiB, cluster_->pid("worker", task),
               step);
  }
}

TEST_F(ClusterSoakTest, SessionsThatComeAndGo) {
  const Output y = ops::Neg(On(1), ops::Square(On(0), On(0).Constant(2.0f)));
  ExpectFlat("sessions, server", Steps() / 200, 4 * kMiB, cluster_->pid("worker", 0), [&](int64_t) -> absl::Status {
    ASSIGN_OR_RETURN(auto session, Session::Connect(cluster_->Target("worker", 0), scope_));
    return session->Run({y}).status();
  });
}

TEST(ServerSoakTest, AServerStartsAndStopsAHundredTimes) {
  Scope scope = Scope::NewRoot();
  const Output y = ops::Neg(scope.WithDevice("/job:worker/task:0"), scope.Constant(1));
  const auto once = [&](int64_t) -> absl::Status {
    ClusterSpec cluster;
    RETURN_IF_ERROR(cluster.AddTask("worker", 0, "127.0.0.1:0"));
    ASSIGN_OR_RETURN(auto server, Server::Start({.cluster = cluster, .job = "worker", .index = 0}));
    ASSIGN_OR_RETURN(auto session, Session::Connect("grpc://" + server->address(), scope));
    return session->Run({y}).status();
  };
  ExpectFlat("servers", 100, 4 * kMiB, 0, once);
}

}  // namespace
}  // namespace weir
