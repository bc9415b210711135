// Tensor::DebugString.
#include <complex>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/tensor/numeric_types.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"

namespace weir {
namespace {

template <typename T>
std::string Print(const T& v) {
  return absl::StrCat(v);
}
std::string Print(bool v) { return v ? "true" : "false"; }
std::string Print(int8_t v) { return absl::StrCat(static_cast<int>(v)); }
std::string Print(uint8_t v) { return absl::StrCat(static_cast<int>(v)); }
std::string Print(half v) { return absl::StrCat(static_cast<float>(v)); }
std::string Print(bfloat16 v) { return absl::StrCat(static_cast<float>(v)); }
std::string Print(complex64 v) { return absl::StrCat("(", v.real(), ",", v.imag(), ")"); }
std::string Print(complex128 v) { return absl::StrCat("(", v.real(), ",", v.imag(), ")"); }
std::string Print(const tstring& v) { return absl::StrCat("\"", absl::CHexEscape(v), "\""); }
std::string Print(const ResourceHandle& v) { return v.ToString(); }
std::string Print(const Variant& v) { return v.empty() ? "<empty>" : v.value()->DebugString(); }
std::string Print(int4 v) { return Print(v.value); }
std::string Print(uint4 v) { return Print(v.value); }
std::string Print(qint8 v) { return Print(v.value); }
std::string Print(quint8 v) { return Print(v.value); }
std::string Print(qint16 v) { return Print(v.value); }
std::string Print(quint16 v) { return Print(v.value); }
std::string Print(qint32 v) { return Print(v.value); }
std::string Print(float8_e5m2 v) { return absl::StrCat("0x", absl::Hex(v.bits, absl::kZeroPad2)); }
std::string Print(float8_e4m3fn v) { return absl::StrCat("0x", absl::Hex(v.bits, absl::kZeroPad2)); }

std::string PrintElement(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
#define WEIR_CASE(T)    \
  case DataTypeOf<T>(): \
    return Print(t.data<T>()[i]);
    WEIR_FOR_NUMBERS(WEIR_CASE)
    WEIR_CASE(bool)
    WEIR_CASE(tstring)
    WEIR_CASE(ResourceHandle)
    WEIR_CASE(Variant)
    WEIR_CASE(int4)
    WEIR_CASE(uint4)
    WEIR_CASE(qint8)
    WEIR_CASE(quint8)
    WEIR_CASE(qint16)
    WEIR_CASE(quint16)
    WEIR_CASE(qint32)
    WEIR_CASE(float8_e5m2)
    WEIR_CASE(float8_e4m3fn)
#undef WEIR_CASE
    default:
      return "?";
  }
}

}  // namespace

std::string Tensor::DebugString(int max_entries) const {
  std::string out = absl::StrCat(DataTypeName(dtype_), shape_.ToString(), " ");
  if (!IsInitialized()) return absl::StrCat(out, "<uninitialized>");
  if (buffer_ != nullptr && buffer_->allocator() != nullptr && !buffer_->allocator()->IsHostMemory()) {
    return absl::StrCat(out, "<in ", buffer_->allocator()->name(), " memory>");
  }
  const int64_t shown = std::min<int64_t>(NumElements(), max_entries);
  absl::StrAppend(&out, "[");
  for (int64_t i = 0; i < shown; ++i) absl::StrAppend(&out, i == 0 ? "" : " ", PrintElement(*this, i));
  absl::StrAppend(&out, shown < NumElements() ? "...]" : "]");
  return out;
}

}  // namespace weir
