#include "kernels/linalg/linear_algebra.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"

namespace weir {
namespace {

// The batch dimensions that the inputs have in common, or broadcast to.
absl::StatusOr<TensorShape> CommonBatch(OpKernelContext& ctx, int inputs, bool broadcast) {
  DimVector dims;
  for (int i = 0; i < inputs; ++i) {
    const TensorShape& shape = ctx.input(i).shape();
    const auto mine = shape.dim_sizes().first(shape.dims() - 2);
    if (i == 0) dims.assign(mine.begin(), mine.end());
    if (!broadcast && !std::equal(mine.begin(), mine.end(), dims.begin(), dims.end())) {
      return errors::InvalidArgument("All input tensors must have the same outer dimensions.");
    }
    if (mine.size() > dims.size()) dims.insert(dims.begin(), mine.size() - dims.size(), 1);
    for (size_t d = 1; d <= mine.size(); ++d) {
      int64_t& size = dims[dims.size() - d];
      const int64_t other = mine[mine.size() - d];
      if (size != other && size != 1 && other != 1) {
        return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ",
                                       ctx.input(0).shape().ToString(), " vs. ", shape.ToString());
      }
      if (size == 1) size = other;
    }
  }
  return TensorShape::Build(dims);
}

// The index of the matrix that a tensor contributes to item `index` of the batch.
int64_t ItemOf(const TensorShape& shape, const TensorShape& batch, int64_t index) {
  int64_t item = 0, step = 1;
  for (int d = 1; d <= shape.dims() - 2; ++d) {
    const int64_t size = shape.dim_size(shape.dims() - 2 - d), full = batch.dim_size(batch.dims() - d);
    if (size != 1) item += index % full * step;
    index /= full;
    step *= size;
  }
  return item;
}

}  // namespace

absl::Status CheckLapackSize(int64_t rows, int64_t columns) {
  if (std::max(rows, columns) <= std::numeric_limits<int>::max()) return absl::OkStatus();
  return errors::InvalidArgument("A matrix of ", rows, " rows and ", columns, " columns is too large: at most ",
                                 std::numeric_limits<int>::max(), " of each are supported.");
}

absl::Status LinearKernel::CheckShapes(const OpKernelContext& ctx) const {
  const int rank = ctx.input(0).dims();
  if (rank < 2) return errors::InvalidArgument("Input tensor 0 must have rank >= 2, got ", rank);
  for (int i = 1; i < MatrixInputs(); ++i) {
    if (ctx.input(i).dims() != rank) return errors::InvalidArgument("All input tensors must have the same rank.");
  }
  return absl::OkStatus();
}

double LinearKernel::Cost(const std::vector<MatrixSize>& in) const {
  double n = 1;
  for (const MatrixSize& size : in)
    n = std::max({n, static_cast<double>(size.rows), static_cast<double>(size.columns)});
  return std::min(1e15, 1000 * n * n * n);
}

template <typename Scalar>
absl::Status LinearKernel::ComputeAs(OpKernelContext& ctx, DataType type) {
  const int inputs = MatrixInputs();
  RETURN_IF_ERROR(CheckShapes(ctx));
  MatrixArgs<Scalar> args;
  std::vector<Tensor> wide;
  for (int i = 0; i < inputs; ++i) {
    const TensorShape& shape = ctx.input(i).shape();
    args.in_sizes.push_back({shape.dim_size(shape.dims() - 2), shape.dim_size(shape.dims() - 1)});
  }
  ASSIGN_OR_RETURN(const TensorShape batch, CommonBatch(ctx, inputs, Broadcasts()));
  ASSIGN_OR_RETURN(const std::vector<DimVector> dims, OutputDims(args.in_sizes));
  for (int i = 0; i < inputs; ++i) {
    ASSIGN_OR_RETURN(Tensor tensor, ConvertTensor(ctx, ctx.input(i), type));
    wide.push_back(std::move(tensor));
  }
  std::vector<Tensor> outputs;
  std::vector<int64_t> sizes;
  bool is_empty = true;
  for (const DimVector& item : dims) {
    const bool absent = item == DimVector{-1};
    TensorShape shape = absent ? TensorShape() : batch;
    ASSIGN_OR_RETURN(const TensorShape one, TensorShape::Build(absent ? DimVector{} : item));
    RETURN_IF_ERROR(shape.Append(one));
    sizes.push_back(one.num_elements());
    is_empty = is_empty && (absent || shape.num_elements() == 0);
    ASSIGN_OR_RETURN(Tensor tensor, ctx.allocate_temp(type, shape));
    if (absent) *tensor.data<Scalar>() = Scalar(0);
    outputs.push_back(std::move(tensor));
  }
  // Without elements, matrices may have any number of rows and a batch any number of matrices.
  const int64_t items = is_empty ? 0 : batch.num_elements();
  if (items > 0) {
    for (const MatrixSize& size : args.in_sizes) RETURN_IF_ERROR(CheckLapackSize(size.rows, size.columns));
  }
  std::mutex mutex;
  absl::Status status;
  const double cost = std::max(1.0, Cost(args.in_sizes));
  ParallelRanges(ctx, items, static_cast<int64_t>(cost), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      MatrixArgs<Scalar> item{args.in_sizes, {}, {}};
      for (int i = 0; i < inputs; ++i) {
        const int64_t size = args.in_sizes[i].rows * args.in_sizes[i].columns;
        item.in.push_back(wide[i].data<Scalar>() + ItemOf(ctx.input(i).shape(), batch, b) * size);
      }
      for (size_t o = 0; o < outputs.size(); ++o) {
        item.out.push_back(outputs[o].dims() == 0 ? outputs[o].data<Scalar>()
                                                  : outputs[o].data<Scalar>() + b * sizes[o]);
      }
      absl::Status result;
      if constexpr (std::is_same_v<Scalar, float> || std::is_same_v<Scalar, std::complex<float>>) {
        result = RunSingle(item);
      } else {
        result = Run(item);
      }
      if (!result.ok()) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (status.ok()) status = std::move(result);
      }
    }
  });
  RETURN_IF_ERROR(status);
  for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, outputs[o], ctx.expected_output_dtype(o)));
    ctx.set_output(o, std::move(narrow));
  }
  return absl::OkStatus();
}

absl::Status LinearKernel::RunSingle(const MatrixArgs<float>&) const {
  return errors::Internal("This kernel does not compute in single precision.");
}
absl::Status LinearKernel::RunSingle(const MatrixArgs<std::complex<float>>&) const {
  return errors::Internal("This kernel does not compute in single precision.");
}

absl::Status LinearKernel::Compute(OpKernelContext& ctx) {
  const DataType type = ctx.input_dtype(0);
  if (ComputesInSingle() && type == DT_FLOAT) return ComputeAs<float>(ctx, type);
  if (ComputesInSingle() && type == DT_COMPLEX64) return ComputeAs<std::complex<float>>(ctx, type);
  return IsComplex(type) ? ComputeAs<std::complex<double>>(ctx, DT_COMPLEX128) : ComputeAs<double>(ctx, DT_DOUBLE);
}

}  // namespace weir
