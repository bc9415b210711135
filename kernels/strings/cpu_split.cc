// Strings divided into words: a sparse matrix with a row for each string.
#include <algorithm>

#include "absl/strings/ascii.h"

#include "kernels/strings/family.h"

namespace weir {
namespace {

using Words = std::vector<absl::string_view>;

absl::Status EmitWords(OpKernelContext& ctx, const std::vector<Words>& rows) {
  int64_t entries = 0, longest = 0;
  for (const Words& words : rows) {
    entries += words.size();
    longest = std::max<int64_t>(longest, words.size());
  }
  ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, 2})));
  ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(1, TensorShape({entries})));
  int64_t* index = indices->data<int64_t>();
  tstring* value = values->data<tstring>();
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < rows[row].size(); ++i) {
      *index++ = row;
      *index++ = i;
      *value++ = std::string(rows[row][i]);
    }
  }
  ctx.set_output(2, Tensor::Vector<int64_t>({static_cast<int64_t>(rows.size()), longest}));
  return absl::OkStatus();
}

absl::Status CheckInputs(const OpKernelContext& ctx, absl::string_view separator) {
  if (ctx.input(0).dims() != 1) {
    return errors::InvalidArgument("input must be a vector, got shape: ", ctx.input(0).shape().ToString());
  }
  if (ctx.input(1).dims() != 0) {
    return errors::InvalidArgument(separator, " must be a scalar, got shape: ", ctx.input(1).shape().ToString());
  }
  return absl::OkStatus();
}

// Between any two delimiters; without any, between all bytes. An empty string has no words.
Words SplitAtAny(absl::string_view text, absl::string_view delimiters, bool skip_empty) {
  Words words;
  if (text.empty()) return words;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) words.push_back(text.substr(i, 1));
    return words;
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.size(), text.find_first_of(delimiters, begin));
    if (end > begin || !skip_empty) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

class StringSplitKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("skip_empty", &skip_empty_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckInputs(ctx, "delimiter"));
    std::vector<Words> rows;
    for (const tstring& text : ctx.input(0).flat<tstring>()) {
      rows.push_back(SplitAtAny(text, ctx.input(1).scalar<tstring>(), skip_empty_));
    }
    return EmitWords(ctx, rows);
  }

 private:
  bool skip_empty_ = true;
};

// Python's split(): without a separator at any white space. `most` cuts, where positive; the rest is the last word.
Words SplitAtSpace(absl::string_view text, int64_t most) {
  Words words;
  const auto skip = [&text] { text = absl::StripLeadingAsciiWhitespace(text); };
  for (skip(); !text.empty();) {
    const size_t length = std::find_if(text.begin(), text.end(), absl::ascii_isspace) - text.begin();
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
    skip();
    if (most > 0 && static_cast<int64_t>(words.size()) == most) {
      words.push_back(text);
      break;
    }
  }
  return words;
}

Words SplitAt(absl::string_view text, absl::string_view separator, int64_t most) {
  if (most == 0) return {text};
  if (separator.empty()) return SplitAtSpace(text, most);
  Words words;
  for (size_t at; (most < 0 || static_cast<int64_t>(words.size()) < most) &&
                  (at = text.find(separator)) != absl::string_view::npos;) {
    words.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  words.push_back(text);
  return words;
}

class StringSplitV2Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("maxsplit", &most_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckInputs(ctx, "sep"));
    std::vector<Words> rows;
    for (const tstring& text : ctx.input(0).flat<tstring>()) {
      rows.push_back(SplitAt(text, ctx.input(1).scalar<tstring>(), most_));
    }
    return EmitWords(ctx, rows);
  }

 private:
  int64_t most_ = -1;
};

}  // namespace

absl::Status RegisterSplitKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<StringSplitKernel>(Kernel("StringSplit").Cpu()));
  return kernels.Register<StringSplitV2Kernel>(Kernel("StringSplitV2").Cpu());
}

}  // namespace weir
