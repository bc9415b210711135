// Attributes as C++ values: the instantiations of GetNodeAttr and SetAttrValue.
#include <google/protobuf/repeated_ptr_field.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "core/op/attr_value.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::NameAttrList;

// Maps a C++ type to AttrValue: its attr type, the field's reader, its list's reader, and writers for both. Convert
// checks conversions.
template <typename V>
struct AttrField;

#define WEIR_ATTR_FIELD(V, attr_type, field)                                    \
  template <>                                                                   \
  struct AttrField<V> {                                                         \
    static constexpr char kType[] = attr_type;                                  \
    static decltype(auto) Get(const AttrValue& a) { return a.field(); }         \
    static const auto& GetList(const AttrValue& a) { return a.list().field(); } \
  };
WEIR_ATTR_FIELD(std::string, "string", s)
WEIR_ATTR_FIELD(int64_t, "int", i)
WEIR_ATTR_FIELD(int32_t, "int", i)
WEIR_ATTR_FIELD(float, "float", f)
WEIR_ATTR_FIELD(bool, "bool", b)
WEIR_ATTR_FIELD(DataType, "type", type)
WEIR_ATTR_FIELD(TensorShape, "shape", shape)
WEIR_ATTR_FIELD(PartialTensorShape, "shape", shape)
WEIR_ATTR_FIELD(Tensor, "tensor", tensor)
WEIR_ATTR_FIELD(NameAttrList, "func", func)
#undef WEIR_ATTR_FIELD

template <typename From, typename To>
absl::Status Convert(const From& from, To* to) {
  *to = from;
  return absl::OkStatus();
}
absl::Status Convert(int64_t from, int32_t* to) {
  if (from < std::numeric_limits<int32_t>::min() || from > std::numeric_limits<int32_t>::max()) {
    return errors::InvalidArgument("value ", from, " is out of range for an int32");
  }
  *to = static_cast<int32_t>(from);
  return absl::OkStatus();
}
absl::Status Convert(const int& from, DataType* to) {
  *to = static_cast<DataType>(from);
  return absl::OkStatus();
}
absl::Status Convert(const tensorflow::DataType& from, DataType* to) {
  *to = static_cast<DataType>(from);
  return absl::OkStatus();
}
absl::Status Convert(const tensorflow::TensorShapeProto& from, TensorShape* to) {
  ASSIGN_OR_RETURN(*to, TensorShape::FromProto(from));
  return absl::OkStatus();
}
absl::Status Convert(const tensorflow::TensorShapeProto& from, PartialTensorShape* to) {
  ASSIGN_OR_RETURN(*to, PartialTensorShape::FromProto(from));
  return absl::OkStatus();
}
absl::Status Convert(const tensorflow::TensorProto& from, Tensor* to) {
  ASSIGN_OR_RETURN(*to, TensorFromProto(from));
  return absl::OkStatus();
}

template <typename V>
struct Reader {
  static std::string Type() { return AttrField<V>::kType; }
  static absl::Status Read(const AttrValue& attr, V* value) { return Convert(AttrField<V>::Get(attr), value); }
};

template <typename Vector, typename V = typename Vector::value_type>
struct ListReader {
  static std::string Type() { return absl::StrCat("list(", AttrField<V>::kType, ")"); }
  static absl::Status Read(const AttrValue& attr, Vector* values) {
    values->clear();
    for (const auto& element : AttrField<V>::GetList(attr)) {
      V value{};
      RETURN_IF_ERROR(Convert(element, &value));
      values->push_back(std::move(value));
    }
    return absl::OkStatus();
  }
};
template <typename V>
struct Reader<std::vector<V>> : ListReader<std::vector<V>> {};
template <>
struct Reader<DataTypeVector> : ListReader<DataTypeVector> {};

void Write(absl::string_view v, AttrValue* out) { out->set_s(v.data(), v.size()); }
void Write(const std::string& v, AttrValue* out) { out->set_s(v); }
void Write(int64_t v, AttrValue* out) { out->set_i(v); }
void Write(int32_t v, AttrValue* out) { out->set_i(v); }
void Write(float v, AttrValue* out) { out->set_f(v); }
void Write(double v, AttrValue* out) { out->set_f(static_cast<float>(v)); }
void Write(bool v, AttrValue* out) { out->set_b(v); }
void Write(DataType v, AttrValue* out) { out->set_type(static_cast<tensorflow::DataType>(v)); }
void Write(tensorflow::DataType v, AttrValue* out) { out->set_type(v); }
void Write(const TensorShape& v, AttrValue* out) { v.ToProto(out->mutable_shape()); }
void Write(const PartialTensorShape& v, AttrValue* out) { v.ToProto(out->mutable_shape()); }
// Only variants that cannot be encoded fail, and those cannot be attributes; whatever was written stays.
void Write(const Tensor& v, AttrValue* out) { TensorToProto(v, out->mutable_tensor()).IgnoreError(); }
void Write(const NameAttrList& v, AttrValue* out) { *out->mutable_func() = v; }
void Write(const AttrValue& v, AttrValue* out) { *out = v; }

void Add(absl::string_view v, AttrValue::ListValue* out) { out->add_s(v.data(), v.size()); }
void Add(const std::string& v, AttrValue::ListValue* out) { out->add_s(v); }
void Add(int64_t v, AttrValue::ListValue* out) { out->add_i(v); }
void Add(int32_t v, AttrValue::ListValue* out) { out->add_i(v); }
void Add(float v, AttrValue::ListValue* out) { out->add_f(v); }
void Add(bool v, AttrValue::ListValue* out) { out->add_b(v); }
void Add(DataType v, AttrValue::ListValue* out) { out->add_type(static_cast<tensorflow::DataType>(v)); }
void Add(tensorflow::DataType v, AttrValue::ListValue* out) { out->add_type(v); }
void Add(const TensorShape& v, AttrValue::ListValue* out) { v.ToProto(out->add_shape()); }
void Add(const PartialTensorShape& v, AttrValue::ListValue* out) { v.ToProto(out->add_shape()); }
void Add(const Tensor& v, AttrValue::ListValue* out) { TensorToProto(v, out->add_tensor()).IgnoreError(); }
void Add(const NameAttrList& v, AttrValue::ListValue* out) { *out->add_func() = v; }

template <typename Values>
void WriteList(const Values& values, AttrValue* out) {
  out->mutable_list()->Clear();
  for (const auto& value : values) Add(value, out->mutable_list());
}
template <typename V>
void Write(const std::vector<V>& values, AttrValue* out) {
  WriteList(values, out);
}
void Write(const DataTypeVector& values, AttrValue* out) { WriteList(values, out); }
template <typename V>
void Write(absl::Span<const V> values, AttrValue* out) {
  WriteList(values, out);
}

}  // namespace

template <typename V>
absl::Status GetNodeAttr(const tensorflow::NodeDef& node, absl::string_view name, V* value) {
  const AttrValue* attr = FindAttr(node, name);
  if (attr == nullptr) {
    return errors::NotFound("No attr named '", name, "' in NodeDef: {{node ", node.name(), "}} = ", node.op());
  }
  absl::Status status = CheckAttrType(*attr, Reader<V>::Type());
  if (status.ok()) status = Reader<V>::Read(*attr, value);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "\n\t for attr '", name, "'\n\t; NodeDef: {{node ",
                                                  node.name(), "}} = ", node.op()));
}

template <typename V>
void SetAttrValue(const V& value, AttrValue* out) {
  out->Clear();
  Write(value, out);
}

template <typename V>
void SetNodeAttr(absl::string_view name, const V& value, tensorflow::NodeDef* node) {
  SetAttrValue(value, &(*node->mutable_attr())[std::string(name)]);
}

// Exported; Clang does not take WEIR_API here.
#define WEIR_GET(V)                                                                                    \
  template __attribute__((visibility("default"))) absl::Status GetNodeAttr(const tensorflow::NodeDef&, \
                                                                           absl::string_view, V*);
#define WEIR_SET(V)                                                                        \
  template __attribute__((visibility("default"))) void SetAttrValue(const V&, AttrValue*); \
  template __attribute__((visibility("default"))) void SetNodeAttr(absl::string_view, const V&, tensorflow::NodeDef*);
#define WEIR_GET_SET(V)    \
  WEIR_GET(V)              \
  WEIR_GET(std::vector<V>) \
  WEIR_SET(V)              \
  WEIR_SET(std::vector<V>) \
  WEIR_SET(absl::Span<const V>)
WEIR_GET_SET(std::string)
WEIR_GET_SET(int64_t)
WEIR_GET_SET(int32_t)
WEIR_GET_SET(float)
WEIR_GET_SET(bool)
WEIR_GET_SET(DataType)
WEIR_GET_SET(TensorShape)
WEIR_GET_SET(PartialTensorShape)
WEIR_GET_SET(Tensor)
WEIR_GET_SET(NameAttrList)
WEIR_GET(DataTypeVector)
WEIR_SET(DataTypeVector)
WEIR_SET(absl::string_view)
WEIR_SET(std::vector<absl::string_view>)
WEIR_SET(double)
WEIR_SET(tensorflow::DataType)
WEIR_SET(std::vector<tensorflow::DataType>)
WEIR_SET(AttrValue)

void SetAttrValue(const char* value, AttrValue* out) { SetAttrValue(absl::string_view(value), out); }
void SetNodeAttr(absl::string_view name, const char* value, tensorflow::NodeDef* node) {
  SetNodeAttr(name, absl::string_view(value), node);
}

}  // namespace weir
