// Options to cast or compress a tensor between tasks.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// Of float elements; others travel as they are.
enum class WireCast : uint8_t { kNone, kHalf, kBfloat16 };
// Of blocks of bytes.
enum class WireCompression : uint8_t { kNone, kLz4, kSnappy };

// The attribute of a node that asks for them, in the text of WireOptions.
inline constexpr char kWireAttr[] = "_weir_wire";
// Of the encoding (core/wire/wire_tensor.h) that this build's ops use; see GetCapabilitiesResponse.wire_version.
inline constexpr int kWireVersion = 1;

struct WireOptions {
  WireCast cast = WireCast::kNone;
  WireCompression compression = WireCompression::kNone;

  friend bool operator==(const WireOptions&, const WireOptions&) = default;
  bool any() const { return cast != WireCast::kNone || compression != WireCompression::kNone; }
  // "bf16", "fp16", "lz4", "snappy", or one of the former, '+' and one of the latter; empty: nothing is asked for.
  // InvalidArgument for another text.
  static absl::StatusOr<WireOptions> Parse(absl::string_view text);
  std::string ToString() const;
};

}  // namespace weir
