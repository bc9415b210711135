#include "kernels/ragged/row_splits.h"

#include "core/tensor/index_tensor.h"

namespace weir {

absl::StatusOr<DimVector> ReadRowSplits(const Tensor& splits) {
  if (splits.dims() != 1) {
    return errors::InvalidArgument("Ragged splits must be a vector, got shape ", splits.shape().ToString());
  }
  if (splits.NumElements() < 1) return errors::InvalidArgument("ragged splits may not be empty.");
  ASSIGN_OR_RETURN(DimVector values, ReadIntegers(splits));
  if (values[0] != 0) return errors::InvalidArgument("First value of ragged splits must be 0.");
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] < values[i - 1]) {
      return errors::InvalidArgument("Ragged splits should be non decreasing, but we got ", values[i - 1],
                                     " followed by ", values[i]);
    }
  }
  return values;
}

absl::StatusOr<std::vector<DimVector>> ReadNestedSplits(const OpKernelContext& ctx, int first, int count,
                                                        const Tensor& values) {
  std::vector<DimVector> nested;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(DimVector splits, ReadRowSplits(ctx.input(first + i)));
    nested.push_back(std::move(splits));
  }
  if (values.dims() == 0) {
    return errors::InvalidArgument(
        "Final value of ragged splits must match the length the corresponding ragged values. The values are a scalar");
  }
  for (int i = 0; i < count; ++i) {
    const int64_t rows = i + 1 < count ? static_cast<int64_t>(nested[i + 1].size()) - 1 : values.dim_size(0);
    if (nested[i].back() != rows) {
      return errors::InvalidArgument(
          "Final value of ragged splits must match the length the corresponding ragged values. Got ", nested[i].back(),
          " vs. ", rows);
    }
  }
  return nested;
}

absl::Status SetSplitsOutput(OpKernelContext& ctx, int i, absl::Span<const int64_t> splits) {
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, TensorShape({static_cast<int64_t>(splits.size())})));
  return WriteIntegers(splits, output);
}

}  // namespace weir
