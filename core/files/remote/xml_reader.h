// The small XML documents that object stores send.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// An element without its attributes and comments.
struct XmlElement {
  std::string name;  // without a namespace's prefix
  std::string text;  // of this element alone
  std::vector<XmlElement> children;

  // The first child of that name; null if there is none.
  const XmlElement* Find(absl::string_view child) const;
  // Its text; empty if there is none.
  std::string Text(absl::string_view child) const;
};

// Whitespace before the document, which object stores send while they work, is skipped.
// DataLoss for what is no such document, for one with a DOCTYPE, and for more than 32 levels.
absl::StatusOr<XmlElement> ParseXml(absl::string_view text);
// '&', '<', '>' and quotes as entities.
std::string XmlEscaped(absl::string_view text);

}  // namespace weir
