#include "distribute/transport/grpc_health_service.h"

#include <set>
#include <string>

#include "distribute/transport/message_method.h"
#include "grpc/health/v1/health.pb.h"

namespace weir {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// "tensorflow.MasterService" of "/tensorflow.MasterService/RunStep".
std::string ServiceOf(const std::string& path) { return path.substr(1, path.find('/', 1) - 1); }

}  // namespace

ServerMethod HealthCheckMethod(const std::vector<ServerMethod>& methods) {
  std::set<std::string> services = {""};
  for (const ServerMethod& method : methods) services.insert(ServiceOf(method.path));
  return {"/grpc.health.v1.Health/Check", [services](ServerCall* call) {
            ServeMessage<HealthCheckRequest, HealthCheckResponse>(
                call, [&](const CallOptions&, auto messages, auto done) {
                  if (services.count(messages->request.service()) == 0) {
                    return done(errors::NotFound("This task has no such service"));
                  }
                  messages->response.set_status(HealthCheckResponse::SERVING);
                  done(absl::OkStatus());
                });
          }};
}

}  // namespace weir
