// A text as bytes to be predicted from the bytes before them.
#pragma once

#include <string>

#include "core/status.h"
#include "core/tensor.h"

namespace weir::gpt {

inline constexpr int kVocabulary = 128;  // ASCII

struct Batch {
  Tensor tokens, labels;  // int32 [batch, context]; a label is the byte after its token
};

class Corpus {
 public:
  // DataLoss names the line of a byte that is not ASCII.
  static absl::StatusOr<Corpus> Load(const std::string& path);
  // Windows at places that follow from the step: the same for every way to train. The text is longer than `context`.
  Batch BatchOf(int64_t step, int batch, int context) const;
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

}  // namespace weir::gpt
