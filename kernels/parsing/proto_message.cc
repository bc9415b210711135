#include "kernels/parsing/proto_message.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/strip.h"
#include "core/device/device.h"
#include "core/files/file_system.h"

namespace weir {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorSet;

// Silent: the caller reports the file.
class Silence : public DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string&, const std::string&, const google::protobuf::Message*, ErrorLocation,
                const std::string&) override {}
};

absl::StatusOr<std::shared_ptr<const DescriptorPool>> MakePool(const FileDescriptorSet& set) {
  auto pool = std::make_shared<DescriptorPool>();
  Silence silence;
  for (const auto& file : set.file()) {
    if (pool->BuildFileCollectingErrors(file, &silence) != nullptr) continue;
    return errors::InvalidArgument("Failed to load FileDescriptorProto: ", file.DebugString());
  }
  return pool;
}

// Null for "local://".
absl::StatusOr<std::shared_ptr<const DescriptorPool>> PoolFromSource(Device* device, const std::string& source) {
  if (source.empty() || source == "local://") return nullptr;
  FileDescriptorSet set;
  absl::string_view bytes = source;
  if (absl::ConsumePrefix(&bytes, "bytes://")) {
    if (set.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return MakePool(set);
  } else if (absl::StatusOr<FileSystem*> files = device->file_systems()->Find(source);
             files.ok() && (*files)->Exists(source)) {
    ASSIGN_OR_RETURN(const std::string read, ReadFileToString(*files, source));
    if (set.ParseFromString(read)) return MakePool(set);
    return errors::InvalidArgument("descriptor_source contains invalid FileDescriptorSet: ", source);
  }
  return errors::InvalidArgument(
      "Source does not represent serialized file descriptor set proto. This may be due to a missing dependency on the "
      "file containing REGISTER_DESCRIPTOR_POOL(\"",
      source, "\", ...);");
}

}  // namespace

absl::StatusOr<ProtoMessage> ProtoMessage::Read(OpKernelConstruction& ctx) {
  std::string source, name;
  std::vector<std::string> fields;
  RETURN_IF_ERROR(ctx.GetAttr("descriptor_source", &source));
  RETURN_IF_ERROR(ctx.GetAttr("message_type", &name));
  RETURN_IF_ERROR(ctx.GetAttr("field_names", &fields));
  ProtoMessage message;
  ASSIGN_OR_RETURN(message.pool, PoolFromSource(ctx.device(), source));
  const DescriptorPool* const pool = message.pool != nullptr ? message.pool.get() : DescriptorPool::generated_pool();
  message.type = pool->FindMessageTypeByName(name);
  if (message.type == nullptr) return errors::InvalidArgument("No descriptor found for message type ", name);
  for (const std::string& field_name : fields) {
    const FieldDescriptor* field = message.type->FindFieldByName(field_name);
    if (field == nullptr) {
      field = pool->FindExtensionByName(field_name);
      if (field != nullptr && field->containing_type() != message.type) field = nullptr;
    }
    if (field == nullptr) {
      return errors::InvalidArgument("Unknown field: ", field_name, " in message type ", name);
    }
    message.fields.push_back(field);
  }
  return message;
}

std::vector<int> ProtoMessage::ByNumber() const {
  std::vector<int> order(fields.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this](int a, int b) { return fields[a]->number() < fields[b]->number(); });
  return order;
}

bool IsProtoFieldOf(FieldDescriptor::Type type, DataType dtype) {
  switch (type) {
    case FieldDescriptor::TYPE_DOUBLE:
      return dtype == DT_DOUBLE;
    case FieldDescriptor::TYPE_FLOAT:
      return dtype == DT_FLOAT || dtype == DT_DOUBLE;
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_SINT64:
    case FieldDescriptor::TYPE_SFIXED64:
      return dtype == DT_INT64;
    case FieldDescriptor::TYPE_UINT64:
    case FieldDescriptor::TYPE_FIXED64:
      return dtype == DT_UINT64;
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_SINT32:
    case FieldDescriptor::TYPE_SFIXED32:
      return dtype == DT_INT32 || dtype == DT_INT64;
    case FieldDescriptor::TYPE_UINT32:
    case FieldDescriptor::TYPE_FIXED32:
      return dtype == DT_UINT32 || dtype == DT_UINT64;
    case FieldDescriptor::TYPE_BOOL:
      return dtype == DT_BOOL;
    case FieldDescriptor::TYPE_ENUM:
      return dtype == DT_INT32;
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_GROUP:
    case FieldDescriptor::TYPE_MESSAGE:
      return dtype == DT_STRING;
  }
  return false;
}

}  // namespace weir
