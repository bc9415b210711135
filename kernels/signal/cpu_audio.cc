// DecodeWav, EncodeWav, AudioSpectrogram.
#include <algorithm>
#include <cmath>

#include "kernels/device/parallel.h"
#include "kernels/signal/family.h"
#include "kernels/signal/fourier_transform.h"
#include "kernels/signal/wav.h"

namespace weir {
namespace {

class DecodeWavKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("desired_channels", &channels_));
    RETURN_IF_ERROR(ctx.GetAttr("desired_samples", &frames_));
    if (channels_ < -1) return errors::InvalidArgument("desired_channels must be >= -1, got ", channels_);
    if (frames_ >= -1) return absl::OkStatus();
    return errors::InvalidArgument("desired_samples must be >= -1, got ", frames_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& contents = ctx.input(0);
    if (contents.dims() != 0) {
      return errors::InvalidArgument("contents must be scalar, got shape ", contents.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Sound sound, DecodeWav(contents.scalar<tstring>()));
    const int64_t frames = frames_ < 0 ? sound.frames : frames_, channels = channels_ < 0 ? sound.channels : channels_;
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({frames, channels}));
    ASSIGN_OR_RETURN(Tensor * audio, ctx.allocate_output(0, shape));
    float* to = audio->data<float>();
    for (int64_t frame = 0; channels > 0 && frame < frames; ++frame) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        const int64_t from = frame * sound.channels + std::min(channel, sound.channels - 1);
        *to++ = frame < sound.frames ? sound.samples[from] : 0;
      }
    }
    ctx.set_output(1, Tensor::Scalar<int32_t>(static_cast<int32_t>(sound.rate)));
    return absl::OkStatus();
  }

 private:
  int64_t channels_ = -1, frames_ = -1;
};

class EncodeWavKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &audio = ctx.input(0), &rate = ctx.input(1);
    if (audio.dims() != 2) {
      return errors::InvalidArgument("audio must be 2-dimensional", audio.shape().ToString());
    }
    if (rate.dims() != 0) {
      return errors::InvalidArgument("Input sample_rate should be a scalar tensor, got ", rate.shape().ToString(),
                                     " instead.");
    }
    const int64_t frames = audio.dim_size(0), channels = audio.dim_size(1);
    const int32_t per_second = rate.scalar<int32_t>();
    if (per_second <= 0) return errors::InvalidArgument("sample_rate must be in (0, 2^32), got: ", per_second);
    if (channels == 0 || channels > UINT16_MAX) {
      return errors::InvalidArgument("num_channels must be in (0, 2^16), got: ", channels);
    }
    if (audio.NumElements() > INT32_MAX / 2) {
      return errors::InvalidArgument("Provided channels and frames cannot be encoded as a WAV.");
    }
    ASSIGN_OR_RETURN(Tensor * contents, ctx.allocate_output(0, TensorShape()));
    contents->scalar<tstring>() = EncodeWav(audio.data<float>(), frames, channels, static_cast<uint32_t>(per_second));
    return absl::OkStatus();
  }
};

// The power of each frequency in windows of the sound; a window rises and falls as one wave of a cosine.
class AudioSpectrogramKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("window_size", &window_));
    RETURN_IF_ERROR(ctx.GetAttr("stride", &stride_));
    RETURN_IF_ERROR(ctx.GetAttr("magnitude_squared", &squared_));
    if (window_ <= 1 || window_ > INT32_MAX) return errors::InvalidArgument("window_size must be > 1, got ", window_);
    if (stride_ <= 0) return errors::InvalidArgument("stride must be > 0, got ", stride_);
    while (size_ < window_) size_ *= 2;
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != 2) return errors::InvalidArgument("input must be 2-dimensional", input.shape().ToString());
    const int64_t samples = input.dim_size(0), channels = input.dim_size(1), frequencies = 1 + size_ / 2;
    const int64_t windows = samples < window_ ? 0 : 1 + (samples - window_) / stride_;
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({channels, windows, frequencies}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    std::vector<double> weights(window_);
    for (int64_t i = 0; i < window_; ++i) {
      weights[i] = 0.5 - 0.5 * std::cos(2 * M_PI * static_cast<double>(i) / static_cast<double>(window_));
    }
    const RealFourierTransform<double> transform(size_);
    ParallelRanges(ctx, channels * windows, transform.Cost(), [&](int64_t begin, int64_t end) {
      FourierLines<double> x, scratch;
      for (int64_t i = begin; i < end; ++i) {
        const float* const from = input.data<float>() + i % windows * stride_ * channels + i / windows;
        x.re.assign(transform.packed_length(), 0);
        x.im.assign(transform.packed_length(), 0);
        for (int64_t k = 0; k < window_; ++k) {
          (k % 2 == 0 ? x.re : x.im)[k / 2] = static_cast<double>(from[k * channels]) * weights[k];
        }
        transform.Run(1, &x, &scratch);
        float* const to = output->data<float>() + i * frequencies;
        for (int64_t k = 0; k < frequencies; ++k) {
          const float power = static_cast<float>(x.re[k] * x.re[k] + x.im[k] * x.im[k]);
          to[k] = squared_ ? power : std::sqrt(power);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t window_ = 0, stride_ = 0, size_ = 2;
  bool squared_ = false;
};

}  // namespace

absl::Status RegisterAudioKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<DecodeWavKernel>(Kernel("DecodeWav").Cpu()));
  RETURN_IF_ERROR(kernels.Register<EncodeWavKernel>(Kernel("EncodeWav").Cpu()));
  return kernels.Register<AudioSpectrogramKernel>(Kernel("AudioSpectrogram").Cpu());
}

}  // namespace weir
