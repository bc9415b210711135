#include "bench/gpu/resnet.h"

#include "client/layers.h"
#include "client/ops.h"

namespace weir::bench {
namespace {

constexpr int kExpansion = 4;  // ratio of a block's outputs to its channels

class Builder {
 public:
  explicit Builder(const Scope& scope) : scope_(scope) {
    convolution_.use_bias = false;
    convolution_.weights = initializers::HeNormal(1);
  }

  // Convolution and normalisation.
  Output Convolve(const std::string& name, const Output& x, int64_t inputs, int64_t outputs, int64_t size,
                  int64_t stride) {
    const Scope scope = scope_.SubScope(name);
    const layers::Conv2D convolution(scope.WithName("conv"), inputs, outputs, size, stride, "SAME",
                                     layers::Activation::kNone, convolution_);
    layers::BatchNorm norm(scope.WithName("norm"), outputs, /*momentum=*/0.9, /*epsilon=*/1e-5);
    const Output y = norm(scope, convolution(scope, x), /*training=*/true);
    updates_.insert(updates_.end(), norm.updates().begin(), norm.updates().end());
    return y;
  }

  Output Bottleneck(const std::string& name, const Output& x, int64_t inputs, int64_t width, int64_t stride) {
    const auto within = [&](const char* part) { return absl::StrCat(name, "/", part); };
    Output y = ops::Relu(scope_, Convolve(within("reduce"), x, inputs, width, 1, 1));
    y = ops::Relu(scope_, Convolve(within("spatial"), y, width, width, 3, stride));
    y = Convolve(within("expand"), y, width, kExpansion * width, 1, 1);
    const Output shortcut = inputs == kExpansion * width && stride == 1
                                ? x
                                : Convolve(within("shortcut"), x, inputs, kExpansion * width, 1, stride);
    return ops::Relu(scope_, ops::AddV2(scope_, y, shortcut));
  }

  std::vector<Operation> updates() const { return updates_; }

 private:
  const Scope scope_;
  layers::LayerOptions convolution_;
  std::vector<Operation> updates_;
};

}  // namespace

ResNet BuildResNet(const Scope& scope, const ResNetOptions& options, const Output& images) {
  Builder builder(scope);
  Output x = ops::Relu(scope, builder.Convolve("stem", images, 3, options.width, 7, 2));
  x = layers::MaxPool2D(scope, x, 3, 2, "SAME");
  int64_t channels = options.width, width = options.width;
  for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
    for (int block = 0; block < options.blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = builder.Bottleneck(absl::StrCat("stage_", stage, "_block_", block), x, channels, width, stride);
      channels = kExpansion * width;
    }
    width *= 2;
  }
  x = ops::Mean(scope, x, Tensor::Vector<int32_t>({1, 2}));
  const layers::Dense head(scope.WithName("head"), channels, options.classes);
  return {.logits = head(scope, x), .updates = builder.updates()};
}

}  // namespace weir::bench
