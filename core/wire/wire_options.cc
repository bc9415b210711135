#include "core/wire/wire_options.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

constexpr char kHalfName[] = "fp16";
constexpr char kBfloat16Name[] = "bf16";
constexpr char kLz4Name[] = "lz4";
constexpr char kSnappyName[] = "snappy";

absl::string_view Name(WireCast cast) {
  switch (cast) {
    case WireCast::kNone:
      break;
    case WireCast::kHalf:
      return kHalfName;
    case WireCast::kBfloat16:
      return kBfloat16Name;
  }
  return "";
}

absl::string_view Name(WireCompression compression) {
  switch (compression) {
    case WireCompression::kNone:
      break;
    case WireCompression::kLz4:
      return kLz4Name;
    case WireCompression::kSnappy:
      return kSnappyName;
  }
  return "";
}

// False for unknown or repeated words.
bool Take(absl::string_view word, WireOptions* options) {
  if (word == kHalfName || word == kBfloat16Name) {
    if (options->any()) return false;
    options->cast = word == kHalfName ? WireCast::kHalf : WireCast::kBfloat16;
    return true;
  }
  if ((word != kLz4Name && word != kSnappyName) || options->compression != WireCompression::kNone) return false;
  options->compression = word == kLz4Name ? WireCompression::kLz4 : WireCompression::kSnappy;
  return true;
}

}  // namespace

absl::StatusOr<WireOptions> WireOptions::Parse(absl::string_view text) {
  WireOptions options;
  if (text.empty()) return options;
  for (const absl::string_view word : absl::StrSplit(text, '+')) {
    if (!Take(word, &options)) {
      return errors::InvalidArgument(
          "'", text,
          "' is not a wire option; expected bf16, fp16, lz4, snappy, or a cast and a compression "
          "joined by '+', such as bf16+lz4");
    }
  }
  return options;
}

std::string WireOptions::ToString() const {
  const absl::string_view first = Name(cast), second = Name(compression);
  return absl::StrCat(first, first.empty() || second.empty() ? "" : "+", second);
}

}  // namespace weir
