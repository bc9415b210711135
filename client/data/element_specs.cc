#include "client/data/element_specs.h"

namespace weir {

TensorSpecs Batched(const TensorSpecs& element, int64_t size) {
  TensorSpecs batch{.types = element.types};
  for (const PartialTensorShape& shape : element.shapes) {
    std::vector<int64_t> dims = {size > 0 ? size : -1};
    dims.insert(dims.end(), shape.dim_sizes().begin(), shape.dim_sizes().end());
    batch.shapes.push_back(shape.unknown_rank() ? shape : PartialTensorShape::Build(dims).value());
  }
  return batch;
}

TensorSpecs Unbatched(const TensorSpecs& batch) {
  TensorSpecs element{.types = batch.types};
  for (const PartialTensorShape& shape : batch.shapes) {
    element.shapes.push_back(shape.dims() > 0 ? PartialTensorShape::Build(shape.dim_sizes().subspan(1)).value()
                                              : PartialTensorShape());
  }
  return element;
}

}  // namespace weir
