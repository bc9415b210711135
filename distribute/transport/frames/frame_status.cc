#include "distribute/transport/frames/frame_status.h"

#include <cstdint>
#include <cstring>

#include "distribute/transport/grpc_status.h"

namespace weir {
namespace {

constexpr size_t kMaxBytes = 64 << 10;

struct Lengths {
  uint32_t code = 0;
  uint32_t message = 0;
  uint32_t details = 0;
};

}  // namespace

std::string EncodeFrameStatus(const absl::Status& status) {
  const grpc::Status wire = ToGrpcStatus(status);
  const std::string message = wire.error_message(), details = wire.error_details();
  const Lengths lengths{static_cast<uint32_t>(wire.error_code()), static_cast<uint32_t>(message.size()),
                        static_cast<uint32_t>(details.size())};
  std::string bytes(reinterpret_cast<const char*>(&lengths), sizeof(lengths));
  bytes += message;
  bytes += details;
  return bytes;
}

absl::Status DecodeFrameStatus(absl::Span<const char> shared) {
  const absl::Status malformed = errors::Internal("A peer sent an error that does not parse");
  if (shared.size() < sizeof(Lengths) || shared.size() > kMaxBytes) return malformed;
  const std::string bytes(shared.data(), shared.size());
  Lengths lengths;
  std::memcpy(&lengths, bytes.data(), sizeof(lengths));
  if (uint64_t{lengths.message} + lengths.details != bytes.size() - sizeof(lengths) || lengths.code == 0) {
    return malformed;
  }
  return FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(lengths.code),
                                     bytes.substr(sizeof(lengths), lengths.message),
                                     bytes.substr(sizeof(lengths) + lengths.message)));
}

}  // namespace weir
