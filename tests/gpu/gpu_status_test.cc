// Tests of the GPUs in the output of `weir status`.
#include "client/ops.h"
#include "client/session.h"
#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_platform.h"
#include "core/testing.h"
#include "tests/gpu/local_session.h"
#include "tools/server.h"

namespace weir {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string StatusOf(const Server& server) {
  FILE* const pipe = popen((std::string(WEIR_PROGRAM) + " status grpc://" + server.address() + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << text;
  return text;
}

TEST(GpuStatusTest, TellsMemoryAndGraphs) {
  auto gpu = std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.memory_bytes = size_t{64} << 20});
  ASSERT_OK_AND_ASSIGN(const ClusterSpec cluster, ClusterSpec::FromJson(R"({"worker": ["127.0.0.1:0"]})"));
  ASSERT_OK_AND_ASSIGN(auto server, Server::Start({.cluster = cluster,
                                                   .job = "worker",
                                                   .index = 0,
                                                   .bind_address = "127.0.0.1:0",
                                                   .gpus = std::make_shared<GpuPlatform>(SimulatedPlatform({gpu}))}));
  EXPECT_THAT(StatusOf(*server), ContainsRegex("memory of /job:worker/replica:0/task:0/device:GPU:0: .* in use"));
  EXPECT_THAT(StatusOf(*server), Not(HasSubstr("graphs of")));

  const Scope scope = Scope::NewRoot();
  const Scope on_gpu = scope.WithDevice("/device:GPU:0");
  const Output x = ops::Placeholder(scope, DT_FLOAT);
  const Output y = ops::Square(on_gpu, ops::AddV2(on_gpu, x, x));
  SessionOptions options;
  CaptureGraphs(0, &*options.config);
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("grpc://" + server->address(), scope, options));
  for (int step = 0; step < 4; ++step) ASSERT_THAT(session->Run({{x, AsTensor<float>({3})}}, {y}).status(), IsOk());
  EXPECT_THAT(StatusOf(*server),
              ContainsRegex("graphs of /job:worker/replica:0/task:0/device:GPU:0: [1-9][0-9]* captured, [1-9][0-9]* "
                            "replayed, 0 captures failed, 0 dropped"));
}

}  // namespace
}  // namespace weir
