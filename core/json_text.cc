#include "core/json_text.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace weir {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

// The length of the UTF-8 sequence at the start of `text`, which is not empty; 0 if it is not valid: cut short, longer
// than necessary, a surrogate, or beyond U+10FFFF.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

void AppendEscaped(char c, std::string* out) {
  switch (c) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
        absl::StrAppendFormat(out, "\\u%04x", static_cast<uint8_t>(c));
      } else {
        *out += c;
      }
  }
}

}  // namespace

void AppendJsonString(absl::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 1) {
      AppendEscaped(text[0], out);
    } else if (length == 0) {
      *out += kReplacement;
    } else {
      out->append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *out += '"';
}

}  // namespace weir
