// Integers known before execution: shapes, and values computed from them.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"

namespace weir {

class Node;

// The value of an int32 or int64 tensor of rank 0 or 1; each element may be unknown.
struct IntegerValue {
  DataType dtype = DT_INT32;
  bool is_scalar = false;
  std::vector<std::optional<int64_t>> elements;

  bool IsKnown() const;
  // nullopt unless every element is known.
  std::optional<Tensor> ToTensor() const;
  // The shape with these dimensions; unknown or negative elements become unknown dimensions.
  PartialTensorShape ToShape() const;
  // nullopt for other types, ranks, or more than kMaxElements.
  static std::optional<IntegerValue> FromTensor(const Tensor& tensor);
  static constexpr int64_t kMaxElements = 4096;
};

// The known output values of `node`, given its inputs (nullptr: unknown) and their shapes. Empty for unsupported ops;
// an entry is nullopt if nothing is known.
using IntegerValues = std::vector<std::optional<IntegerValue>>;
IntegerValues EvaluateIntegers(const Node& node, const std::vector<const IntegerValue*>& inputs,
                               const std::vector<PartialTensorShape>& input_shapes);

}  // namespace weir
