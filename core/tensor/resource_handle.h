// The element type of resource tensors: names a stateful object on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"

namespace tensorflow {
class ResourceHandleProto;
}

namespace WEIR_API weir {

class Resource;

// A value type: copies name the same object. `type_name` is declared by the creator ("Var", "FIFOQueue"); a lookup as
// another type fails. If `resource` is set, the handle itself shares ownership of the object (anonymous resources);
// otherwise the device's ResourceManager owns it.
class ResourceHandle {
 public:
  std::string device;     // full name of the device that has the object
  std::string container;  // "localhost" by default
  std::string name;
  uint64_t hash_code = 0;  // of the C++ type, process-local
  std::string type_name;
  // The object's content, if known: used by shape inference through handles.
  struct DtypeAndShape {
    DataType dtype;
    PartialTensorShape shape;
  };
  std::vector<DtypeAndShape> dtypes_and_shapes;
  std::shared_ptr<Resource> resource;

  std::string ToString() const;
  // The wire form names the object; it does not carry `resource`.
  void ToProto(tensorflow::ResourceHandleProto* proto) const;
  // InvalidArgument for a bad shape.
  static absl::StatusOr<ResourceHandle> FromProto(const tensorflow::ResourceHandleProto& proto);
};

}  // namespace weir
