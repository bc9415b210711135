// Gradients of Fourier transforms.
#include "graph/gradients/gradient_context.h"
#include "kernels/signal/family.h"

namespace weir {
namespace {

using G = GradientContext;

// The number of elements of the last `rank` dimensions, as `type`.
Output TransformSize(G& g, const Output& x, int rank, DataType type) {
  const Output dims = g.Call("StridedSlice",
                             {g.Call("Shape", {x}), Tensor::Vector<int32_t>({-rank}), Tensor::Vector<int32_t>({0}),
                              Tensor::Vector<int32_t>({1})},
                             {G::Set("end_mask", int64_t{1})});
  return g.Call("Cast", {g.Call("Prod", {dims, Tensor::Vector<int32_t>({0})})}, {G::Set("DstT", type)});
}
// The adjoint of a transform is the other one, but for its scale.
template <int kRank, const char* kInverse>
absl::Status Fft(G& g) {
  g.set_grad(0, g.Call("Mul", {g.Call(kInverse, {g.dy()}), TransformSize(g, g.dy(), kRank, g.dy().type())}));
  return absl::OkStatus();
}
template <int kRank, const char* kForward>
absl::Status Ifft(G& g) {
  g.set_grad(0, g.Call("RealDiv", {g.Call(kForward, {g.dy()}), TransformSize(g, g.dy(), kRank, g.dy().type())}));
  return absl::OkStatus();
}

// `x` cut or filled with zeros to `shape`, of the same rank.
Output FitTo(G& g, const Output& x, const Output& shape) {
  const Output own = g.Call("Shape", {x}), least = g.Call("Minimum", {own, shape});
  const Output cut = g.Call("Slice", {x, g.Call("ZerosLike", {own}), least});
  const Output after = g.Call("Sub", {shape, least});
  const Output pads = g.CallWithLists("Pack", {{g.Call("ZerosLike", {after}), after}}, {G::Set("axis", int64_t{1})});
  return g.Call("Pad", {cut, pads});
}
// The last dimensions of `like` replaced by `lengths`.
Output WithLengths(G& g, const Output& like, const Output& lengths, int rank) {
  const Output batch = g.Call("StridedSlice",
                              {g.Call("Shape", {like}), Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({-rank}),
                               Tensor::Vector<int32_t>({1})},
                              {G::Set("begin_mask", int64_t{1})});
  return g.CallWithLists("ConcatV2", {{batch, lengths}, {Tensor::Scalar<int32_t>(0)}});
}

// y_k = sum of x_n exp(-2 pi i k n / N) for half of the k: the real part of the whole inverse of dy, filled up.
template <int kRank, const char* kInverse>
absl::Status Rfft(G& g) {
  const Output x = g.input(0), lengths = g.input(1), dy = g.dy();
  const Output whole = FitTo(g, dy, WithLengths(g, dy, lengths, kRank));
  const Output back = g.Call("Mul", {g.Call(kInverse, {whole}), TransformSize(g, whole, kRank, dy.type())});
  g.set_grad(0, FitTo(g, g.Call("Real", {back}, {G::Set("Tout", x.type())}), g.Call("Shape", {x})));
  return absl::OkStatus();
}

// Each element but the first, and the middle one of an even length, stands for its mirror image too.
template <int kRank, const char* kForward>
absl::Status Irfft(G& g) {
  const Output x = g.input(0), lengths = g.input(1), dy = g.dy();
  const Output spectrum = g.Call(kForward, {dy, lengths}, {G::Set("Treal", dy.type()), G::Set("Tcomplex", x.type())});
  const Output length =
      g.Call("StridedSlice",
             {lengths, Tensor::Vector<int32_t>({-1}), Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1})},
             {G::Set("end_mask", int64_t{1}), G::Set("shrink_axis_mask", int64_t{1})});
  const Output half = g.Call("AddV2", {g.Call("FloorDiv", {length, 2}), 1});
  const Output k = g.Call("Range", {0, half, 1}, {G::Set("Tidx", DT_INT32)});
  const Output alone = g.Call("LogicalOr", {g.Call("Equal", {k, Tensor::Scalar<int32_t>(0)}),
                                            g.Call("Equal", {g.Call("Mul", {k, 2}), length})});
  const Output copies = g.Call("SelectV2", {alone, Tensor::Scalar<int32_t>(1), Tensor::Scalar<int32_t>(2)});
  const Output weights = g.Call("Cast", {copies}, {G::Set("DstT", x.type())});
  const Output scaled = g.Call("RealDiv", {g.Call("Mul", {spectrum, weights}), TransformSize(g, dy, kRank, x.type())});
  g.set_grad(0, FitTo(g, scaled, g.Call("Shape", {x})));
  return absl::OkStatus();
}
constexpr char kFft[] = "FFT", kFft2d[] = "FFT2D", kFft3d[] = "FFT3D", kIfft[] = "IFFT", kIfft2d[] = "IFFT2D",
               kIfft3d[] = "IFFT3D", kRfft[] = "RFFT", kRfft2d[] = "RFFT2D", kRfft3d[] = "RFFT3D";

}  // namespace

absl::Status RegisterFourierGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"FFT", Fft<1, kIfft>},     {"FFT2D", Fft<2, kIfft2d>},     {"FFT3D", Fft<3, kIfft3d>},
      {"IFFT", Ifft<1, kFft>},    {"IFFT2D", Ifft<2, kFft2d>},    {"IFFT3D", Ifft<3, kFft3d>},
      {"RFFT", Rfft<1, kIfft>},   {"RFFT2D", Rfft<2, kIfft2d>},   {"RFFT3D", Rfft<3, kIfft3d>},
      {"IRFFT", Irfft<1, kRfft>}, {"IRFFT2D", Irfft<2, kRfft2d>}, {"IRFFT3D", Irfft<3, kRfft3d>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
