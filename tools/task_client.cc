#include "tools/task_client.h"

#include "absl/strings/strip.h"
#include "distribute/cluster/address.h"

namespace weir {

absl::StatusOr<std::string> AddressOfTarget(const std::string& target) {
  absl::string_view text = target;
  if (!absl::ConsumePrefix(&text, "grpc://")) {
    return errors::InvalidArgument("'", target, "' is not a target: expected grpc://HOST:PORT of any task");
  }
  ASSIGN_OR_RETURN(const Address address, Address::Parse(text));
  return address.ToString();
}

absl::StatusOr<TaskReport> GetTaskReport(GrpcChannel* channel, const CallOptions& options) {
  GetTaskReportResponse response;
  RETURN_IF_ERROR(
      channel->CallMessage("/weir.StatusService/GetTaskReport", options, GetTaskReportRequest(), &response));
  return std::move(*response.mutable_report());
}

}  // namespace weir
