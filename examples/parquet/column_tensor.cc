#include "parquet/column_tensor.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "arrow/array.h"
#include "arrow/type.h"
#include "arrow/util/checked_cast.h"

namespace table_files {
namespace {

using arrow::internal::checked_cast;
using weir::DataType;
using weir::Tensor;
using weir::tstring;

// Of the elements of one column.
struct ColumnType {
  DataType dtype = weir::DT_INVALID;
  int64_t width = 1;  // elements in a row
  bool is_list = false;
};

std::optional<ColumnType> TypeOf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return ColumnType{weir::DT_BOOL};
    case arrow::Type::INT8:
      return ColumnType{weir::DT_INT8};
    case arrow::Type::INT16:
      return ColumnType{weir::DT_INT16};
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return ColumnType{weir::DT_INT32};
    case arrow::Type::INT64:
    case arrow::Type::DATE64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return ColumnType{weir::DT_INT64};
    case arrow::Type::UINT8:
      return ColumnType{weir::DT_UINT8};
    case arrow::Type::UINT16:
      return ColumnType{weir::DT_UINT16};
    case arrow::Type::UINT32:
      return ColumnType{weir::DT_UINT32};
    case arrow::Type::UINT64:
      return ColumnType{weir::DT_UINT64};
    case arrow::Type::HALF_FLOAT:
      return ColumnType{weir::DT_HALF};
    case arrow::Type::FLOAT:
      return ColumnType{weir::DT_FLOAT};
    case arrow::Type::DOUBLE:
      return ColumnType{weir::DT_DOUBLE};
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::FIXED_SIZE_BINARY:
      return ColumnType{weir::DT_STRING};
    case arrow::Type::DICTIONARY:
      return TypeOf(*checked_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = checked_cast<const arrow::FixedSizeListType&>(type);
      std::optional<ColumnType> element = TypeOf(*list.value_type());
      if (!element.has_value() || element->is_list) return std::nullopt;
      return ColumnType{element->dtype, list.list_size(), true};
    }
    default:
      return std::nullopt;
  }
}

template <typename A>
void CopyTexts(const arrow::Array& array, tstring* to) {
  const A& texts = checked_cast<const A&>(array);
  for (int64_t i = 0; i < texts.length(); ++i) {
    const auto text = texts.GetView(i);
    *to++ = tstring(absl::string_view(text.data(), text.size()));
  }
}

// Copies all elements of `array`, which has no nulls, to the tensor from element `at` on.
void CopyElements(const arrow::Array& array, Tensor* tensor, int64_t at) {
  switch (array.type_id()) {
    case arrow::Type::BOOL: {
      const auto& bools = checked_cast<const arrow::BooleanArray&>(array);
      for (int64_t i = 0; i < bools.length(); ++i) tensor->data<bool>()[at + i] = bools.Value(i);
      return;
    }
    case arrow::Type::STRING:
      return CopyTexts<arrow::StringArray>(array, tensor->data<tstring>() + at);
    case arrow::Type::BINARY:
      return CopyTexts<arrow::BinaryArray>(array, tensor->data<tstring>() + at);
    case arrow::Type::LARGE_STRING:
      return CopyTexts<arrow::LargeStringArray>(array, tensor->data<tstring>() + at);
    case arrow::Type::LARGE_BINARY:
      return CopyTexts<arrow::LargeBinaryArray>(array, tensor->data<tstring>() + at);
    case arrow::Type::FIXED_SIZE_BINARY:
      return CopyTexts<arrow::FixedSizeBinaryArray>(array, tensor->data<tstring>() + at);
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& lists = checked_cast<const arrow::FixedSizeListArray&>(array);
      const int64_t width = lists.value_length();
      return CopyElements(*lists.values()->Slice(lists.value_offset(0), lists.length() * width), tensor, at * width);
    }
    default: {  // plain elements of a fixed size
      const int64_t size = checked_cast<const arrow::FixedWidthType&>(*array.type()).bit_width() / 8;
      const uint8_t* const from = array.data()->GetValues<uint8_t>(1, 0) + array.offset() * size;
      std::memcpy(tensor->data<char>() + at * size, from, array.length() * size);
    }
  }
}

absl::Status Bad(const std::string& name, absl::string_view reason) {
  return weir::errors::InvalidArgument("Column ", name, ": ", reason);
}

bool HasNulls(const arrow::Array& array) {
  if (array.null_count() > 0) return true;
  if (array.type_id() != arrow::Type::FIXED_SIZE_LIST || array.length() == 0) return false;
  const auto& lists = checked_cast<const arrow::FixedSizeListArray&>(array);
  return lists.values()->Slice(lists.value_offset(0), lists.length() * lists.value_length())->null_count() > 0;
}

// The values that a dictionary's indices stand for.
absl::StatusOr<Tensor> Decoded(const std::string& name, const arrow::DictionaryArray& array, DataType dtype) {
  const arrow::Array& values = *array.dictionary();
  if (HasNulls(values)) return Bad(name, "its dictionary has nulls");
  ASSIGN_OR_RETURN(Tensor all, Tensor::Allocate(weir::CpuAllocator(), dtype, weir::TensorShape({values.length()})));
  CopyElements(values, &all, 0);
  ASSIGN_OR_RETURN(Tensor decoded, Tensor::Allocate(weir::CpuAllocator(), dtype, weir::TensorShape({array.length()})));
  const size_t size = dtype == weir::DT_STRING ? 0 : weir::DataTypeSize(dtype);
  for (int64_t i = 0; i < array.length(); ++i) {
    const int64_t index = array.GetValueIndex(i);
    if (index < 0 || index >= values.length()) return Bad(name, "an index is outside of its dictionary");
    if (dtype == weir::DT_STRING) {
      decoded.data<tstring>()[i] = all.data<tstring>()[index];
    } else {
      std::memcpy(decoded.data<char>() + i * size, all.data<char>() + index * size, size);
    }
  }
  return decoded;
}

absl::Status CopyChunk(const std::string& name, const arrow::Array& chunk, DataType dtype, Tensor* tensor, int64_t at) {
  if (chunk.length() == 0) return absl::OkStatus();
  if (HasNulls(chunk)) return Bad(name, "it has nulls, which a tensor cannot have: fill or drop them in the file");
  if (chunk.type_id() != arrow::Type::DICTIONARY) {
    CopyElements(chunk, tensor, at);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor decoded, Decoded(name, checked_cast<const arrow::DictionaryArray&>(chunk), dtype));
  if (dtype == weir::DT_STRING) {
    std::copy_n(decoded.data<tstring>(), chunk.length(), tensor->data<tstring>() + at);
  } else {
    const size_t size = weir::DataTypeSize(dtype);
    std::memcpy(tensor->data<char>() + at * size, decoded.data<char>(), chunk.length() * size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tensor> ColumnTensor(const std::string& name, const arrow::ChunkedArray& column, int64_t first,
                                    int64_t rows, DataType dtype) {
  const std::optional<ColumnType> type = TypeOf(*column.type());
  if (!type.has_value()) return Bad(name, absl::StrCat("values of type ", column.type()->ToString(), " are no tensor"));
  if (type->dtype != dtype) {
    return Bad(name, absl::StrCat("it is ", column.type()->ToString(), ", which is ", weir::DataTypeName(type->dtype),
                                  ", but output_types has ", weir::DataTypeName(dtype)));
  }
  weir::TensorShape shape({rows});
  if (type->is_list) shape = weir::TensorShape({rows, type->width});
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(weir::CpuAllocator(), dtype, shape));
  int64_t at = 0;
  const std::shared_ptr<arrow::ChunkedArray> slice = column.Slice(first, rows);
  for (const std::shared_ptr<arrow::Array>& chunk : slice->chunks()) {
    RETURN_IF_ERROR(CopyChunk(name, *chunk, dtype, &tensor, at));
    at += chunk->length();
  }
  return tensor;
}

}  // namespace table_files
