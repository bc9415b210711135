// Dense linear algebra on batches of matrices, in double or complex double: narrower elements are converted, which
// gains more accuracy than it costs time. A kernel may ask for single precision.
#pragma once

#include <complex>
#include <vector>

#include "core/kernel/op_kernel.h"

namespace weir {

struct MatrixSize {
  int64_t rows = 0, columns = 0;
};

// One matrix of each input and output, row-major.
template <typename Scalar>
struct MatrixArgs {
  std::vector<MatrixSize> in_sizes;
  std::vector<const Scalar*> in;
  std::vector<Scalar*> out;
};

// InvalidArgument if LAPACK's sizes, of type int, are too narrow.
absl::Status CheckLapackSize(int64_t rows, int64_t columns);

// Runs once for each item of a batch, with one matrix of each input. Output o has dimensions [batch...,
// out_dims[o]...]. Items run in parallel.
class LinearKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) final;

 protected:
  // The dimensions of one output item for inputs of those sizes; {-1} for an output that the attributes switch off,
  // which becomes a scalar. InvalidArgument if the sizes do not match.
  virtual absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const = 0;
  virtual absl::Status Run(const MatrixArgs<double>& args) const = 0;
  virtual absl::Status Run(const MatrixArgs<std::complex<double>>& args) const = 0;
  // Whether float and complex64 are computed as such, by RunSingle.
  virtual bool ComputesInSingle() const { return false; }
  virtual absl::Status RunSingle(const MatrixArgs<float>& args) const;
  virtual absl::Status RunSingle(const MatrixArgs<std::complex<float>>& args) const;
  // InvalidArgument if ranks or batch dimensions are wrong.
  virtual absl::Status CheckShapes(const OpKernelContext& ctx) const;
  // The number of leading inputs that are batches of matrices.
  virtual int MatrixInputs() const { return 1; }
  // Whether batch dimensions broadcast.
  virtual bool Broadcasts() const { return false; }
  // The cost of one item in picoseconds.
  virtual double Cost(const std::vector<MatrixSize>& in) const;
  static absl::Status CheckSquare(MatrixSize size) {
    if (size.rows == size.columns) return absl::OkStatus();
    return errors::InvalidArgument("Input matrix must be square.");
  }

 private:
  template <typename Scalar>
  absl::Status ComputeAs(OpKernelContext& ctx, DataType type);
};

}  // namespace weir
