#include "client/strategy/communication_options.h"

#include "core/wire/wire_options.h"

namespace weir {

absl::Status CheckCommunication(absl::string_view strategy, const CommunicationOptions& options) {
  if (options.bytes_per_pack < -1) {
    return errors::InvalidArgument(strategy, ": bytes_per_pack cannot be ", options.bytes_per_pack,
                                   " (0: chosen here; -1: gradients are not packed)");
  }
  if (!(options.timeout_seconds >= 0)) {
    return errors::InvalidArgument(strategy, ": timeout_seconds cannot be ", options.timeout_seconds);
  }
  return Annotate(WireOptions::Parse(options.wire).status(), absl::StrCat(strategy, ": wire"));
}

}  // namespace weir
