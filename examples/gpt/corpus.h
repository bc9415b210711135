// A text for predicting each byte from the preceding ones.
#pragma once

#include <string>

#include "weir/core/status.h"
#include "weir/core/tensor/tensor.h"

namespace weir::gpt {

inline constexpr int kVocabulary = 128;  // ASCII

struct Batch {
  Tensor tokens, labels;  // int32 [batch, context]; a label is the byte after its token
};

class Corpus {
 public:
  // DataLoss names the line with a byte that is not ASCII.
  static absl::StatusOr<Corpus> Load(const std::string& path);
  // Windows at positions that depend only on the step: the same for every form of parallelism. The text is longer than
  // `context`.
  Batch BatchOf(int64_t step, int batch, int context) const;
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

}  // namespace weir::gpt
