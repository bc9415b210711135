// weir.MembershipService of a task.
#pragma once

#include <string>
#include <vector>

#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/membership/registrar.h"
#include "distribute/transport/membership/state_host.h"
#include "distribute/transport/task_channels.h"

namespace weir {

// Serves changes of the membership if this task is the registrar, and else passes them on to it. Thread-safe.
class MembershipService {
 public:
  // All outlive the server that has the methods, as this does. `registrar` is null in tasks that are not it.
  MembershipService(ClusterMembership* membership, Registrar* registrar, StateHost* host)
      : membership_(membership), registrar_(registrar), host_(host), channels_(membership, nullptr) {}

  std::vector<ServerMethod> Methods();

 private:
  template <typename Request, typename Response>
  ServerMethod Method(const char* path, absl::Status (Registrar::*serve)(const Request&, Response*));
  absl::Status HoldState(const CallOptions& options, const HoldStateRequest& request);
  absl::Status PassOn(const char* path, const CallOptions& options, const google::protobuf::MessageLite& request,
                      google::protobuf::MessageLite* response);

  ClusterMembership* const membership_;
  Registrar* const registrar_;
  StateHost* const host_;
  TaskChannels channels_;
};

}  // namespace weir
