// Values written into a template, nested in brackets as tf.print shows them.
#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/tensor/variant.h"
#include "kernels/device/number_text.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

std::string ElementText(const Tensor& tensor, int64_t i) {
  const DataType type = StoredAs(tensor.dtype());
  const char* const at = static_cast<const char*>(tensor.raw_data()) + i * static_cast<int64_t>(DataTypeSize(type));
  if (type == DT_STRING) return absl::StrCat("\"", absl::Utf8SafeCEscape(tensor.data<tstring>()[i]), "\"");
  if (type == DT_BOOL) return tensor.data<bool>()[i] ? "1" : "0";
  if (type == DT_DOUBLE) return NumberText(tensor.data<double>()[i]);
  if (type == DT_FLOAT) return NumberText(tensor.data<float>()[i]);
  if (type == DT_UINT64) return absl::StrCat(tensor.data<uint64_t>()[i]);
  if (type == DT_INT64) return absl::StrCat(tensor.data<int64_t>()[i]);
  if (type == DT_VARIANT) {
    const VariantValue* const value = tensor.data<Variant>()[i].value();
    return value == nullptr ? "<empty>" : value->DebugString();
  }
  if (IsInteger(type)) {
    if (const CastLoop cast = FindCast(type, DT_INT64)) {
      int64_t value;
      cast(at, &value, 1);
      return absl::StrCat(value);
    }
  }
  if (type == DT_HALF || type == DT_BFLOAT16) {
    float value;
    FindCast(type, DT_FLOAT)(at, &value, 1);
    return NumberText(value);
  }
  return "?";
}

// At most `ends` elements at both ends of each dimension. Inner dimensions stand on lines of their own.
void AppendNested(const Tensor& tensor, int dim, int64_t ends, int64_t first, std::string* text) {
  if (dim == tensor.dims()) {
    *text += ElementText(tensor, first);
    return;
  }
  int64_t step = 1;
  for (int d = dim + 1; d < tensor.dims(); ++d) step *= tensor.dim_size(d);
  const int64_t count = tensor.dim_size(dim);
  const auto separate = [&] {
    if (dim == tensor.dims() - 1) {
      text->push_back(' ');
    } else {
      text->append(tensor.dims() - dim - 1, '\n');
      text->append(dim + 1, ' ');
    }
  };
  text->push_back('[');
  for (int64_t i = 0; i < std::min(ends, count); ++i) {
    if (i > 0) separate();
    AppendNested(tensor, dim + 1, ends, first + i * step, text);
  }
  if (count - ends > ends) {
    separate();
    *text += "...";
  }
  for (int64_t i = std::max(ends, count - ends); i < count; ++i) {
    separate();
    AppendNested(tensor, dim + 1, ends, first + i * step, text);
  }
  text->push_back(']');
}

// `limit` below zero: everything.
std::string ValueText(const Tensor& tensor, int64_t limit) {
  const int64_t count = tensor.NumElements();
  if (!tensor.IsInitialized()) {
    return absl::StrCat("uninitialized Tensor of ", count, " elements of type ", DataTypeName(tensor.dtype()));
  }
  if (limit == 0 && tensor.dtype() == DT_BOOL) return "";
  if (limit == 0 && tensor.dims() == 0) return "...";
  std::string text;
  AppendNested(tensor, 0, limit < 0 ? count : std::min(limit, count), 0, &text);
  return text;
}

class StringFormatKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string pattern, placeholder;
    RETURN_IF_ERROR(ctx.GetAttr("template", &pattern));
    RETURN_IF_ERROR(ctx.GetAttr("placeholder", &placeholder));
    RETURN_IF_ERROR(ctx.GetAttr("summarize", &limit_));
    parts_ = absl::StrSplit(pattern, placeholder);
    const size_t inputs = ctx.input_types().size();
    if (parts_.size() == inputs + 1) return absl::OkStatus();
    return errors::InvalidArgument("num placeholders in template and num inputs must match: ", parts_.size() - 1,
                                   " vs. ", inputs);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    std::string text = parts_[0];
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      absl::StrAppend(&text, ValueText(ctx.input(i), limit_), parts_[i + 1]);
    }
    ctx.set_output(0, Tensor::Scalar<tstring>(std::move(text)));
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> parts_;
  int64_t limit_ = 0;
};

}  // namespace

absl::Status RegisterStringFormatKernels(KernelRegistry& kernels) {
  return kernels.Register<StringFormatKernel>(Kernel("StringFormat").Cpu());
}

}  // namespace weir
