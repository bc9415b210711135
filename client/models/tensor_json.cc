#include "client/models/tensor_json.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/tensor/numeric_types.h"
#include "distribute/cluster/cluster_json.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr char kBase64[] = "b64";

std::string Shortened(const json& value) {
  constexpr size_t kLength = 40;
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= kLength ? text : text.substr(0, kLength) + "…";
}

absl::Status Mismatch(const json& value, DataType dtype) {
  return errors::InvalidArgument(Shortened(value), " is not a value of type ", DataTypeName(dtype));
}

absl::Status SetText(const json& value, tstring* element) {
  if (value.is_string()) {
    *element = value.get<std::string>();
    return absl::OkStatus();
  }
  if (value.is_object() && value.size() == 1 && value.contains(kBase64) && value[kBase64].is_string() &&
      absl::Base64Unescape(value[kBase64].get<std::string>(), element)) {
    return absl::OkStatus();
  }
  return Mismatch(value, DT_STRING);
}

absl::Status SetFloat(const json& value, DataType dtype, double* number) {
  if (value.is_number()) {
    *number = value.get<double>();
    return absl::OkStatus();
  }
  if (value == "NaN") {
    *number = std::numeric_limits<double>::quiet_NaN();
  } else if (value == "Infinity" || value == "-Infinity") {
    *number = value == "Infinity" ? HUGE_VAL : -HUGE_VAL;
  } else {
    return Mismatch(value, dtype);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status SetInteger(const json& value, T* element) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())) {
    *element = static_cast<T>(value.get<uint64_t>());
    return absl::OkStatus();
  }
  if (value.is_number_integer() && !value.is_number_unsigned() && std::is_signed_v<T> &&
      value.get<int64_t>() >= static_cast<int64_t>(std::numeric_limits<T>::min())) {
    *element = static_cast<T>(value.get<int64_t>());
    return absl::OkStatus();
  }
  return Mismatch(value, DataTypeOf<T>());
}

absl::Status SetElement(const json& value, int64_t i, Tensor* tensor) {
  switch (tensor->dtype()) {
#define WEIR_SET_INTEGER(T)       \
  case DataTypeTraits<T>::kValue: \
    return SetInteger(value, &tensor->data<T>()[i]);
    WEIR_FOR_INTEGERS(WEIR_SET_INTEGER)
#undef WEIR_SET_INTEGER
#define WEIR_SET_FLOAT(T)                                              \
  case DataTypeTraits<T>::kValue: {                                    \
    double number = 0;                                                 \
    RETURN_IF_ERROR(SetFloat(value, DataTypeOf<T>(), &number));        \
    tensor->data<T>()[i] = static_cast<T>(static_cast<float>(number)); \
    return absl::OkStatus();                                           \
  }
    WEIR_SET_FLOAT(float)
    WEIR_SET_FLOAT(half)
    WEIR_SET_FLOAT(bfloat16)
#undef WEIR_SET_FLOAT
    case DT_DOUBLE:
      return SetFloat(value, DT_DOUBLE, &tensor->data<double>()[i]);
    case DT_BOOL:
      if (!value.is_boolean()) return Mismatch(value, DT_BOOL);
      tensor->data<bool>()[i] = value.get<bool>();
      return absl::OkStatus();
    case DT_STRING:
      return SetText(value, &tensor->data<tstring>()[i]);
    default:
      return errors::Unimplemented("Values of type ", DataTypeName(tensor->dtype()), " cannot be read from JSON");
  }
}

// The shape of nested lists, by their first elements.
absl::StatusOr<TensorShape> ShapeOfLists(const json& value) {
  std::vector<int64_t> dims;
  for (const json* list = &value; list->is_array(); list = &list->front()) {
    dims.push_back(static_cast<int64_t>(list->size()));
    if (list->empty()) break;
  }
  return TensorShape::Build(dims);
}

absl::Status Fill(const json& value, int dim, int64_t* next, Tensor* tensor) {
  if (dim == tensor->dims()) return SetElement(value, (*next)++, tensor);
  if (!value.is_array() || static_cast<int64_t>(value.size()) != tensor->dim_size(dim)) {
    return errors::InvalidArgument(Shortened(value), " stands where other lists have ", tensor->dim_size(dim),
                                   " elements");
  }
  for (const json& element : value) RETURN_IF_ERROR(Fill(element, dim + 1, next, tensor));
  return absl::OkStatus();
}

template <typename T>
std::string FloatText(T value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char buffer[64];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Whether all characters are complete, as the JSON library demands.
bool IsUtf8(const std::string& text) {
  try {
    json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

std::string ElementText(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
#define WEIR_INTEGER_TEXT(T)      \
  case DataTypeTraits<T>::kValue: \
    return std::to_string(tensor.data<T>()[i]);
    WEIR_FOR_INTEGERS(WEIR_INTEGER_TEXT)
#undef WEIR_INTEGER_TEXT
    case DT_FLOAT:
      return FloatText(tensor.data<float>()[i]);
    case DT_DOUBLE:
      return FloatText(tensor.data<double>()[i]);
    case DT_HALF:
      return FloatText(static_cast<float>(tensor.data<half>()[i]));
    case DT_BFLOAT16:
      return FloatText(static_cast<float>(tensor.data<bfloat16>()[i]));
    case DT_BOOL:
      return tensor.data<bool>()[i] ? "true" : "false";
    default:
      return JsonString(tensor.data<tstring>()[i]);
  }
}

void Append(const Tensor& tensor, int dim, int64_t* next, std::string* out) {
  if (dim == tensor.dims()) {
    *out += ElementText(tensor, (*next)++);
    return;
  }
  *out += "[";
  for (int64_t i = 0; i < tensor.dim_size(dim); ++i) {
    if (i > 0) *out += ", ";
    Append(tensor, dim + 1, next, out);
  }
  *out += "]";
}

bool HasText(DataType dtype) {
  return dtype == DT_STRING || dtype == DT_BOOL || IsInteger(dtype) || dtype == DT_FLOAT || dtype == DT_DOUBLE ||
         dtype == DT_HALF || dtype == DT_BFLOAT16;
}

}  // namespace

absl::StatusOr<Tensor> TensorFromJson(absl::string_view text, DataType dtype) {
  ASSIGN_OR_RETURN(const json value, ParseJson(text, "The value"));
  ASSIGN_OR_RETURN(const TensorShape shape, ShapeOfLists(value));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(CpuAllocator(), dtype, shape));
  int64_t next = 0;
  RETURN_IF_ERROR(Fill(value, 0, &next, &tensor));
  return tensor;
}

absl::StatusOr<std::string> TensorToJson(const Tensor& tensor) {
  if (!HasText(tensor.dtype())) {
    return errors::Unimplemented("Values of type ", DataTypeName(tensor.dtype()), " cannot be written as JSON");
  }
  std::string text;
  int64_t next = 0;
  Append(tensor, 0, &next, &text);
  return text;
}

std::string JsonString(absl::string_view text) {
  const std::string value(text);
  if (IsUtf8(value)) return json(value).dump();
  return absl::StrCat("{\"", kBase64, "\": \"", absl::Base64Escape(value), "\"}");
}

}  // namespace weir
