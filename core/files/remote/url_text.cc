#include "core/files/remote/url_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace weir {

std::string RedactedUrl(absl::string_view url) {
  std::string text(url.substr(0, url.find_first_of("?#")));
  if (text.size() < url.size()) text += url[text.size()] == '?' ? "?..." : "#...";
  const size_t host = text.find("://");
  if (host == std::string::npos) return text;
  const size_t at = text.find_last_of('@', text.find('/', host + 3));
  if (at != std::string::npos && at > host) text.erase(host + 3, at + 1 - (host + 3));
  return text;
}

std::string PercentEncoded(absl::string_view text, bool keep_slashes) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const unsigned char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains("-._~", static_cast<char>(c)) || (c == '/' && keep_slashes)) {
      encoded += static_cast<char>(c);
    } else {
      encoded += {'%', kHex[c >> 4], kHex[c & 15]};
    }
  }
  return encoded;
}

std::string PercentDecoded(absl::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t code = 0;
    const absl::string_view digits = text.substr(i + 1, 2);
    if (text[i] == '%' && digits.size() == 2 && absl::SimpleHexAtoi(digits, &code)) {
      decoded += static_cast<char>(code);
      i += 2;
    } else {
      decoded += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return decoded;
}

absl::Status CheckRemotePath(absl::string_view path) {
  constexpr size_t kMaxPath = 8192;
  if (path.size() > kMaxPath) return errors::InvalidArgument("A URL of ", path.size(), " bytes is too long");
  for (const unsigned char c : path) {
    if (c < 0x20 || c == 0x7f) {
      return errors::InvalidArgument(absl::CEscape(RedactedUrl(path)), "; a URL cannot contain control characters");
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
