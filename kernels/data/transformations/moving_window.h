// Windows that move over the elements of a dataset.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/data/dataset.h"

namespace weir {

struct WindowOptions {
  int64_t size = 1, shift = 1, stride = 1;
  bool drop_remainder = true;
  // An error of the input stands in the window like an element, and is what a window yields that sees it. Otherwise it
  // ends the call alone, and the window goes on with the next element.
  bool errors_take_a_place = false;
  int64_t span = 1;  // (size - 1) * stride + 1, by Check

  // Sets span. InvalidArgument for numbers below one, and where the window would be too large; `stride_name` is how the
  // error calls the stride.
  absl::Status Check(absl::string_view stride_name);
  // Of the windows over an input of cardinality n.
  int64_t Cardinality(int64_t n) const;
};

// What a window shows of the elements that it sees, those of `input`.
using WindowContents = absl::StatusOr<Element> (*)(IteratorContext& ctx, const DatasetBase& input,
                                                   std::vector<Element> seen);

// An element for each place of a window that moves over `input`, of these types and shapes. `type` is what messages
// call it.
std::shared_ptr<DatasetBase> NewMovingWindowDataset(std::string type, const DatasetPtr& input, DataTypeVector types,
                                                    std::vector<PartialTensorShape> shapes,
                                                    const WindowOptions& options, WindowContents contents);

}  // namespace weir
