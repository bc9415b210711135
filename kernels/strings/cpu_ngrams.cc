// Runs of neighbouring words, joined.
#include <algorithm>

#include "core/tensor/index_tensor.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

// data, data_splits: the n-grams of each row, width by width.
class StringNGramsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("separator", &separator_));
    RETURN_IF_ERROR(ctx.GetAttr("ngram_widths", &widths_));
    RETURN_IF_ERROR(ctx.GetAttr("left_pad", &left_));
    RETURN_IF_ERROR(ctx.GetAttr("right_pad", &right_));
    RETURN_IF_ERROR(ctx.GetAttr("pad_width", &padding_));
    RETURN_IF_ERROR(ctx.GetAttr("preserve_short_sequences", &keep_short_));
    for (int64_t width : widths_) {
      if (width <= 0) return errors::InvalidArgument("ngram_widths must contain positive values");
      if (width > INT32_MAX) return errors::InvalidArgument("ngram width ", width, " is too large");
    }
    if (padding_ > INT32_MAX) return errors::InvalidArgument("pad_width ", padding_, " is too large");
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &data = ctx.input(0), &splits_tensor = ctx.input(1);
    if (data.dims() != 1 || splits_tensor.dims() != 1) {
      return errors::InvalidArgument("data and data_splits must be vectors, got shapes ", data.shape().ToString(),
                                     " and ", splits_tensor.shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector splits, ReadIntegers(splits_tensor));
    RETURN_IF_ERROR(CheckSplits(splits, data.NumElements()));
    if (splits.empty()) {  // as many empty strings as there are words
      RETURN_IF_ERROR(ctx.allocate_output(0, data.shape()).status());
      ctx.set_output(1, splits_tensor);
      return absl::OkStatus();
    }
    DimVector out_splits(splits.size(), 0);
    std::vector<tstring> ngrams;
    int64_t budget = kMostBytes;
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      const absl::Span<const tstring> words = data.flat<tstring>().subspan(splits[row], splits[row + 1] - splits[row]);
      RETURN_IF_ERROR(AddRow(words, &ngrams, &budget));
      out_splits[row + 1] = ngrams.size();
    }
    ctx.set_output(0, Tensor::Vector<tstring>(ngrams));
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(1, splits_tensor.shape()));
    return WriteIntegers(out_splits, out);
  }

 private:
  // A few small inputs with a wide padding would otherwise fill the memory.
  static constexpr int64_t kMostBytes = int64_t{1} << 28;

  static absl::Status CheckSplits(const DimVector& splits, int64_t words) {
    if (splits.empty()) return absl::OkStatus();
    if (splits[0] != 0) return errors::InvalidArgument("First split value must be 0, got ", splits[0]);
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1] || splits[i] > words) {
        return errors::InvalidArgument("Invalid split value ", splits[i], ", must be in [", splits[i - 1], ", ", words,
                                       "]");
      }
    }
    if (splits.back() != words) {
      return errors::InvalidArgument("Last split value must be data size. Expected ", words, ", got ", splits.back());
    }
    return absl::OkStatus();
  }

  int64_t PaddingFor(int64_t width) const { return padding_ < 0 ? width - 1 : std::min(padding_, width - 1); }

  absl::Status AddRow(absl::Span<const tstring> words, std::vector<tstring>* ngrams, int64_t* budget) const {
    const int64_t length = words.size();
    bool added = false;
    for (int64_t width : widths_) {
      const int64_t count = std::max<int64_t>(0, length + 2 * PaddingFor(width) - width + 1);
      for (int64_t i = 0; i < count; ++i) RETURN_IF_ERROR(Add(words, i, count, width, ngrams, budget));
      added = added || count > 0;
    }
    if (added || !keep_short_ || length == 0) return absl::OkStatus();
    if (padding_ < 0) {
      return errors::InvalidArgument(
          "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not provided, got ",
          padding_);
    }
    return Add(words, 0, 1, length + 2 * padding_, ngrams, budget);
  }

  // The i-th of `count` n-grams of that width.
  absl::Status Add(absl::Span<const tstring> words, int64_t i, int64_t count, int64_t width,
                   std::vector<tstring>* ngrams, int64_t* budget) const {
    const int64_t padding = PaddingFor(width);
    const int64_t left = std::max<int64_t>(0, padding - i), right = std::max<int64_t>(0, padding - (count - i - 1));
    const int64_t taken = std::max<int64_t>(0, width - left - right), first = left > 0 ? 0 : i - padding;
    *budget -= 64 + left * static_cast<int64_t>(left_.size() + separator_.size()) +
               right * static_cast<int64_t>(right_.size() + separator_.size());
    if (*budget < 0) return errors::ResourceExhausted("The n-grams would take more than ", kMostBytes, " bytes");
    tstring& text = ngrams->emplace_back();
    bool empty = true;
    const auto append = [&](const std::string& part) {
      if (!std::exchange(empty, false)) text += separator_;
      text += part;
    };
    for (int64_t j = 0; j < left; ++j) append(left_);
    for (int64_t j = 0; j < taken; ++j) append(words[first + j]);
    for (int64_t j = 0; j < right; ++j) append(right_);
    *budget -= text.size();
    return absl::OkStatus();
  }

  std::string separator_, left_, right_;
  std::vector<int64_t> widths_;
  int64_t padding_ = 0;
  bool keep_short_ = false;
};

}  // namespace

absl::Status RegisterNGramsKernels(KernelRegistry& kernels) {
  return kernels.Register<StringNGramsKernel>(Kernel("StringNGrams").Cpu());
}

}  // namespace weir
