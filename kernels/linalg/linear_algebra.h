// Dense linear algebra on batches of matrices, in double or complex double: narrower elements are converted, which
// costs less than it gains in accuracy. A kernel may ask for single precision, where roundings decide what is right.
#pragma once

#include <complex>
#include <vector>

#include "core/op_kernel.h"

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

// Works on one matrix of each input at a time; output o of it has dimensions [batch..., out_dims[o]...].
class LinearKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) final;

 protected:
  // The dimensions of one output item for inputs of those sizes; {-1} for an output that is not asked for, which
  // becomes a scalar. InvalidArgument where the sizes do not fit.
  virtual absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const = 0;
  virtual absl::Status Run(const MatrixArgs<double>& args) const = 0;
  virtual absl::Status Run(const MatrixArgs<std::complex<double>>& args) const = 0;
  // Whether elements of single precision stay that; then both of these are there too.
  virtual bool ComputesInSingle() const { return false; }
  virtual absl::Status RunSingle(const MatrixArgs<float>& args) const;
  virtual absl::Status RunSingle(const MatrixArgs<std::complex<float>>& args) const;
  // InvalidArgument where ranks, or what else concerns more than the sizes of single matrices, are wrong.
  virtual absl::Status CheckShapes(const OpKernelContext& ctx) const;
  // How many leading inputs are batches of matrices.
  virtual int MatrixInputs() const { return 1; }
  // Inputs whose batch dimensions are spread over those of the others.
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
