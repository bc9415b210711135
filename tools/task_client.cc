#include "tools/task_report_client.h"

#include "absl/strings/strip.h"
#include "distribute/cluster/address.h"
#include "distribute/transport/wire_format.h"

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
  ASSIGN_OR_RETURN(const grpc::ByteBuffer request, MessageToBuffer(GetTaskReportRequest()));
  ASSIGN_OR_RETURN(const grpc::ByteBuffer reply, channel->Call("/weir.StatusService/GetTaskReport", options, request));
  GetTaskReportResponse response;
  RETURN_IF_ERROR(MessageFromBuffer(reply, &response));
  return std::move(*response.mutable_report());
}

}  // namespace weir
