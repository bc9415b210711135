#include "kernels/strings/unicode_case.h"

#include <unicode/unistr.h>

namespace weir {
namespace {

void Store(const icu::UnicodeString& from, std::string* text) {
  text->clear();
  from.toUTF8String(*text);
}

}  // namespace

void LowerUtf8(std::string* text) { Store(icu::UnicodeString::fromUTF8(*text).toLower(), text); }
void UpperUtf8(std::string* text) { Store(icu::UnicodeString::fromUTF8(*text).toUpper(), text); }

}  // namespace weir
