#include <algorithm>

#include "kernels/ragged/family.h"
#include "kernels/ragged/row_splits.h"

namespace weir {
namespace {

// An entry for every element; dimensions within the values become further dimensions of the result.
class RaggedToSparseKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("RAGGED_RANK", &ragged_rank_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const int levels = static_cast<int>(ragged_rank_);
    const Tensor values = ctx.input(levels);
    ASSIGN_OR_RETURN(const std::vector<DimVector> nested, ReadNestedSplits(ctx, 0, levels, values));
    const absl::Span<const int64_t> inner = values.shape().dim_sizes().subspan(1);
    const int rank = levels + values.dims();
    const int64_t entries = values.NumElements();
    DimVector shape = {static_cast<int64_t>(nested[0].size()) - 1};
    for (const DimVector& splits : nested) {
      int64_t longest = 0;
      for (size_t i = 1; i < splits.size(); ++i) longest = std::max(longest, splits[i] - splits[i - 1]);
      shape.push_back(longest);
    }
    shape.insert(shape.end(), inner.begin(), inner.end());
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, rank})));
    ASSIGN_OR_RETURN(Tensor flat, values.Reshaped(TensorShape({entries})));
    ctx.set_output(1, std::move(flat));
    ctx.set_output(2, Tensor::Vector<int64_t>(shape));
    if (entries == 0) return absl::OkStatus();
    FillIndices(nested, inner, values.dim_size(0), indices->data<int64_t>());
    return absl::OkStatus();
  }

 private:
  static void FillIndices(const std::vector<DimVector>& nested, absl::Span<const int64_t> inner, int64_t rows,
                          int64_t* out) {
    const int levels = static_cast<int>(nested.size());
    DimVector at(levels, 0);  // the row of each level in which the next value stands
    DimVector inner_index(inner.size());
    for (int64_t value = 0; value < rows; ++value) {
      // The innermost level has the value; each outer one has the row of the level within.
      for (int level = levels - 1; level >= 0; --level) {
        const int64_t position = level == levels - 1 ? value : at[level + 1];
        while (position >= nested[level][at[level] + 1]) ++at[level];
      }
      std::fill(inner_index.begin(), inner_index.end(), 0);
      bool more = true;
      while (more) {
        *out++ = at[0];
        for (int level = 0; level < levels; ++level) {
          const int64_t position = level == levels - 1 ? value : at[level + 1];
          *out++ = position - nested[level][at[level]];
        }
        out = std::copy(inner_index.begin(), inner_index.end(), out);
        more = false;
        for (int d = static_cast<int>(inner.size()) - 1; d >= 0 && !more; --d) {
          more = ++inner_index[d] < inner[d];
          if (!more) inner_index[d] = 0;
        }
      }
    }
  }

  int64_t ragged_rank_ = 0;
};

}  // namespace

absl::Status RegisterRaggedConversionKernels(KernelRegistry& kernels) {
  return kernels.Register<RaggedToSparseKernel>(Kernel("RaggedTensorToSparse").Cpu());
}

}  // namespace weir
