#include "distribute/transport/grpc_status.h"

#include <string>
#include <utility>
#include <vector>

#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

constexpr size_t kMaxMessage = 3072;
constexpr size_t kMaxDetails = 2560;  // base64 adds a third

// Fields of google.rpc.Status and google.protobuf.Any.
constexpr int kCode = 1;
constexpr int kDetails = 3;
constexpr int kTypeUrl = 1;
constexpr int kValue = 2;

void AppendBytes(int field, absl::string_view value, std::string* out) {
  AppendTag(field, WireType::kBytes, out);
  AppendVarint(value.size(), out);
  out->append(value.data(), value.size());
}

// gRPC escapes each byte outside printable ASCII as three bytes.
std::string CutToBudget(absl::string_view message) {
  size_t cost = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    const bool plain = message[i] >= ' ' && message[i] <= '~' && message[i] != '%';
    cost += plain ? 1 : 3;
    if (cost > kMaxMessage) return absl::StrCat(message.substr(0, i), "... (cut)");
  }
  return std::string(message);
}

absl::StatusCode Code(int code) {
  return code >= 1 && code <= 16 ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
}

bool ReadPayload(WireReader* reader, absl::Status* status) {
  size_t length;
  if (!reader->Length(&length)) return false;
  const size_t outer = reader->PushLimit(length);
  std::string url, value;
  while (!reader->AtEnd()) {
    int field;
    WireType type;
    if (!reader->Tag(&field, &type) || type != WireType::kBytes) return false;
    if (!(field == kTypeUrl ? reader->String(&url) : field == kValue ? reader->String(&value) : reader->Skip(type))) {
      return false;
    }
  }
  reader->PopLimit(outer);
  if (!url.empty()) status->SetPayload(url, absl::Cord(value));
  return true;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string details;
  AppendTag(kCode, WireType::kVarint, &details);
  AppendVarint(static_cast<uint64_t>(status.code()), &details);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    std::string any;
    AppendBytes(kTypeUrl, url, &any);
    if (!payload.empty()) AppendBytes(kValue, std::string(payload), &any);
    if (details.size() + any.size() + 8 <= kMaxDetails) AppendBytes(kDetails, any, &details);
  });
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), CutToBudget(status.message()), details);
}

bool CarriesDetails(const grpc::Status& status) { return !status.error_details().empty(); }

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(Code(status.error_code()), status.error_message());
  if (!CarriesDetails(status)) return result;
  // Details in another form only show that the peer itself answered.
  grpc::Slice slice(status.error_details());
  const grpc::ByteBuffer buffer(&slice, 1);
  WireReader reader(buffer);
  absl::Status with_payloads = result;
  while (!reader.AtEnd()) {
    int field;
    WireType type;
    if (!reader.Tag(&field, &type)) return result;
    const bool payload = field == kDetails && type == WireType::kBytes;
    if (!(payload ? ReadPayload(&reader, &with_payloads) : reader.Skip(type))) return result;
  }
  return with_payloads;
}

}  // namespace weir
