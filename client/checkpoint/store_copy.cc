#include "client/checkpoint/store_copy.h"

#include <algorithm>

#include "client/fed_scalar.h"
#include "client/ops.h"
#include "core/files/file_system.h"

namespace weir {
namespace {

constexpr int64_t kPiece = 8 << 20;  // bytes in one step

}  // namespace

StoreCopy::StoreCopy(const Scope& scope, const std::string& from, const std::string& to) {
  const Scope inner = scope.SubScope("copy");
  const Scope reader = inner.WithDevice(from), writer = inner.WithDevice(to);
  from_ = FedScalar(reader, "from", DT_STRING);
  to_ = FedScalar(writer, "to", DT_STRING);
  offset_ = FedScalar(inner, "offset", DT_INT64);
  size_ = FedScalar(reader, "size", DT_INT64);
  sync_ = FedScalar(writer, "sync", DT_BOOL);
  write_ = ops::StoreWriteRange(writer, to_, offset_, ops::StoreReadRange(reader, from_, offset_, size_), sync_);
}

absl::Status StoreCopy::CopyFile(Session& session, const std::string& from, const std::string& to, int64_t size) const {
  int64_t at = 0;
  do {
    const int64_t n = std::min(kPiece, size - at);
    RETURN_IF_ERROR(session
                        .Run({{from_, Tensor::Scalar<tstring>(from)},
                              {to_, Tensor::Scalar<tstring>(to)},
                              {offset_, Tensor::Scalar(at)},
                              {size_, Tensor::Scalar(n)},
                              {sync_, Tensor::Scalar(at + n == size)}},
                             {}, {write_})
                        .status());
    at += n;
  } while (at < size);
  return absl::OkStatus();
}

absl::Status StoreCopy::Run(Session& session, const std::string& from_directory, const std::string& to_directory,
                            const CheckpointManifest& manifest) const {
  for (const CheckpointManifest::File& file : manifest.file()) {
    RETURN_IF_ERROR(CopyFile(session, JoinPath(from_directory, file.name()), JoinPath(to_directory, file.name()),
                             static_cast<int64_t>(file.size())));
  }
  return absl::OkStatus();
}

}  // namespace weir
