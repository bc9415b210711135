// The properties of a call that its members must agree on.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "core/tensor/types.h"

namespace weir {

struct CallSignature {
  std::string collective;  // "all-reduce Add"; identifies the op
  DataType dtype = DT_INVALID;
  std::string shape;  // "[2,3]"

  friend bool operator==(const CallSignature&, const CallSignature&) = default;
  std::string ToString() const;
  // InvalidArgument unless ToString wrote it.
  static absl::StatusOr<CallSignature> Parse(absl::string_view text);
};

// Describes how two members of `instance` differ, in TensorFlow's words; the signatures are not equal.
absl::Status SignatureMismatch(int64_t instance, absl::string_view member, const CallSignature& signature,
                               absl::string_view other_member, const CallSignature& other);

}  // namespace weir
