// A task of a cluster in a program of its own, and a session with it.
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "weir/ops.h"
#include "weir/server.h"
#include "weir/session.h"

using namespace weir;  // NOLINT

absl::Status Run() {
  Server::Options options;
  ASSIGN_OR_RETURN(options.cluster, ClusterSpec::FromJson(R"({"worker": ["127.0.0.1:2222"]})"));
  options.job = "worker";
  options.bind_address = "127.0.0.1:0";  // any free port
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::Start(std::move(options)));

  const Scope scope = Scope::NewRoot();
  const Output x = ops::Placeholder(scope, DT_FLOAT);
  const Output product = ops::Mul(scope.WithName("product"), x, 7.0f);
  SessionOptions session_options;
  RETURN_IF_ERROR(session_options.config.MergeText("allow_soft_placement: true"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   Session::Connect("grpc://" + server->address(), scope, session_options));
  RunOptions traced;
  RETURN_IF_ERROR(traced.MergeText("trace_level: FULL_TRACE"));
  ProtoValue<tensorflow::RunMetadata> metadata;
  ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                   session->Run({{x, Tensor::Scalar(6.0f)}}, {product}, {}, traced, &*metadata));
  ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, session->ListDevices());
  std::printf("%s: %g, traced: %s\n", devices[0].name.c_str(), values[0].scalar<float>(),
              metadata.ToText().find("product") != std::string::npos ? "yes" : "no");
  RETURN_IF_ERROR(session->Close());
  return server->Stop();
}

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
