#include "kernels/device/summarize.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/device/number_text.h"
#include "kernels/elementwise/cast/cpu_cast.h"

namespace weir {
namespace {

std::string ElementText(const Tensor& tensor, int64_t i) {
  const char* at = static_cast<const char*>(tensor.raw_data()) + i * static_cast<int64_t>(DataTypeSize(tensor.dtype()));
  switch (tensor.dtype()) {
    case DT_STRING:
      return absl::CEscape(absl::string_view(tensor.data<tstring>()[i]));
    case DT_BOOL:
      return tensor.data<bool>()[i] ? "1" : "0";
    case DT_DOUBLE:
      return NumberText(tensor.data<double>()[i]);
    case DT_UINT64:
      return absl::StrCat(tensor.data<uint64_t>()[i]);
    default:
      break;
  }
  if (IsInteger(tensor.dtype())) {
    int64_t value = tensor.dtype() == DT_INT64 ? tensor.data<int64_t>()[i] : 0;
    if (tensor.dtype() != DT_INT64) FindCast(tensor.dtype(), DT_INT64)(at, &value, 1);
    return absl::StrCat(value);
  }
  if (IsComplex(tensor.dtype())) return "?";
  if (const CastLoop cast = FindCast(tensor.dtype(), DT_FLOAT)) {
    float value;
    cast(at, &value, 1);
    return NumberText(value);
  }
  return tensor.dtype() == DT_FLOAT ? NumberText(tensor.data<float>()[i]) : "?";
}

// Elements from *next on, nested in brackets below the outermost dimension.
void Append(const Tensor& tensor, int dim, int64_t limit, int64_t* next, std::string* text) {
  if (*next >= limit) return;
  const int64_t n = tensor.dim_size(dim);
  if (dim == tensor.dims() - 1) {
    for (int64_t i = 0; i < n && *next < limit; ++i)
      absl::StrAppend(text, i > 0 ? " " : "", ElementText(tensor, (*next)++));
    if (dim > 0 && *next % n != 0) *text += "...";  // within a row
    return;
  }
  for (int64_t i = 0; i < n && *next < limit; ++i) {
    text->push_back('[');
    Append(tensor, dim + 1, limit, next, text);
    text->push_back(']');
  }
}

}  // namespace

std::string Summarize(const Tensor& tensor, int64_t entries) {
  if (!tensor.IsInitialized()) return "uninitialized";
  const int64_t n = tensor.NumElements(), limit = entries < 0 ? n : std::min(entries, n);
  if (n == 0) return "";
  if (tensor.dims() == 0) return ElementText(tensor, 0);
  std::string text;
  int64_t next = 0;
  Append(tensor, 0, limit, &next, &text);
  if (limit < n) text += "...";
  return text;
}

}  // namespace weir
