// A slow network is not taken for a task that hangs, and one that passes nothing is.
#include <google/protobuf/text_format.h>

#include <functional>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/master_interface.h"
#include "tests/cluster/slow_proxy.h"
#include "tools/server.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// "sum" sends what is fed to the parameter server, and "big" gets a tensor from there.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "x" op: "Placeholder" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "all" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_INT32 } }
         attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } } }
  node { name: "sum" op: "Sum" input: "x" input: "all" device: "/job:ps/task:0"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } }
         attr { key: "keep_dims" value { b: false } } }
  node { name: "rows" op: "Placeholder" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_INT32 } } }
  node { name: "one" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "fill" op: "Fill" input: "rows" input: "one" device: "/job:ps/task:0"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "index_type" value { type: DT_INT32 } } }
  node { name: "big" op: "Neg" input: "fill" device: "/job:worker/task:0"
         attr { key: "T" value { type: DT_FLOAT } } })";
// At this rate the tensor takes ten seconds.
constexpr int kFloats = 400 << 10;
constexpr int64_t kSlow = 160 << 10;

// The worker reaches the parameter server through the proxy.
class SlowLinkTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(proxy_, SlowProxy::Listen());
    ClusterSpec cluster;
    ASSERT_THAT(cluster.AddTask("ps", 0, proxy_->address()), IsOk());
    ASSERT_THAT(cluster.AddTask("worker", 0, "127.0.0.1:1"), IsOk());  // nobody calls it
    Server::Options options{.cluster = cluster,
                            .job = "ps",
                            .index = 0,
                            .bind_address = "127.0.0.1:0",
                            .shared_memory = false,
                            .streams = GetParam()};
    ASSERT_OK_AND_ASSIGN(ps_, Server::Start(options));
    const std::vector<std::string> parts = absl::StrSplit(ps_->address(), ':');
    proxy_->RelayTo(std::stoi(parts.back()));
    options.job = "worker";
    ASSERT_OK_AND_ASSIGN(worker_, Server::Start(options));
    tensorflow::CreateSessionRequest request;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(worker_->master()->CreateSession(Soon(), request, &response), IsOk());
    session_ = response.session_handle();
    // The connections are there, and the graphs registered, before the network becomes slow.
    ASSERT_THAT(Send(1), IsOk());
    ASSERT_THAT(Fetch(1), IsOk());
  }

  void TearDown() override { proxy_->SetBytesPerSecond(int64_t{1} << 40); }  // so that the servers stop at once

  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(100)}; }
  absl::Status Run(RunStepArgs args) {
    args.session_handle = session_;
    return worker_->master()->RunStep(Soon(), args).status();
  }
  absl::Status Send(int floats) {
    RunStepArgs args;
    args.feeds = {{"x:0", AsTensor<float>(std::vector<float>(floats, 1))}};
    args.fetches = {"sum:0"};
    return Run(std::move(args));
  }
  absl::Status Fetch(int floats) {
    RunStepArgs args;
    args.feeds = {{"rows:0", AsTensor<int32_t>({floats})}};
    args.targets = {"big"};
    return Run(std::move(args));
  }

  // The step succeeds in more than eight seconds. A proxy whose thread stands still for 3.5 seconds passes nothing, but
  // not in each of three attempts.
  static void ExpectSlowSuccess(const std::function<absl::Status()>& step) {
    absl::Status status = errors::Unavailable("not tried");
    for (int attempt = 0; attempt < 3 && absl::IsUnavailable(status); ++attempt) {
      const absl::Time start = MonotonicNow();
      status = step();
      if (status.ok()) {
        EXPECT_GT(MonotonicNow() - start, absl::Seconds(8));
      }
    }
    EXPECT_THAT(status, IsOk());
  }

  std::unique_ptr<SlowProxy> proxy_;
  std::unique_ptr<Server> ps_, worker_;
  std::string session_;
};

TEST_P(SlowLinkTest, ATensorThatTakesTenSecondsArrives) {
  proxy_->SetBytesPerSecond(kSlow);
  ExpectSlowSuccess([this] { return Fetch(kFloats); });
}

TEST_P(SlowLinkTest, AFeedThatTakesTenSecondsArrives) {
  proxy_->SetBytesPerSecond(kSlow);
  ExpectSlowSuccess([this] { return Send(kFloats); });
}

TEST_P(SlowLinkTest, ANetworkThatPassesNothingEndsTheStep) {
  proxy_->SetBytesPerSecond(0);
  const absl::Time start = MonotonicNow();
  EXPECT_THAT(Fetch(kFloats), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:ps/replica:0/task:0")));
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(40));
}

INSTANTIATE_TEST_SUITE_P(Routes, SlowLinkTest, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Streams" : "Calls"; });

}  // namespace
}  // namespace weir
