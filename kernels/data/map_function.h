// The function that map and similar transformations apply to elements.
#pragma once

#include "kernels/data/captured_function.h"
#include "kernels/data/dataset_kernel.h"

namespace weir {

struct MapFunction {
  CapturedFunction function;
  bool preserve_cardinality = false;

  // What a finished call means: an element, the end of the sequence (false), or an error. A function may end the
  // sequence by OutOfRange, unless the number of elements was promised to stay.
  absl::StatusOr<bool> Finish(absl::StatusOr<Element> result, const DataTypeVector& types, Element* element) const {
    if (!result.ok() && absl::IsOutOfRange(result.status())) {
      if (!preserve_cardinality) return false;
      return errors::InvalidArgument("Function invocation produced OutOfRangeError: ", result.status().message());
    }
    RETURN_IF_ERROR(result.status());
    RETURN_IF_ERROR(CheckElement(*result, types));
    *element = *std::move(result);
    return true;
  }
  // One element by its index. Only in iterators do errors name the dataset.
  absl::Status Get(IteratorContext& ctx, const DatasetBase& dataset, Element args, Element* element) const {
    absl::StatusOr<Element> result = function.Call(ctx, std::move(args));
    if (ctx.global_shuffle) result = InFunctionOf(dataset, std::move(result));
    ASSIGN_OR_RETURN(*element, std::move(result));
    return CheckElement(*element, dataset.output_types());
  }
  int64_t CountElements(IteratorContext* ctx, const DatasetBase& input) const {
    return preserve_cardinality ? input.CountElements(ctx) : kUnknownCardinality;
  }
};

// `num_parallel_calls` as its node gives it: at least one, or -1 for as many as the device has threads.
absl::StatusOr<int64_t> ParallelCalls(const NodeInputs& inputs);

}  // namespace weir
