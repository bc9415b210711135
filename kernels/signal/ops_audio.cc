// Sounds: WAV files, spectra, and what recognisers of speech make of them.
#include "kernels/device/op_shapes.h"
#include "kernels/signal/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// An attribute that is a size, or -1.
absl::StatusOr<int64_t> Wanted(InferenceContext& c, const char* attr, const char* name) {
  int64_t size;
  RETURN_IF_ERROR(c.GetAttr(attr, &size));
  if (size >= -1) return size;
  return errors::InvalidArgument(name, " must be non-negative, got ", size);
}

absl::Status DecodeWavShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  ASSIGN_OR_RETURN(const int64_t channels, Wanted(c, "desired_channels", "channels"));
  ASSIGN_OR_RETURN(const int64_t samples, Wanted(c, "desired_samples", "samples"));
  c.set_output(0, c.Matrix(samples, channels));
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

absl::Status EncodeWavShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 2).status());
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

// [samples, channels] to [channels, windows, frequencies].
absl::Status SpectrogramShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape input, c.WithRank(c.input(0), 2));
  int64_t window, stride;
  RETURN_IF_ERROR(c.GetAttr("window_size", &window));
  RETURN_IF_ERROR(c.GetAttr("stride", &stride));
  if (window <= 1 || window > INT32_MAX) return errors::InvalidArgument("window_size must be > 1, got ", window);
  if (stride <= 0) return errors::InvalidArgument("stride must be > 0, got ", stride);
  const int64_t samples = c.Dim(input, 0);
  int64_t size = 2;
  while (size < window) size *= 2;
  const int64_t windows = samples == kUnknown ? kUnknown : samples < window ? 0 : 1 + (samples - window) / stride;
  c.set_output(0, c.Of({c.Dim(input, 1), windows, 1 + size / 2}));
  return absl::OkStatus();
}

absl::Status MfccShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape spectrogram, c.WithRank(c.input(0), 3));
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  int64_t coefficients;
  RETURN_IF_ERROR(c.GetAttr("dct_coefficient_count", &coefficients));
  c.set_output(0, c.Of({c.Dim(spectrogram, 0), c.Dim(spectrogram, 1), coefficients}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterAudioOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("DecodeWav")
                                   .Input("contents: string")
                                   .Output("audio: float")
                                   .Output("sample_rate: int32")
                                   .Attr("desired_channels: int = -1")
                                   .Attr("desired_samples: int = -1")
                                   .Shape(DecodeWavShape)));
  RETURN_IF_ERROR(ops.Register(Op("EncodeWav")
                                   .Input("audio: float")
                                   .Input("sample_rate: int32")
                                   .Output("contents: string")
                                   .Shape(EncodeWavShape)));
  RETURN_IF_ERROR(ops.Register(Op("AudioSpectrogram")
                                   .Input("input: float")
                                   .Output("spectrogram: float")
                                   .Attr("window_size: int")
                                   .Attr("stride: int")
                                   .Attr("magnitude_squared: bool = false")
                                   .Shape(SpectrogramShape)));
  return ops.Register(Op("Mfcc")
                          .Input("spectrogram: float")
                          .Input("sample_rate: int32")
                          .Output("output: float")
                          .Attr("upper_frequency_limit: float = 4000")
                          .Attr("lower_frequency_limit: float = 20")
                          .Attr("filterbank_channel_count: int = 40")
                          .Attr("dct_coefficient_count: int = 13")
                          .Shape(MfccShape));
}

}  // namespace weir
