#include "distribute/transport/frames/frame_link.h"

#include <memory>
#include <utility>

namespace weir {

ReceivedBytes OwnedBytes(std::string bytes) {
  auto owned = std::make_unique<const std::string>(std::move(bytes));
  const absl::Span<const char> span(*owned);
  return ReceivedBytes(span, [owned = std::move(owned)] {});
}

grpc::Slice CopyOf(const ReceivedBytes& bytes) { return {bytes.bytes().data(), bytes.bytes().size()}; }

}  // namespace weir
