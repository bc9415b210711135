#include "core/tensor/resource_handle.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/resource_handle.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace weir {

std::string ResourceHandle::ToString() const {
  std::string text = absl::StrCat("<", type_name, " ", container, "/", name, " on ", device);
  for (const DtypeAndShape& item : dtypes_and_shapes) {
    absl::StrAppend(&text, " ", DataTypeName(item.dtype), item.shape.ToString());
  }
  return text + ">";
}

void ResourceHandle::ToProto(tensorflow::ResourceHandleProto* proto) const {
  proto->Clear();
  proto->set_device(device);
  proto->set_container(container);
  proto->set_name(name);
  proto->set_hash_code(hash_code);
  proto->set_maybe_type_name(type_name);
  for (const DtypeAndShape& held : dtypes_and_shapes) {
    auto* out = proto->add_dtypes_and_shapes();
    out->set_dtype(static_cast<tensorflow::DataType>(held.dtype));
    held.shape.ToProto(out->mutable_shape());
  }
}

absl::StatusOr<ResourceHandle> ResourceHandle::FromProto(const tensorflow::ResourceHandleProto& proto) {
  ResourceHandle handle;
  handle.device = proto.device();
  handle.container = proto.container();
  handle.name = proto.name();
  handle.hash_code = proto.hash_code();
  handle.type_name = proto.maybe_type_name();
  for (const auto& held : proto.dtypes_and_shapes()) {
    ASSIGN_OR_RETURN(PartialTensorShape shape, PartialTensorShape::FromProto(held.shape()));
    handle.dtypes_and_shapes.push_back({static_cast<DataType>(held.dtype()), std::move(shape)});
  }
  return handle;
}

}  // namespace weir
