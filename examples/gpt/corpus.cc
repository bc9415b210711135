#include "examples/gpt/corpus.h"

#include <algorithm>
#include <random>

#include "weir/core/files/file_system.h"

namespace weir::gpt {

absl::StatusOr<Corpus> Corpus::Load(const std::string& path) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  Corpus corpus;
  ASSIGN_OR_RETURN(corpus.text_, ReadFileToString(files.get(), path));
  int line = 1;
  for (char c : corpus.text_) {
    if ((c & 0x80) != 0) return errors::DataLoss(path, ":", line, " has a byte that is not ASCII");
    line += c == '\n';
  }
  return corpus;
}

Batch Corpus::BatchOf(int64_t step, int batch, int context) const {
  std::mt19937 random(static_cast<uint32_t>(step + 1));
  const TensorShape shape({batch, context});
  Batch result{Tensor(DT_INT32, shape), Tensor(DT_INT32, shape)};
  for (int row = 0; row < batch; ++row) {
    // The standard library's distributions differ between implementations.
    const size_t begin = random() % (text_.size() - context);
    std::copy_n(text_.begin() + begin, context, result.tokens.data<int32_t>() + row * context);
    std::copy_n(text_.begin() + begin + 1, context, result.labels.data<int32_t>() + row * context);
  }
  return result;
}

}  // namespace weir::gpt
