// Options for the wire format of tensors between tasks.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// For float elements; others are sent unchanged.
enum class WireCast : uint8_t { kNone, kHalf, kBfloat16 };
// For blocks of bytes.
enum class WireCompression : uint8_t { kNone, kLz4, kSnappy };

// The node attribute that requests them, in WireOptions' text form.
inline constexpr char kWireAttr[] = "_weir_wire";
// In the DeviceAttributes.physical_device_desc of a CPU whose task has the encode and decode ops.
inline constexpr char kWireMark[] = "weir-wire-1";

struct WireOptions {
  WireCast cast = WireCast::kNone;
  WireCompression compression = WireCompression::kNone;

  friend bool operator==(const WireOptions&, const WireOptions&) = default;
  bool any() const { return cast != WireCast::kNone || compression != WireCompression::kNone; }
  // "bf16", "fp16", "lz4", "snappy", or a cast and a compression joined by '+'; empty for none. InvalidArgument
  // otherwise.
  static absl::StatusOr<WireOptions> Parse(absl::string_view text);
  std::string ToString() const;
};

}  // namespace weir
