#include "core/tensor/types.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/tensor/numeric_types.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"

namespace weir {
namespace {

enum Kind : uint8_t { kFloating, kComplex, kSigned, kUnsigned, kQuantized, kOther, kObject };

struct TypeInfo {
  DataType type;
  const char* name;
  size_t size;
  Kind kind;
};

constexpr TypeInfo kTypes[] = {
    {DT_FLOAT, "float", 4, kFloating},
    {DT_DOUBLE, "double", 8, kFloating},
    {DT_INT32, "int32", 4, kSigned},
    {DT_UINT8, "uint8", 1, kUnsigned},
    {DT_INT16, "int16", 2, kSigned},
    {DT_INT8, "int8", 1, kSigned},
    {DT_STRING, "string", sizeof(tstring), kObject},
    {DT_COMPLEX64, "complex64", 8, kComplex},
    {DT_INT64, "int64", 8, kSigned},
    {DT_BOOL, "bool", 1, kOther},
    {DT_QINT8, "qint8", 1, kQuantized},
    {DT_QUINT8, "quint8", 1, kQuantized},
    {DT_QINT32, "qint32", 4, kQuantized},
    {DT_BFLOAT16, "bfloat16", 2, kFloating},
    {DT_QINT16, "qint16", 2, kQuantized},
    {DT_QUINT16, "quint16", 2, kQuantized},
    {DT_UINT16, "uint16", 2, kUnsigned},
    {DT_COMPLEX128, "complex128", 16, kComplex},
    {DT_HALF, "half", 2, kFloating},
    {DT_RESOURCE, "resource", sizeof(ResourceHandle), kObject},
    {DT_VARIANT, "variant", sizeof(Variant), kObject},
    {DT_UINT32, "uint32", 4, kUnsigned},
    {DT_UINT64, "uint64", 8, kUnsigned},
    {DT_FLOAT8_E5M2, "float8_e5m2", 1, kFloating},
    {DT_FLOAT8_E4M3FN, "float8_e4m3fn", 1, kFloating},
    {DT_INT4, "int4", 1, kSigned},
    {DT_UINT4, "uint4", 1, kUnsigned},
};

constexpr int kTableSize = 32;

constexpr std::array<const TypeInfo*, kTableSize> MakeTable() {
  std::array<const TypeInfo*, kTableSize> table{};
  for (const TypeInfo& info : kTypes) table[info.type] = &info;
  return table;
}
constexpr std::array<const TypeInfo*, kTableSize> kTable = MakeTable();

const TypeInfo* Find(DataType type) { return type >= 0 && type < kTableSize ? kTable[type] : nullptr; }

bool HasKind(DataType type, Kind kind) {
  const TypeInfo* info = Find(type);
  return info != nullptr && info->kind == kind;
}

}  // namespace

std::string DataTypeName(DataType type) {
  if (IsRefType(type)) return absl::StrCat(DataTypeName(RemoveRef(type)), "_ref");
  if (type == DT_INVALID) return "invalid";
  const TypeInfo* info = Find(type);
  return info ? info->name : absl::StrCat("unknown dtype enum (", static_cast<int>(type), ")");
}

std::string DataTypeListName(absl::Span<const DataType> types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DataType type) { absl::StrAppend(out, DataTypeName(type)); });
}

std::optional<DataType> ParseDataType(absl::string_view name) {
  std::string lower;
  if (absl::ConsumePrefix(&name, "DT_")) {
    lower = absl::AsciiStrToLower(name);
    name = lower;
  }
  bool ref = absl::ConsumeSuffix(&name, "_ref");
  if (name == "float32") name = "float";
  if (name == "float64") name = "double";
  if (name == "float16") name = "half";
  for (const TypeInfo& info : kTypes) {
    if (name == info.name) return ref ? MakeRef(info.type) : info.type;
  }
  return std::nullopt;
}

size_t DataTypeSize(DataType type) {
  const TypeInfo* info = Find(RemoveRef(type));
  return info ? info->size : 0;
}

bool IsValidDataType(DataType type) { return Find(type) != nullptr; }
bool IsPlainType(DataType type) { return IsValidDataType(type) && !HasKind(type, kObject); }
bool IsFloating(DataType type) { return HasKind(type, kFloating); }
bool IsComplex(DataType type) { return HasKind(type, kComplex); }
bool IsInteger(DataType type) { return HasKind(type, kSigned) || HasKind(type, kUnsigned); }
bool IsQuantized(DataType type) { return HasKind(type, kQuantized); }
bool IsAlwaysOnHost(DataType type) { return type == DT_STRING || type == DT_RESOURCE; }
bool StaysOnHostInVariants(DataType type) { return IsAlwaysOnHost(type) || type == DT_INT32; }

}  // namespace weir
