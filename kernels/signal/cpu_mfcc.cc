// Mfcc: the cepstrum of a spectrogram over the mel scale of pitch.
#include <algorithm>
#include <cmath>

#include "kernels/device/parallel.h"
#include "kernels/signal/family.h"

namespace weir {
namespace {

double Mel(double hertz) { return 1127.0 * std::log1p(hertz / 700.0); }

// Sums the amplitudes of frequencies in overlapping triangles that are equally wide in mels. Each frequency lies on the
// falling side of one triangle and on the rising side of the next.
class MelBands {
 public:
  MelBands(int64_t frequencies, double sample_rate, int64_t bands, double low, double high)
      : bands_(bands), band_(frequencies), falling_(frequencies) {
    const double low_mel = Mel(low), spacing = (Mel(high) - low_mel) / static_cast<double>(bands + 1);
    const auto center = [&](int64_t i) { return low_mel + spacing * static_cast<double>(i + 1); };
    const double step = 0.5 * sample_rate / static_cast<double>(frequencies - 1);
    first_ = ToIndex(1.5 + low / step, frequencies);
    last_ = ToIndex(high / step, frequencies);
    int64_t band = 0;
    for (int64_t i = first_; i <= std::min(last_, frequencies - 1); ++i) {
      const double mel = Mel(static_cast<double>(i) * step);
      while (band < bands && center(band) < mel) ++band;
      band_[i] = band - 1;
      const double above = band == 0 ? low_mel : center(band - 1);
      falling_[i] = (center(band) - mel) / (center(band) - above);
    }
  }

  // Nothing where the scale goes beyond the spectrum.
  void Compute(const float* power, std::vector<double>* sums) const {
    sums->clear();
    if (last_ >= static_cast<int64_t>(band_.size())) return;
    sums->resize(bands_, 0);
    for (int64_t i = first_; i <= last_; ++i) {
      const double amplitude = std::sqrt(static_cast<double>(power[i])), falling = amplitude * falling_[i];
      if (band_[i] >= 0) (*sums)[band_[i]] += falling;
      if (band_[i] + 1 < bands_) (*sums)[band_[i] + 1] += amplitude - falling;
    }
  }

 private:
  // `count` stands for what lies beyond.
  static int64_t ToIndex(double position, int64_t count) {
    return position < static_cast<double>(count) ? static_cast<int64_t>(position) : count;
  }

  const int64_t bands_;
  int64_t first_ = 0, last_ = 0;
  std::vector<int64_t> band_;  // below which each frequency's triangle falls; -1 before the first
  std::vector<double> falling_;
};

class MfccKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("upper_frequency_limit", &high_));
    RETURN_IF_ERROR(ctx.GetAttr("lower_frequency_limit", &low_));
    RETURN_IF_ERROR(ctx.GetAttr("filterbank_channel_count", &bands_));
    return ctx.GetAttr("dct_coefficient_count", &coefficients_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &spectrogram = ctx.input(0), &rate = ctx.input(1);
    if (spectrogram.dims() != 3) {
      return errors::InvalidArgument("spectrogram must be 3-dimensional", spectrogram.shape().ToString());
    }
    if (rate.dims() != 0) {
      return errors::InvalidArgument("Input sample_rate should be a scalar tensor, got ", rate.shape().ToString(),
                                     " instead.");
    }
    const int64_t frequencies = spectrogram.dim_size(2);
    const int32_t per_second = rate.scalar<int32_t>();
    if (!CanBe(frequencies, per_second)) {
      return errors::InvalidArgument("Mfcc initialization failed for channel count ", frequencies, ", sample rate ",
                                     per_second, " and filterbank_channel_count ", bands_);
    }
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Build({spectrogram.dim_size(0), spectrogram.dim_size(1), coefficients_}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0)
      return absl::OkStatus();  // else there are as many frequencies as there is memory for
    const int64_t rows = spectrogram.NumElements() / frequencies;
    ASSIGN_OR_RETURN(const Tensor cosines, Cosines(ctx));
    const MelBands bands(frequencies, per_second, bands_, low_, high_);
    const int64_t cost = 10'000 * frequencies + 1'000 * bands_ * coefficients_;
    ParallelRanges(ctx, rows, cost, [&](int64_t begin, int64_t end) {
      std::vector<double> sums;
      for (int64_t row = begin; row < end; ++row) {
        bands.Compute(spectrogram.data<float>() + row * frequencies, &sums);
        constexpr double kFloor = 1e-12;
        for (double& sum : sums) sum = std::log(std::max(sum, kFloor));
        for (int64_t i = 0; i < coefficients_; ++i) {
          const double* const cosine = cosines.data<double>() + i * bands_;
          double total = 0;
          for (size_t j = 0; j < sums.size(); ++j) total += cosine[j] * sums[j];
          output->data<float>()[row * coefficients_ + i] = static_cast<float>(total);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  bool CanBe(int64_t frequencies, int32_t per_second) const {
    return bands_ >= 1 && bands_ <= kMostBands && per_second > 0 && frequencies >= 2 && low_ >= 0 && high_ > low_ &&
           coefficients_ >= 1 && coefficients_ <= bands_;
  }
  // [coefficients, bands]
  absl::StatusOr<Tensor> Cosines(OpKernelContext& ctx) const {
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({coefficients_, bands_}));
    ASSIGN_OR_RETURN(Tensor cosines, ctx.allocate_temp(DT_DOUBLE, shape));
    const double bands = static_cast<double>(bands_), scale = std::sqrt(2.0 / bands);
    for (int64_t i = 0; i < coefficients_; ++i) {
      for (int64_t j = 0; j < bands_; ++j) {
        cosines.data<double>()[i * bands_ + j] =
            scale * std::cos(static_cast<double>(i) * (M_PI / bands) * (static_cast<double>(j) + 0.5));
      }
    }
    return cosines;
  }

  static constexpr int64_t kMostBands = 1 << 16;  // far more than the ear resolves
  float high_ = 0, low_ = 0;
  int64_t bands_ = 0, coefficients_ = 0;
};

}  // namespace

absl::Status RegisterMfccKernels(KernelRegistry& kernels) { return kernels.Register<MfccKernel>(Kernel("Mfcc").Cpu()); }

}  // namespace weir
