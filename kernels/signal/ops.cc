// Discrete Fourier transforms.
#include "kernels/device/op_shapes.h"
#include "kernels/signal/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

template <int kRank>
absl::Status ComplexShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), kRank));
  c.set_output(0, std::move(in));
  return absl::OkStatus();
}

// The last dimensions are the lengths; from real to complex the innermost one is halved.
template <int kRank, bool kHalves>
absl::Status RealShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), kRank));
  ASSIGN_OR_RETURN(PartialTensorShape lengths, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(lengths, 0), kRank).status());
  if (in.unknown_rank()) return absl::OkStatus();
  DimVector dims = op_shapes::Dims(in);
  const auto values = op_shapes::ConstantVector(c, 1);
  for (int i = 0; i < kRank; ++i) {
    int64_t& size = dims[dims.size() - kRank + i];
    size = values && values->size() == kRank ? (*values)[i] : kUnknown;
    if (size < kUnknown) return errors::InvalidArgument("fft_length must not be negative, got ", size);
    if (kHalves && i == kRank - 1 && size > 0) size = size / 2 + 1;
  }
  c.set_output(0, c.Of(dims));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterFourierOps(OpRegistry& ops) {
  for (const char* name : {"FFT", "IFFT"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: Tcomplex")
                                     .Output("output: Tcomplex")
                                     .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                     .Shape(ComplexShape<1>)));
  }
  RETURN_IF_ERROR(ops.Register(Op("BatchFFT")
                                   .Input("input: complex64")
                                   .Output("output: complex64")
                                   .Deprecated(15, "Use FFT")
                                   .Shape(ComplexShape<1>)));
  RETURN_IF_ERROR(ops.Register(Op("BatchIFFT")
                                   .Input("input: complex64")
                                   .Output("output: complex64")
                                   .Deprecated(15, "Use IFFT")
                                   .Shape(ComplexShape<1>)));
  for (const char* name : {"FFT2D", "IFFT2D"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: Tcomplex")
                                     .Output("output: Tcomplex")
                                     .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                     .Shape(ComplexShape<2>)));
  }
  RETURN_IF_ERROR(ops.Register(Op("BatchFFT2D")
                                   .Input("input: complex64")
                                   .Output("output: complex64")
                                   .Deprecated(15, "Use FFT2D")
                                   .Shape(ComplexShape<2>)));
  RETURN_IF_ERROR(ops.Register(Op("BatchIFFT2D")
                                   .Input("input: complex64")
                                   .Output("output: complex64")
                                   .Deprecated(15, "Use IFFT2D")
                                   .Shape(ComplexShape<2>)));
  for (const char* name : {"FFT3D", "IFFT3D"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: Tcomplex")
                                     .Output("output: Tcomplex")
                                     .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                     .Shape(ComplexShape<3>)));
  }
  RETURN_IF_ERROR(ops.Register(Op("BatchFFT3D")
                                   .Input("input: complex64")
                                   .Output("output: complex64")
                                   .Deprecated(15, "Use FFT3D")
                                   .Shape(ComplexShape<3>)));
  RETURN_IF_ERROR(ops.Register(Op("BatchIFFT3D")
                                   .Input("input: complex64")
                                   .Output("output: complex64")
                                   .Deprecated(15, "Use IFFT3D")
                                   .Shape(ComplexShape<3>)));
  RETURN_IF_ERROR(ops.Register(Op("RFFT")
                                   .Input("input: Treal")
                                   .Input("fft_length: int32")
                                   .Output("output: Tcomplex")
                                   .Attr("Treal: {float, double} = DT_FLOAT")
                                   .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                   .Shape((RealShape<1, true>))));
  RETURN_IF_ERROR(ops.Register(Op("RFFT2D")
                                   .Input("input: Treal")
                                   .Input("fft_length: int32")
                                   .Output("output: Tcomplex")
                                   .Attr("Treal: {float, double} = DT_FLOAT")
                                   .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                   .Shape((RealShape<2, true>))));
  RETURN_IF_ERROR(ops.Register(Op("RFFT3D")
                                   .Input("input: Treal")
                                   .Input("fft_length: int32")
                                   .Output("output: Tcomplex")
                                   .Attr("Treal: {float, double} = DT_FLOAT")
                                   .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                   .Shape((RealShape<3, true>))));
  RETURN_IF_ERROR(ops.Register(Op("IRFFT")
                                   .Input("input: Tcomplex")
                                   .Input("fft_length: int32")
                                   .Output("output: Treal")
                                   .Attr("Treal: {float, double} = DT_FLOAT")
                                   .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                   .Shape((RealShape<1, false>))));
  RETURN_IF_ERROR(ops.Register(Op("IRFFT2D")
                                   .Input("input: Tcomplex")
                                   .Input("fft_length: int32")
                                   .Output("output: Treal")
                                   .Attr("Treal: {float, double} = DT_FLOAT")
                                   .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                   .Shape((RealShape<2, false>))));
  RETURN_IF_ERROR(ops.Register(Op("IRFFT3D")
                                   .Input("input: Tcomplex")
                                   .Input("fft_length: int32")
                                   .Output("output: Treal")
                                   .Attr("Treal: {float, double} = DT_FLOAT")
                                   .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
                                   .Shape((RealShape<3, false>))));
  return absl::OkStatus();
}

}  // namespace weir
