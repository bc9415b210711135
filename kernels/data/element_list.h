// A dataset of elements that are there: what windows and groups are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/data/indexed_dataset.h"

namespace weir {

class ElementListDataset : public IndexedDataset {
 public:
  ElementListDataset(std::string type, DataTypeVector types, std::vector<PartialTensorShape> shapes,
                     std::vector<Element> elements)
      : IndexedDataset({std::move(type), std::move(types), std::move(shapes), {}}), elements_(std::move(elements)) {}
  int64_t CountElements(IteratorContext*) const override { return static_cast<int64_t>(elements_.size()); }
  // All it is, as a variant leaves the process with it: what describes it, and the components of its elements in order.
  std::vector<Tensor> Encode(std::string* metadata) const;
  // Both come from outside.
  static absl::StatusOr<DatasetPtr> Decode(absl::string_view metadata, absl::Span<const Tensor> tensors);

 protected:
  absl::Status GetElement(IteratorContext&, int64_t index, Element* element) const override {
    *element = elements_[index];
    return absl::OkStatus();
  }

 private:
  const std::vector<Element> elements_;
};

}  // namespace weir
