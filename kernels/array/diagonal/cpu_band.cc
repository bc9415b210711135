// Versions 2 and 3 of MatrixDiag, MatrixDiagPart and MatrixSetDiag: bands of diagonals.
#include "kernels/array/diagonal/args.h"
#include "kernels/array/family.h"
#include "kernels/device/elements.h"

namespace weir {
namespace {

// Calls fn(start in the matrix, start in the packed rows, number of elements) for each diagonal.
template <typename Fn>
void EachDiagonal(const DiagonalBand& band, Fn fn) {
  for (int64_t d = band.lower; d <= band.upper; ++d) {
    const int64_t n = band.LengthOf(d);
    if (n <= 0) continue;
    const int64_t start = d >= 0 ? d : -d * band.columns;
    fn(start, (band.upper - d) * band.length + band.Offset(d), n);
  }
}

void CopyDiagonals(OpKernelContext& ctx, DataType type, int64_t batch, const DiagonalBand& band, bool to_matrix,
                   char* matrix, char* packed) {
  const int64_t width = static_cast<int64_t>(DataTypeSize(type));
  const int64_t matrix_size = band.rows * band.columns, packed_size = band.count() * band.length;
  EachDiagonal(band, [&](int64_t start, int64_t place, int64_t n) {
    char* const in_matrix = matrix + start * width;
    char* const in_packed = packed + place * width;
    const DimVector matrix_steps = {matrix_size, band.columns + 1}, packed_steps = {packed_size, 1};
    if (to_matrix) {
      StridedCopy(ctx, type, {batch, n}, in_packed, packed_steps, in_matrix, matrix_steps);
    } else {
      StridedCopy(ctx, type, {batch, n}, in_matrix, matrix_steps, in_packed, packed_steps);
    }
  });
}

class BandKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadAlignment(ctx, &alignment_); }

 protected:
  // A band with the alignment attribute, before inputs are read.
  DiagonalBand band() const { return alignment_; }

 private:
  DiagonalBand alignment_;
};

// Inputs: diagonal, k, num_rows, num_cols, padding_value.
class MatrixDiagBandKernel : public BandKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& diagonal = ctx.input(0);
    DiagonalBand band = this->band();
    ASSIGN_OR_RETURN(const TensorShape shape, ReadDiagonalsToPlace(ctx, &band));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    FillElements(output->dtype(), ctx.input(4).raw_data(), output->raw_data(), output->NumElements());
    if (diagonal.NumElements() == 0) return absl::OkStatus();
    CopyDiagonals(ctx, output->dtype(), CountMatrices(shape), band, true, static_cast<char*>(output->raw_data()),
                  static_cast<char*>(diagonal.raw_data()));
    return absl::OkStatus();
  }
};

// Inputs: input, k, padding_value.
class MatrixDiagPartBandKernel : public BandKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    DiagonalBand band = this->band();
    ASSIGN_OR_RETURN(const TensorShape shape, ReadDiagonalsToTake(ctx, &band));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    FillElements(output->dtype(), ctx.input(2).raw_data(), output->raw_data(), output->NumElements());
    if (input.NumElements() == 0) return absl::OkStatus();
    CopyDiagonals(ctx, output->dtype(), CountMatrices(input.shape()), band, false, static_cast<char*>(input.raw_data()),
                  static_cast<char*>(output->raw_data()));
    return absl::OkStatus();
  }
};

// Inputs: input, diagonal, k.
class MatrixSetDiagBandKernel : public BandKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& diagonal = ctx.input(1);
    DiagonalBand band = this->band();
    RETURN_IF_ERROR(ReadDiagonalsToSet(ctx, &band));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    CopyElements(output->dtype(), output->raw_data(), input.raw_data(), input.NumElements());
    if (diagonal.NumElements() == 0) return absl::OkStatus();
    CopyDiagonals(ctx, output->dtype(), CountMatrices(input.shape()), band, true,
                  static_cast<char*>(output->raw_data()), static_cast<char*>(diagonal.raw_data()));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterBandKernels(KernelRegistry& kernels) {
  for (const char* op : {"MatrixDiagV2", "MatrixDiagV3"}) {
    RETURN_IF_ERROR(kernels.Register<MatrixDiagBandKernel>(
        Kernel(op).Cpu().HostMemory("k").HostMemory("num_rows").HostMemory("num_cols").HostMemory("padding_value")));
  }
  for (const char* op : {"MatrixDiagPartV2", "MatrixDiagPartV3"}) {
    RETURN_IF_ERROR(
        kernels.Register<MatrixDiagPartBandKernel>(Kernel(op).Cpu().HostMemory("k").HostMemory("padding_value")));
  }
  for (const char* op : {"MatrixSetDiagV2", "MatrixSetDiagV3"}) {
    RETURN_IF_ERROR(kernels.Register<MatrixSetDiagBandKernel>(Kernel(op).Cpu().HostMemory("k")));
  }
  return absl::OkStatus();
}

}  // namespace weir
