// The key of a RecvBuf request.
#pragma once

#include <string>

#include "core/status.h"
#include "distribute/collective/call_signature.h"
#include "distribute/collective/message_exchange.h"

namespace weir {

// Identifies a collective of a step.
struct InstanceKey {
  int32_t group = 0;
  uint64_t formation = 0;  // of the group
  int32_t instance = 0;
  std::string execution;  // of a loop; has no '|'
  friend bool operator==(const InstanceKey&, const InstanceKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const InstanceKey& k) {
    return H::combine(std::move(h), k.group, k.formation, k.instance, k.execution);
  }
};

struct BufferKey {
  InstanceKey instance;
  MessageExchange::Key message;
  CallSignature signature;  // of the receiver's call

  std::string ToString() const;
  // InvalidArgument, which quotes the text, unless ToString wrote it.
  static absl::StatusOr<BufferKey> Parse(absl::string_view text);
};

}  // namespace weir
