#include "distribute/collective/buffer_key.h"

#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

constexpr char kVersion[] = "weir2";

}  // namespace

std::string BufferKey::ToString() const {
  return absl::StrJoin(std::tuple(kVersion, instance.group, instance.formation, instance.instance, instance.execution,
                                  message.from, message.to, message.tag.lane, message.tag.round, signature.ToString()),
                       "|");
}

absl::StatusOr<BufferKey> BufferKey::Parse(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('|', 9));
  BufferKey key;
  const bool is_good =
      parts.size() == 10 && parts[0] == kVersion && absl::SimpleAtoi(parts[1], &key.instance.group) &&
      absl::SimpleAtoi(parts[2], &key.instance.formation) && absl::SimpleAtoi(parts[3], &key.instance.instance) &&
      absl::SimpleAtoi(parts[5], &key.message.from) && absl::SimpleAtoi(parts[6], &key.message.to) &&
      absl::SimpleAtoi(parts[7], &key.message.tag.lane) && absl::SimpleAtoi(parts[8], &key.message.tag.round);
  if (!is_good) return errors::InvalidArgument("RecvBuf: not a key of Weir's collectives: '", text, "'");
  key.instance.execution = std::string(parts[4]);
  ASSIGN_OR_RETURN(key.signature, CallSignature::Parse(parts[9]));
  return key;
}

}  // namespace weir
