// ResourceGather and ResourceGatherNd: rows and slices of a resource variable.
#include "absl/strings/str_join.h"
#include "kernels/device/elements.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/device/row_prefetch.h"
#include "kernels/state/family.h"
#include "kernels/state/update_loops.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// Time to find and copy one slice of `bytes`.
int64_t SlicePicoseconds(int64_t bytes) { return 2'000 + 60 * bytes; }

class ResourceGatherKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &dtype_));
    return ctx.GetAttr("batch_dims", &batch_dims_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const BriefRead variable, ReadVariableBriefly(ctx, 0));
    const Tensor& params = variable.value;
    ASSIGN_OR_RETURN(Indices indices, Indices::Read(ctx.input(1)));
    if (params.dtype() != dtype_) {
      return errors::InvalidArgument("Trying to gather ", DataTypeName(dtype_), " from a variable of type ",
                                     DataTypeName(params.dtype()));
    }
    if (params.dims() < 1) return errors::InvalidArgument("params must be at least 1 dimensional");
    ASSIGN_OR_RETURN(const int batch, CheckBatchDims(params.shape(), indices.shape()));
    RETURN_IF_ERROR(indices.CheckRange(params.dim_size(batch)));

    DimVector dims(indices.shape().dim_sizes().begin(), indices.shape().dim_sizes().end());
    dims.insert(dims.end(), params.shape().dim_sizes().begin() + batch + 1, params.shape().dim_sizes().end());
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();

    int64_t batches = 1;
    for (int i = 0; i < batch; ++i) batches *= params.dim_size(i);
    const int64_t rows = params.dim_size(batch), per_batch = indices.size() / batches;
    const int64_t elements = params.NumElements() / (batches * rows);
    const int64_t bytes = elements * static_cast<int64_t>(DataTypeSize(dtype_));
    const char* const from = static_cast<const char*>(params.raw_data());
    char* const to = static_cast<char*>(output->raw_data());
    ParallelRanges(ctx, indices.size(), SlicePicoseconds(bytes), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t b = begin / per_batch, batch_end = std::min(end, (b + 1) * per_batch);
        const char* const first = from + b * rows * bytes;
        const RowPrefetch prefetch(first, bytes, indices.data(), batch_end);
        for (; begin < batch_end; ++begin) {
          prefetch.At(begin);
          CopyElements(dtype_, to + begin * bytes, first + indices[begin] * bytes, elements);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<int> CheckBatchDims(const TensorShape& params, const TensorShape& indices) const {
    const int64_t batch = batch_dims_ < 0 ? batch_dims_ + indices.dims() : batch_dims_;
    if (batch < 0 || batch > indices.dims() || batch >= params.dims()) {
      return errors::InvalidArgument("batch_dims (", batch_dims_, ") must be in [0, rank of indices ", indices.dims(),
                                     "] and below the rank of params ", params.dims());
    }
    for (int i = 0; i < batch; ++i) {
      if (params.dim_size(i) != indices.dim_size(i)) {
        return errors::InvalidArgument("params.shape[", i, "]: ", params.dim_size(i),
                                       " should be equal to indices.shape[", i, "]: ", indices.dim_size(i));
      }
    }
    return static_cast<int>(batch);
  }

  DataType dtype_ = DT_INVALID;
  int64_t batch_dims_ = 0;
};

class ResourceGatherNdKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    name_ = ctx.name();
    return ctx.GetAttr("dtype", &dtype_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const BriefRead variable, ReadVariableBriefly(ctx, 0));
    const Tensor& params = variable.value;
    ASSIGN_OR_RETURN(Indices indices, Indices::Read(ctx.input(1)));
    if (params.dtype() != dtype_) {
      return errors::InvalidArgument("Trying to gather ", DataTypeName(dtype_), " from a variable of type ",
                                     DataTypeName(params.dtype()));
    }
    if (params.dims() < 1) return errors::InvalidArgument("params must be at least a vector");
    if (indices.shape().dims() < 1) return errors::InvalidArgument("indices must be at least a vector");
    const int outer = indices.shape().dims() - 1;
    const int64_t depth = indices.shape().dim_size(outer);
    if (depth > params.dims()) {
      return errors::InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ",
                                     params.dims());
    }
    ASSIGN_OR_RETURN(const TensorShape outer_shape, TensorShape::Build(indices.shape().dim_sizes().subspan(0, outer)));
    DimVector dims(outer_shape.dim_sizes().begin(), outer_shape.dim_sizes().end());
    dims.insert(dims.end(), params.shape().dim_sizes().begin() + depth, params.shape().dim_sizes().end());
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();

    const int64_t elements = shape.num_elements() / outer_shape.num_elements();
    for (int64_t n = 0; n < outer_shape.num_elements(); ++n) {
      const int64_t* const coordinates = indices.data() + n * depth;
      int64_t offset = 0;
      for (int64_t d = 0; d < depth; ++d) {
        if (coordinates[d] < 0 || coordinates[d] >= params.dim_size(d)) {
          return errors::InvalidArgument("indices", ElementName(outer_shape, n), " = [",
                                         absl::StrJoin(absl::MakeConstSpan(coordinates, depth), ", "),
                                         "] does not index into param shape ", params.shape().ToString(),
                                         ", node name: ", name_);
        }
        offset = offset * params.dim_size(d) + coordinates[d];
      }
      const int64_t bytes = elements * static_cast<int64_t>(DataTypeSize(dtype_));
      CopyElements(dtype_, static_cast<char*>(output->raw_data()) + n * bytes,
                   static_cast<const char*>(params.raw_data()) + offset * bytes, elements);
    }
    return absl::OkStatus();
  }

 private:
  std::string name_;
  DataType dtype_ = DT_INVALID;
};

}  // namespace

absl::Status RegisterResourceGatherKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ResourceGatherKernel>(Kernel("ResourceGather").Cpu()));
  return kernels.Register<ResourceGatherNdKernel>(Kernel("ResourceGatherNd").Cpu());
}

}  // namespace weir
