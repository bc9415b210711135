// Convolutions and pooling. Images are [batch, height, width, channels], sequences [batch, steps, channels].
#pragma once

#include <string>
#include <utility>

#include "client/layers/activation.h"
#include "client/layers/layer.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

struct ConvolutionOptions {
  int64_t stride = 1;
  int64_t dilation = 1;          // not with a stride other than 1
  std::string padding = "SAME";  // or "VALID"; for Conv1D also "CAUSAL": step t depends on steps up to t
  Activation activation = Activation::kNone;
  LayerOptions layer = {};
};

// Base of all convolutions. Variables: kernel (depthwise_kernel), bias. The kernel starts as Glorot's uniform.
class Convolution : public Layer {
 public:
  const ResourceVariable& weights() const { return weights_; }
  const ResourceVariable& bias() const { return bias_; }

 protected:
  Convolution(const OpScope& at, absl::string_view default_name, ConvolutionOptions options)
      : Layer(at, default_name), options_(std::move(options)) {}
  void MakeVariables(absl::string_view kernel, const TensorShape& shape, int64_t outputs);
  Output Finish(const Scope& scope, const Output& y) const;
  const ConvolutionOptions& options() const { return options_; }

 private:
  ConvolutionOptions options_;
  ResourceVariable weights_, bias_;
};

// [batch, height, width, inputs] → [batch, height', width', filters]. The kernel is [size, size, inputs, filters].
class Conv2D : public Convolution {
 public:
  Conv2D(const OpScope& scope, int64_t inputs, int64_t filters, int64_t kernel_size, ConvolutionOptions options);
  Conv2D(const OpScope& scope, int64_t inputs, int64_t filters, int64_t kernel_size, int64_t stride = 1,
         std::string padding = "SAME", Activation activation = Activation::kNone, const LayerOptions& options = {});
  Output operator()(const OpScope& scope, const Output& x) const;
  Output operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }
};

// [batch, steps, inputs] → [batch, steps', filters]. The kernel is [size, inputs, filters].
class Conv1D : public Convolution {
 public:
  Conv1D(const OpScope& scope, int64_t inputs, int64_t filters, int64_t kernel_size, ConvolutionOptions options = {});
  Output operator()(const OpScope& scope, const Output& x) const;
  Output operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }

 private:
  int64_t kernel_size_;
};

// The gradient of a convolution as a layer, also called deconvolution: [batch, height, width, inputs] →
// [batch, height · stride, width · stride, filters], with "VALID" padding larger by max(size - stride, 0). The kernel
// is [size, size, filters, inputs]. Without dilation.
class Conv2DTranspose : public Convolution {
 public:
  Conv2DTranspose(const OpScope& scope, int64_t inputs, int64_t filters, int64_t kernel_size,
                  ConvolutionOptions options = {});
  Output operator()(const OpScope& scope, const Output& x) const;
  Output operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }

 private:
  int64_t filters_, kernel_size_;
};

// Convolves each channel alone: [batch, height, width, inputs] → [batch, height', width', inputs · multiplier]. The
// depthwise_kernel is [size, size, inputs, multiplier].
class DepthwiseConv2D : public Convolution {
 public:
  DepthwiseConv2D(const OpScope& scope, int64_t inputs, int64_t kernel_size, int64_t multiplier = 1,
                  ConvolutionOptions options = {});
  Output operator()(const OpScope& scope, const Output& x) const;
  Output operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }
};

Output MaxPool2D(const OpScope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding = "VALID");
Output AvgPool2D(const OpScope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding = "VALID");
Output MaxPool1D(const OpScope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding = "VALID");
Output AvgPool1D(const OpScope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding = "VALID");
// Over height and width: [batch, channels].
Output GlobalMaxPool2D(const OpScope& scope, const Output& x);
Output GlobalAvgPool2D(const OpScope& scope, const Output& x);

}  // namespace layers
}  // namespace weir
