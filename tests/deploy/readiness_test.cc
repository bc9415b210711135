// Tests how a server reports that it is ready: systemd's notifications, gRPC's health check, `weir probe`.
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/server_process.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/wire_format.h"
#include "grpc/health/v1/health.pb.h"

namespace weir {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

class ReadinessTest : public testing::Test {
 protected:
  void SetUp() override {
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un name = {.sun_family = AF_UNIX};
    Path("notify").copy(name.sun_path, sizeof(name.sun_path) - 1);
    ASSERT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
    const timeval patience = {.tv_sec = 60};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  void TearDown() override {
    server_.reset();
    close(socket_);
  }

  std::string Path(const std::string& name) const { return directory_.Path(name); }

  void StartServer(const std::string& notify_socket) {
    server_ = std::make_unique<ServerProcess>(ServerProcess::Options{
        .name = "server",
        .arguments = {WEIR_PROGRAM, "server", "--port", "0", "--ready-file", Path("ready")},
        .environment = {R"(TF_CONFIG={"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "worker"}})",
                        "NOTIFY_SOCKET=" + notify_socket},
        .ready_file = Path("ready"),
        .log_file = Path("log")});
    ASSERT_THAT(server_->Launch(), IsOk());
  }
  std::string Address() {
    EXPECT_THAT(server_->AwaitReady(absl::Seconds(60)), IsOk());
    std::string address;
    std::ifstream(Path("ready")) >> address;
    return address;
  }
  std::string NextNotification() {
    char text[100];
    const ssize_t got = recv(socket_, text, sizeof(text), 0);
    return got < 0 ? "nothing" : std::string(text, got);
  }
  absl::StatusOr<HealthCheckResponse> Check(const std::string& service) {
    GrpcChannel channel({.address = Address()}, nullptr);
    HealthCheckRequest request;
    request.set_service(service);
    ASSIGN_OR_RETURN(const grpc::ByteBuffer bytes, MessageToBuffer(request));
    ASSIGN_OR_RETURN(const grpc::ByteBuffer reply, channel.Call("/grpc.health.v1.Health/Check", {}, bytes));
    HealthCheckResponse response;
    RETURN_IF_ERROR(MessageFromBuffer(reply, &response));
    return response;
  }
  // `weir probe`'s exit code.
  static int Probe(const std::string& arguments) {
    const std::string command = std::string(WEIR_PROGRAM) + " probe " + arguments + " 2>/dev/null";
    return WEXITSTATUS(system(command.c_str()));
  }

  ScratchDirectory directory_;
  int socket_ = -1;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ReadinessTest, SystemdHearsWhenItServesAndStops) {
  StartServer(Path("notify"));
  EXPECT_EQ(NextNotification(), "READY=1");
  EXPECT_THAT(Check(""), IsOk());
  EXPECT_EQ(*server_->Terminate(absl::Seconds(30)), 0);
  EXPECT_EQ(NextNotification(), "STOPPING=1");
}

TEST_F(ReadinessTest, ASocketThatIsNotThereKeepsNobodyFromServing) {
  for (const std::string& socket :
       {Path("missing"), std::string("nonsense"), std::string("@"), std::string(5000, '/')}) {
    StartServer(socket);
    EXPECT_THAT(Check(""), IsOk()) << socket;
    EXPECT_EQ(*server_->Terminate(absl::Seconds(30)), 0);
    server_.reset();
  }
}

TEST_F(ReadinessTest, ProbesByGrpcAreAnswered) {
  StartServer("");
  for (const char* service : {"", "tensorflow.WorkerService", "tensorflow.MasterService"}) {
    ASSERT_OK_AND_ASSIGN(HealthCheckResponse response, Check(service));
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << service;
  }
  EXPECT_THAT(Check("another"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ReadinessTest, ProbesByCommandAreAnswered) {
  StartServer("");
  const std::string target = "grpc://" + Address();
  // The server has two seconds for its answer, which a busy machine may use up.
  int code = Probe(target);
  for (int attempt = 1; attempt < 5 && code != 0; ++attempt) code = Probe(target);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Probe("--wait 60 " + target + " " + target), 0);
  EXPECT_EQ(*server_->Terminate(absl::Seconds(30)), 0);
  EXPECT_EQ(Probe(target), 1);
  EXPECT_EQ(Probe("--wait 0.3 " + target), 1);
  EXPECT_EQ(Probe("nowhere"), 2);
  EXPECT_EQ(Probe(""), 2);
}

}  // namespace
}  // namespace weir
