#include "tools/joining_task.h"

#include <optional>
#include <utility>

#include "core/logging.h"
#include "distribute/cluster/address.h"

namespace weir {

absl::StatusOr<std::unique_ptr<JoiningTask>> JoiningTask::Begin(Server::Options* options) {
  ASSIGN_OR_RETURN(const Address bound, Address::Parse(options->bind_address));
  std::unique_ptr<ReservedPort> port;
  if (bound.port() == 0 && !bound.is_unix()) {
    ASSIGN_OR_RETURN(port, ReservedPort::Create(bound.host()));
    options->bind_address = port->address();
  }
  ASSIGN_OR_RETURN(const Address listening, Address::Parse(options->bind_address));
  if (!listening.IsLoopback() && !options->insecure) {  // before others learn of it
    return errors::FailedPrecondition(
        "The task is to listen on ", options->bind_address,
        ", which other machines can reach: allow it with --insecure on a network that you trust");
  }
  std::string advertised = options->bind_address;
  if (!options->advertised_address.empty()) {
    ASSIGN_OR_RETURN(Address address, Address::Parse(options->advertised_address));
    if (address.port() == 0) address = address.WithPort(listening.port());
    advertised = address.ToString();
  }
  ClusterJoin::Options join{.cluster = options->join, .job = options->job, .address = advertised};
  if (options->index != Server::kNewTask) join.index = options->index;
  ASSIGN_OR_RETURN(std::unique_ptr<ClusterJoin> begun, ClusterJoin::Begin(join));
  options->index = begun->member().index();
  ASSIGN_OR_RETURN(options->cluster, ClusterOf(begun->view(), TaskNameOf(begun->member())));
  WEIR_LOG(INFO).With("task", TaskNameOf(begun->member())).With("address", advertised) << "joins the cluster";
  return std::unique_ptr<JoiningTask>(new JoiningTask(std::move(port), std::move(begun)));
}

void JoiningTask::Leave() {
  if (const absl::Status left = join_->Leave(); !left.ok()) {
    WEIR_LOG(WARNING) << "could not report this task's departure to the registrar: " << left.message();
  }
}

}  // namespace weir
