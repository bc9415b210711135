#include "core/files/remote/xml_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

constexpr int kMaxXmlDepth = 32;

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  } else if (code < 0x10000) {
    *out += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
             static_cast<char>(0x80 | (code & 63))};
  } else {
    *out += {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
             static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
  }
}

class XmlParser {
 public:
  explicit XmlParser(absl::string_view text) : all_(text), rest_(text) {}

  absl::StatusOr<XmlElement> Document() {
    RETURN_IF_ERROR(SkipBetween());
    XmlElement root;
    RETURN_IF_ERROR(Element(0, &root));
    RETURN_IF_ERROR(SkipBetween());
    if (!rest_.empty()) return Error("there is text behind the document");
    return root;
  }

 private:
  absl::Status Error(absl::string_view reason) const {
    return errors::DataLoss("not an XML document that an object store sends, at byte ", all_.size() - rest_.size(),
                            ": ", reason);
  }

  absl::Status SkipUntil(absl::string_view end) {
    const size_t at = rest_.find(end);
    if (at == absl::string_view::npos) return Error(absl::StrCat("\"", end, "\" is missing"));
    rest_.remove_prefix(at + end.size());
    return absl::OkStatus();
  }

  // Spaces, comments and processing instructions.
  absl::Status SkipBetween() {
    for (;;) {
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      if (absl::StartsWith(rest_, "<?")) {
        RETURN_IF_ERROR(SkipUntil("?>"));
      } else if (absl::StartsWith(rest_, "<!--")) {
        RETURN_IF_ERROR(SkipUntil("-->"));
      } else {
        return absl::OkStatus();
      }
    }
  }

  static absl::string_view WithoutPrefix(absl::string_view name) { return name.substr(name.rfind(':') + 1); }

  absl::Status Element(int depth, XmlElement* element) {
    if (depth >= kMaxXmlDepth) return Error("too many levels");
    if (!absl::ConsumePrefix(&rest_, "<")) return Error("an element is missing");
    const size_t name_end = rest_.find_first_of(" \t\r\n/>");
    if (name_end == 0 || name_end == absl::string_view::npos || rest_[0] == '!') return Error("no name of an element");
    const absl::string_view name = rest_.substr(0, name_end);
    element->name = std::string(WithoutPrefix(name));
    const size_t tag_end = rest_.find('>');
    if (tag_end == absl::string_view::npos) return Error("\">\" is missing");
    const bool is_empty = rest_[tag_end - 1] == '/';
    rest_.remove_prefix(tag_end + 1);
    return is_empty ? absl::OkStatus() : Content(depth, name, element);
  }

  // Up to and with the end tag.
  absl::Status Content(int depth, absl::string_view name, XmlElement* element) {
    for (;;) {
      const size_t tag = rest_.find('<');
      if (tag == absl::string_view::npos) return Error(absl::StrCat("element ", name, " is not closed"));
      RETURN_IF_ERROR(Decode(rest_.substr(0, tag), &element->text));
      rest_.remove_prefix(tag);
      if (absl::ConsumePrefix(&rest_, "</")) {
        if (!absl::ConsumePrefix(&rest_, name)) return Error(absl::StrCat("element ", name, " is not closed"));
        return SkipUntil(">");
      }
      if (absl::StartsWith(rest_, "<!--")) {
        RETURN_IF_ERROR(SkipUntil("-->"));
      } else if (absl::ConsumePrefix(&rest_, "<![CDATA[")) {
        const absl::string_view from = rest_;
        RETURN_IF_ERROR(SkipUntil("]]>"));
        absl::StrAppend(&element->text, from.substr(0, from.size() - rest_.size() - 3));
      } else {
        RETURN_IF_ERROR(Element(depth + 1, &element->children.emplace_back()));
      }
    }
  }

  absl::Status Decode(absl::string_view text, std::string* out) const {
    static constexpr std::pair<absl::string_view, char> kNamed[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    while (!text.empty()) {
      const size_t ampersand = std::min(text.find('&'), text.size());
      absl::StrAppend(out, text.substr(0, ampersand));
      text.remove_prefix(ampersand);
      if (text.empty()) break;
      const size_t end = text.find(';');
      if (end == absl::string_view::npos) return Error("an entity is not closed");
      absl::string_view entity = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
      uint32_t code = 0;
      const size_t before = out->size();
      for (const auto& [name, character] : kNamed) {
        if (entity == name) *out += character;
      }
      if (out->size() > before) continue;
      const bool is_number = absl::ConsumePrefix(&entity, "#x")
                                 ? absl::SimpleHexAtoi(entity, &code)
                                 : absl::ConsumePrefix(&entity, "#") && absl::SimpleAtoi(entity, &code);
      if (!is_number || code > 0x10FFFF) return Error("an unknown entity");
      AppendUtf8(code, out);
    }
    return absl::OkStatus();
  }

  const absl::string_view all_;
  absl::string_view rest_;
};

}  // namespace

const XmlElement* XmlElement::Find(absl::string_view child) const {
  for (const XmlElement& element : children) {
    if (element.name == child) return &element;
  }
  return nullptr;
}

std::string XmlElement::Text(absl::string_view child) const {
  const XmlElement* const found = Find(child);
  return found == nullptr ? "" : found->text;
}

absl::StatusOr<XmlElement> ParseXml(absl::string_view text) { return XmlParser(text).Document(); }

std::string XmlEscaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

}  // namespace weir
