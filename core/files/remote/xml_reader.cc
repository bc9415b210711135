#include "core/files/remote/xml_reader.h"

#include <expat.h>

#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace weir {
namespace {

constexpr size_t kMaxXmlDepth = 32;

// Builds elements from the calls of expat's parser.
class XmlBuilder {
 public:
  XmlBuilder() : parser_(XML_ParserCreate(nullptr)) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(), [](void* self, const char* name, const char**) { static_cast<XmlBuilder*>(self)->Begin(name); },
        [](void* self, const char*) { static_cast<XmlBuilder*>(self)->End(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const char* text, int size) {
      static_cast<XmlBuilder*>(self)->open_.back()->text.append(text, size);
    });
    // Entities that a document defines can make it grow without bound.
    XML_SetStartDoctypeDeclHandler(parser_.get(), [](void* self, const char*, const char*, const char*, int) {
      static_cast<XmlBuilder*>(self)->Stop("it has a DOCTYPE");
    });
  }

  absl::StatusOr<XmlElement> Build(absl::string_view text) {
    if (XML_Parse(parser_.get(), text.data(), static_cast<int>(text.size()), /*isFinal=*/1) == XML_STATUS_OK) {
      return std::move(root_.children[0]);
    }
    return errors::DataLoss("not an XML document that an object store sends, at byte ",
                            static_cast<int64_t>(XML_GetCurrentByteIndex(parser_.get())), ": ",
                            stopped_ != nullptr ? stopped_ : XML_ErrorString(XML_GetErrorCode(parser_.get())));
  }

 private:
  void Stop(const char* reason) {
    stopped_ = reason;
    XML_StopParser(parser_.get(), XML_FALSE);
  }
  void Begin(absl::string_view name) {
    if (open_.size() > kMaxXmlDepth) return Stop("too many levels");
    XmlElement& element = open_.back()->children.emplace_back();
    element.name = std::string(name.substr(name.rfind(':') + 1));
    open_.push_back(&element);  // stays there: an element gets no sibling while it is open
  }

  void End() {
    if (stopped_ == nullptr) open_.pop_back();  // a stopped parser may call once more
  }

  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  XmlElement root_;  // around the document's
  std::vector<XmlElement*> open_ = {&root_};
  const char* stopped_ = nullptr;
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

absl::StatusOr<XmlElement> ParseXml(absl::string_view text) {
  return XmlBuilder().Build(absl::StripLeadingAsciiWhitespace(text));
}

std::string XmlEscaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

}  // namespace weir
