// Letters of all alphabets in lower and upper case.
#pragma once

#include <string>

namespace weir {

// In place; `text` is UTF-8. What is malformed becomes U+FFFD.
void LowerUtf8(std::string* text);
void UpperUtf8(std::string* text);

}  // namespace weir
