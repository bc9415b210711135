// Reads words, numbers and quoted strings of the graph's text form, with positions for errors.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir::graph_text {

// Skips blanks and comments (from '#' to the end of the line) between tokens.
class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text) { SkipBlanks(); }

  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool LooksAt(absl::string_view token) const { return text_.substr(at_, token.size()) == token; }
  bool Consume(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  // Letters, digits, and "_.-/>"; empty if there are none.
  absl::string_view Word();
  // A word, or a string in double quotes with C escapes.
  absl::StatusOr<std::string> Name();
  absl::StatusOr<std::string> Quoted();
  // The text between an opening brace and its closing one, ignoring braces in quotes.
  absl::StatusOr<absl::string_view> Braced();

  // InvalidArgument with line and column of the next token.
  absl::Status Error(absl::string_view what) const;

 private:
  void SkipBlanks();

  absl::string_view text_;
  size_t at_ = 0;
};

// `name` in the form that Scanner::Name reads.
std::string PrintName(absl::string_view name);
std::string PrintQuoted(absl::string_view bytes);

}  // namespace weir::graph_text
