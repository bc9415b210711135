// A model's interface: signatures, their inputs and their outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/api.h"
#include "core/tensor/tensor.h"

namespace WEIR_API weir {

// Tensors by their names in a signature.
using TensorMap = std::map<std::string, Tensor>;

// An input or output of a signature.
struct SignatureTensor {
  std::string name;    // for callers: "x"
  std::string tensor;  // in the graph: "serving_default_x:0"
  DataType dtype = DT_INVALID;
  PartialTensorShape shape;  // dimension -1: any size
  bool has_default = false;  // of an input: calls by name may omit it
};

// A function of a model. Inputs and outputs are sorted by name.
struct SignatureInfo {
  std::string name;    // "serving_default"
  std::string method;  // "tensorflow/serving/predict"
  std::vector<SignatureTensor> inputs, outputs;

  // One line: "serving_default(x: float[?,2]) -> (y: float[?,1])".
  std::string ToString() const;
};

// InvalidArgument, naming signature, input, what it expects and what it got, unless the value has the input's type and
// a shape that it allows.
absl::Status CheckSignatureInput(const SignatureInfo& signature, const SignatureTensor& input, const Tensor& value);

}  // namespace weir
