// Messages whose types are named by attributes: what EncodeProto and DecodeProtoV2 share.
#pragma once

#include <google/protobuf/descriptor.h>

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"

namespace weir {

// The type of message, and the fields, that a node is about. Descriptors belong to the pool in it, or to the process.
struct ProtoMessage {
  // From the attributes descriptor_source, message_type and field_names. The source is "local://" (what the program is
  // linked with), "bytes://" before a FileDescriptorSet, or the path of a file that holds one.
  static absl::StatusOr<ProtoMessage> Read(OpKernelConstruction& ctx);

  // Indices of `fields`, by field number.
  std::vector<int> ByNumber() const;

  std::shared_ptr<const google::protobuf::DescriptorPool> pool;  // null for what the program is linked with
  const google::protobuf::Descriptor* type = nullptr;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
};

// Whether values of `dtype` can stand for such a field.
bool IsProtoFieldOf(google::protobuf::FieldDescriptor::Type type, DataType dtype);

}  // namespace weir
