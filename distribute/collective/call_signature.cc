#include "distribute/collective/call_signature.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir {

std::string CallSignature::ToString() const { return absl::StrCat(collective, "|", DataTypeName(dtype), "|", shape); }

absl::StatusOr<CallSignature> CallSignature::Parse(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '|');
  const auto dtype = parts.size() == 3 ? ParseDataType(parts[1]) : std::nullopt;
  if (!dtype) return errors::InvalidArgument("Not the signature of a collective: '", text, "'");
  return CallSignature{std::string(parts[0]), *dtype, std::string(parts[2])};
}

absl::Status SignatureMismatch(int64_t instance, absl::string_view member, const CallSignature& signature,
                               absl::string_view other_member, const CallSignature& other) {
  if (signature.collective != other.collective || signature.dtype != other.dtype) {
    return errors::Internal("Collective instance ", instance, " expected type ", signature.collective,
                            " and data_type ", DataTypeName(signature.dtype), " at ", member, " but got type ",
                            other.collective, " and data_type ", DataTypeName(other.dtype), " at ", other_member);
  }
  return errors::InvalidArgument("Shape mismatch in the collective instance ", instance, ". Op at device ", member,
                                 " expected shape ", signature.shape,
                                 " but another member in the group expected shape ", other.shape, " (", other_member,
                                 "). This is likely due to different input shapes at different members of the "
                                 "collective op.");
}

}  // namespace weir
