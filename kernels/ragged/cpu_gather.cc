#include <algorithm>

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/device/indices.h"
#include "kernels/ragged/family.h"
#include "kernels/ragged/row_splits.h"

namespace weir {
namespace {

// Elements [begin, end) of a level.
struct Range {
  int64_t begin, end;
};

// params_nested_splits, params_dense_values, indices: the rows that the indices name. Dimensions of the indices beyond
// the first become outer levels of splits.
class RaggedGatherKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("PARAMS_RAGGED_RANK", &levels_));
    return ctx.GetAttr("OUTPUT_RAGGED_RANK", &output_levels_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const int levels = static_cast<int>(levels_);
    const Tensor &values = ctx.input(levels), &indices = ctx.input(levels + 1);
    ASSIGN_OR_RETURN(const std::vector<DimVector> nested, ReadNestedSplits(ctx, 0, levels, values));
    const int64_t outer = indices.dims() - 1;
    if (outer + levels_ != output_levels_) {
      return errors::InvalidArgument("OUTPUT_RAGGED_RANK must be PARAMS_RAGGED_RANK + indices.rank - 1: ",
                                     output_levels_, " vs. ", levels_, " + ", indices.dims(), " - 1");
    }
    ASSIGN_OR_RETURN(const DimVector picks, ReadIntegers(indices));
    const int64_t rows = static_cast<int64_t>(nested[0].size()) - 1;
    std::vector<Range> ranges;
    for (size_t i = 0; i < picks.size(); ++i) {
      if (picks[i] < 0 || picks[i] >= rows) {
        return errors::InvalidArgument("indices", ElementName(indices.shape(), i), " = ", picks[i], " is not in [0, ",
                                       rows, ")");
      }
      ranges.push_back({picks[i], picks[i] + 1});
    }
    int output = 0;
    int64_t count = 1;
    for (int d = 0; d < outer; ++d) {
      count *= indices.dim_size(d);
      DimVector splits(count + 1);
      for (int64_t i = 0; i <= count; ++i) splits[i] = i * indices.dim_size(d + 1);
      RETURN_IF_ERROR(SetSplitsOutput(ctx, output++, splits));
    }
    for (int level = 0; level < levels; ++level) {
      const DimVector& splits = nested[level];
      // Each row in a range becomes a row; each range becomes that of its elements.
      DimVector taken = {0};
      for (Range& range : ranges) {
        for (int64_t row = range.begin; row < range.end; ++row) {
          int64_t end;
          if (__builtin_add_overflow(taken.back(), splits[row + 1] - splits[row], &end)) {
            return errors::InvalidArgument("The result is too large");
          }
          taken.push_back(end);
        }
        range = {splits[range.begin], splits[range.end]};
      }
      if (level > 0 || outer >= 0)
        RETURN_IF_ERROR(SetSplitsOutput(ctx, output++, taken));  // one row is no list of rows
    }
    return GatherValues(ctx, values, ranges, output);
  }

 private:
  static absl::Status GatherValues(OpKernelContext& ctx, const Tensor& values, const std::vector<Range>& ranges,
                                   int output) {
    int64_t rows = 0;
    for (const Range& range : ranges) rows += range.end - range.begin;
    TensorShape shape = values.shape();
    RETURN_IF_ERROR(shape.SetDim(0, rows));
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(output, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t width = shape.num_elements() / rows, bytes = width * DataTypeSize(values.dtype());
    char* to = static_cast<char*>(result->raw_data());
    for (const Range& range : ranges) {
      const int64_t count = range.end - range.begin;
      CopyElements(values.dtype(), to, static_cast<const char*>(values.raw_data()) + range.begin * bytes,
                   count * width);
      to += count * bytes;
    }
    return absl::OkStatus();
  }

  int64_t levels_ = 0, output_levels_ = 0;
};

}  // namespace

absl::Status RegisterRaggedGatherKernels(KernelRegistry& kernels) {
  return kernels.Register<RaggedGatherKernel>(Kernel("RaggedGather").Cpu());
}

}  // namespace weir
