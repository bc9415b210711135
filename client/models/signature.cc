#include "client/models/signature.h"

#include "absl/strings/str_join.h"

namespace weir {
namespace {

// Cheaper than PartialTensorShape::IsCompatibleWith, which needs a copy of the shape.
bool Allows(const PartialTensorShape& allowed, const TensorShape& shape) {
  if (allowed.unknown_rank()) return true;
  if (allowed.dims() != shape.dims()) return false;
  for (int i = 0; i < shape.dims(); ++i) {
    if (allowed.dim_size(i) >= 0 && allowed.dim_size(i) != shape.dim_size(i)) return false;
  }
  return true;
}

std::string ListText(const std::vector<SignatureTensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const SignatureTensor& tensor) {
    absl::StrAppend(out, tensor.name, ": ", DataTypeName(tensor.dtype), tensor.shape.ToString(),
                    tensor.has_default ? " = default" : "");
  });
}

}  // namespace

std::string SignatureInfo::ToString() const {
  return absl::StrCat(name, "(", ListText(inputs), ") -> (", ListText(outputs), ")");
}

absl::Status CheckSignatureInput(const SignatureInfo& signature, const SignatureTensor& input, const Tensor& value) {
  if (value.dtype() == input.dtype && Allows(input.shape, value.shape()) && value.IsInitialized()) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("Input '", input.name, "' of signature '", signature.name, "' must be ",
                                 DataTypeName(input.dtype), input.shape.ToString(), ", but got ",
                                 DataTypeName(value.dtype()), value.shape().ToString(),
                                 value.IsInitialized() ? "" : " without a value");
}

}  // namespace weir
