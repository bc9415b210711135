// Diag, the MatrixDiag family and MatrixBandPart.
#include "kernels/array/diagonal/args.h"
#include "kernels/array/family.h"
#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

int64_t FromEnd(const TensorShape& shape, int i) { return shape.dim_size(shape.dims() - i); }

// The main diagonal alone of the matrices in the last two dimensions of `shape`.
DiagonalBand MainDiagonal(const TensorShape& shape) {
  DiagonalBand band{.rows = FromEnd(shape, 2), .columns = FromEnd(shape, 1)};
  band.length = band.LengthOf(0);
  return band;
}

class DiagonalKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(place_, FindMove("BandMatrix", ctx.input_types()[0]));
    ASSIGN_OR_RETURN(take_, FindMove("BandRows", ctx.input_types()[0]));
    return ReadAlignment(ctx, &alignment_);
  }
  // A band with the alignment attribute, before inputs are read.
  DiagonalBand band() const { return alignment_; }

  // Fills output 0 with matrices of `shape` that have the diagonals, and `base` or `value` elsewhere.
  absl::Status Place(OpKernelContext& ctx, GpuStream& stream, const TensorShape& shape, const DiagonalBand& band,
                     const Tensor& diagonals, const Tensor* base, const PlainValue& value) {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const Tensor& around = base == nullptr ? diagonals : *base;
    return stream.LaunchWith(place_,
                             BandMatrixArgs{.packed = diagonals.raw_data(),
                                            .base = base == nullptr ? nullptr : base->raw_data(),
                                            .value = value,
                                            .out = output->raw_data(),
                                            .band = band,
                                            .count = output->NumElements()},
                             {ReadOf(diagonals), ReadOf(around), WriteOf(*output)});
  }
  // Fills output 0 with the matrices' diagonals; shorter ones are padded with `value`.
  absl::Status Take(OpKernelContext& ctx, GpuStream& stream, const TensorShape& shape, const DiagonalBand& band,
                    const Tensor& matrices, const PlainValue& value) {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(take_,
                             BandRowsArgs{.in = matrices.raw_data(),
                                          .value = value,
                                          .out = output->raw_data(),
                                          .band = band,
                                          .count = output->NumElements()},
                             {ReadOf(matrices), WriteOf(*output)});
  }

 private:
  DiagonalBand alignment_;
  GpuKernel place_, take_;
};

// A band of one matrix whose diagonal is the whole input.
class DiagKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& diagonal = ctx.input(0);
    if (diagonal.dims() < 1) return errors::InvalidArgument("Input must be at least rank 1, got 0");
    TensorShape shape = diagonal.shape();
    RETURN_IF_ERROR(shape.Append(diagonal.shape()));
    const int64_t n = diagonal.NumElements();
    return Place(ctx, stream, shape, {.rows = n, .columns = n, .length = n}, diagonal, nullptr, {});
  }
};

class DiagPartKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const TensorShape shape, DiagonalOfTensorShape(ctx.input(0).shape()));
    const int64_t n = shape.num_elements();
    return Take(ctx, stream, shape, {.rows = n, .columns = n, .length = n}, ctx.input(0), {});
  }
};

class MatrixDiagKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    TensorShape shape = ctx.input(0).shape();
    if (shape.dims() < 1) {
      return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", shape.ToString());
    }
    RETURN_IF_ERROR(shape.AddDim(FromEnd(shape, 1)));
    return Place(ctx, stream, shape, MainDiagonal(shape), ctx.input(0), nullptr, {});
  }
};

class MatrixDiagPartKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const TensorShape& matrices = ctx.input(0).shape();
    ASSIGN_OR_RETURN(const TensorShape shape, MainDiagonalShape(matrices));
    return Take(ctx, stream, shape, MainDiagonal(matrices), ctx.input(0), {});
  }
};

class MatrixSetDiagKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const TensorShape& shape = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckMainDiagonal(shape, ctx.input(1).shape()));
    return Place(ctx, stream, shape, MainDiagonal(shape), ctx.input(1), &ctx.input(0), {});
  }
};

// Inputs: diagonal, k, num_rows, num_cols, padding_value.
class MatrixDiagBandKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    DiagonalBand band = this->band();
    ASSIGN_OR_RETURN(const TensorShape shape, ReadDiagonalsToPlace(ctx, &band));
    return Place(ctx, stream, shape, band, ctx.input(0), nullptr, ValueOf(ctx.input(4)));
  }
};

// Inputs: input, k, padding_value.
class MatrixDiagPartBandKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    DiagonalBand band = this->band();
    ASSIGN_OR_RETURN(const TensorShape shape, ReadDiagonalsToTake(ctx, &band));
    return Take(ctx, stream, shape, band, ctx.input(0), ValueOf(ctx.input(2)));
  }
};

// Inputs: input, diagonal, k.
class MatrixSetDiagBandKernel : public DiagonalKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    DiagonalBand band = this->band();
    RETURN_IF_ERROR(ReadDiagonalsToSet(ctx, &band));
    return Place(ctx, stream, ctx.input(0).shape(), band, ctx.input(1), &ctx.input(0), {});
  }
};

class MatrixBandPartKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("BandPart", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const BandPart band, ReadBandPart(ctx));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             BandPartArgs{.in = input.raw_data(),
                                          .out = output->raw_data(),
                                          .rows = FromEnd(input.shape(), 2),
                                          .columns = FromEnd(input.shape(), 1),
                                          .lower = band.lower,
                                          .upper = band.upper,
                                          .count = output->NumElements()},
                             {ReadOf(input), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuDiagonalKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  const DataTypeVector numbers = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<DiagKernel>(Kernel("Diag").Device(kDeviceGpu).Types("T", numbers)));
  RETURN_IF_ERROR(kernels.Register<DiagPartKernel>(Kernel("DiagPart").Device(kDeviceGpu).Types("T", numbers)));
  RETURN_IF_ERROR(kernels.Register<MatrixDiagKernel>(kernel("MatrixDiag")));
  RETURN_IF_ERROR(kernels.Register<MatrixDiagPartKernel>(kernel("MatrixDiagPart")));
  RETURN_IF_ERROR(kernels.Register<MatrixSetDiagKernel>(kernel("MatrixSetDiag")));
  for (const char* op : {"MatrixDiagV2", "MatrixDiagV3"}) {
    RETURN_IF_ERROR(kernels.Register<MatrixDiagBandKernel>(
        kernel(op).HostMemory("k").HostMemory("num_rows").HostMemory("num_cols").HostMemory("padding_value")));
  }
  for (const char* op : {"MatrixDiagPartV2", "MatrixDiagPartV3"}) {
    RETURN_IF_ERROR(kernels.Register<MatrixDiagPartBandKernel>(kernel(op).HostMemory("k").HostMemory("padding_value")));
  }
  for (const char* op : {"MatrixSetDiagV2", "MatrixSetDiagV3"}) {
    RETURN_IF_ERROR(kernels.Register<MatrixSetDiagBandKernel>(kernel(op).HostMemory("k")));
  }
  return kernels.Register<MatrixBandPartKernel>(
      kernel("MatrixBandPart").HostMemory("num_lower").HostMemory("num_upper"));
}

}  // namespace weir
