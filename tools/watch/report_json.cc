#include "tools/watch/report_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

namespace weir {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Json = nlohmann::ordered_json;

Json ToJson(const Message& message);

// The field's value, or the one at `index` if it is repeated.
Json ValueOf(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& of = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? of.GetRepeatedInt32(message, &field, index) : of.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return many ? of.GetRepeatedInt64(message, &field, index) : of.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? of.GetRepeatedUInt32(message, &field, index) : of.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return many ? of.GetRepeatedUInt64(message, &field, index) : of.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? of.GetRepeatedDouble(message, &field, index) : of.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return many ? of.GetRepeatedFloat(message, &field, index) : of.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? of.GetRepeatedBool(message, &field, index) : of.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return (many ? of.GetRepeatedEnum(message, &field, index) : of.GetEnum(message, &field))->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return many ? of.GetRepeatedString(message, &field, index) : of.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(many ? of.GetRepeatedMessage(message, &field, index) : of.GetMessage(message, &field));
  }
  return nullptr;
}

Json ToJson(const Message& message) {
  Json object = Json::object();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!field.is_repeated()) {
      object[field.name()] = ValueOf(message, field, 0);
      continue;
    }
    Json list = Json::array();
    const int size = message.GetReflection()->FieldSize(message, &field);
    for (int k = 0; k < size; ++k) list.push_back(ValueOf(message, field, k));
    object[field.name()] = std::move(list);
  }
  return object;
}

}  // namespace

std::string MessageToJson(const Message& message, int indent) {
  // Text that is not UTF-8 is marked, not an error.
  return ToJson(message).dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace weir
