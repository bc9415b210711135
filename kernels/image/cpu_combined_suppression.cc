// NonMaxSuppressionWithOverlaps, and CombinedNonMaxSuppression for images with several classes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/tensor/index_tensor.h"
#include "kernels/device/parallel.h"
#include "kernels/image/box_overlap.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

absl::StatusOr<float> ScalarFloat(const Tensor& tensor, const char* name) {
  if (tensor.dims() != 0) return errors::InvalidArgument(name, " must be 0-D, got shape ", tensor.shape().ToString());
  return tensor.scalar<float>();
}
absl::StatusOr<int64_t> ScalarInt(const Tensor& tensor, const char* name) {
  if (tensor.dims() != 0) return errors::InvalidArgument(name, " must be 0-D, got shape ", tensor.shape().ToString());
  return tensor.scalar<int32_t>();
}

// Indices of scores above `least`, best first.
std::vector<int32_t> InOrder(const float* scores, int64_t n, int64_t stride, float least) {
  std::vector<int32_t> order;
  for (int64_t i = 0; i < n; ++i) {
    if (scores[i * stride] > least) order.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return scores[a * stride] > scores[b * stride]; });
  return order;
}

// The first `most` of `order` that none before them suppresses.
template <typename Suppresses>
std::vector<int32_t> Choose(const std::vector<int32_t>& order, int64_t most, const Suppresses& suppresses) {
  std::vector<int32_t> chosen;
  for (int32_t candidate : order) {
    if (static_cast<int64_t>(chosen.size()) >= most) break;
    if (std::none_of(chosen.rbegin(), chosen.rend(), [&](int32_t by) { return suppresses(by, candidate); })) {
      chosen.push_back(candidate);
    }
  }
  return chosen;
}

class SuppressionWithOverlapsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &overlaps = ctx.input(0), &scores = ctx.input(1);
    ASSIGN_OR_RETURN(const int64_t most, ScalarInt(ctx.input(2), "max_output_size"));
    ASSIGN_OR_RETURN(const float threshold, ScalarFloat(ctx.input(3), "overlap_threshold"));
    ASSIGN_OR_RETURN(const float least, ScalarFloat(ctx.input(4), "score_threshold"));
    if (most < 0) return errors::InvalidArgument("output size must be non-negative");
    if (overlaps.dims() != 2) return errors::InvalidArgument("overlaps must be 2-D", overlaps.shape().ToString());
    const int64_t n = overlaps.dim_size(0);
    if (overlaps.dim_size(1) != n) {
      return errors::InvalidArgument("overlaps must be square", overlaps.shape().ToString());
    }
    if (scores.dims() != 1) return errors::InvalidArgument("scores must be 1-D", scores.shape().ToString());
    if (scores.dim_size(0) != n) {
      return errors::InvalidArgument("scores has incompatible shape (Dimensions must be equal, but are ", n, " and ",
                                     scores.dim_size(0), ")");
    }
    const float* const shares = overlaps.data<float>();
    const std::vector<int32_t> chosen =
        Choose(InOrder(scores.data<float>(), n, 1, least), most,
               [&](int32_t by, int32_t candidate) { return !(shares[candidate * n + by] <= threshold); });
    ctx.set_output(0, Tensor::Vector<int32_t>(chosen));
    return absl::OkStatus();
  }
};

struct Detection {
  int64_t box, kind;
  float score;
};

// Inputs: boxes [batch, n, q, 4] with q 1 or the number of classes, scores [batch, n, classes], sizes and thresholds.
class CombinedSuppressionKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("pad_per_class", &pad_per_class_));
    return ctx.GetAttr("clip_boxes", &clip_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    Rule rule;
    ASSIGN_OR_RETURN(rule.per_class, ScalarInt(ctx.input(2), "max_size_per_class"));
    ASSIGN_OR_RETURN(rule.total, ScalarInt(ctx.input(3), "max_total_size"));
    ASSIGN_OR_RETURN(rule.overlap, ScalarFloat(ctx.input(4), "iou_threshold"));
    ASSIGN_OR_RETURN(rule.score, ScalarFloat(ctx.input(5), "score_threshold"));
    RETURN_IF_ERROR(CheckInputs(ctx.input(0), ctx.input(1), rule));
    const int64_t batch = ctx.input(1).dim_size(0), classes = ctx.input(1).dim_size(2);
    const int64_t size = pad_per_class_ ? std::min(rule.total, rule.per_class * classes) : rule.total;
    ASSIGN_OR_RETURN(const TensorShape box_shape, TensorShape::Build({batch, size, 4}));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batch, size}));
    ASSIGN_OR_RETURN(Tensor * boxes, ctx.allocate_output(0, box_shape));
    ASSIGN_OR_RETURN(Tensor * scores, ctx.allocate_output(1, shape));
    ASSIGN_OR_RETURN(Tensor * kinds, ctx.allocate_output(2, shape));
    ASSIGN_OR_RETURN(Tensor * valid, ctx.allocate_output(3, TensorShape({batch})));
    for (Tensor* output : {boxes, scores, kinds}) std::fill_n(output->data<float>(), output->NumElements(), 0.0f);
    for (int64_t b = 0; b < batch; ++b) {
      const std::vector<Detection> found = Detect(ctx.input(0), ctx.input(1), b, rule, size);
      for (size_t i = 0; i < found.size(); ++i) {
        const int64_t at = b * size + static_cast<int64_t>(i);
        const float* const box = ctx.input(0).data<float>() + found[i].box;
        for (int j = 0; j < 4; ++j) {
          boxes->data<float>()[at * 4 + j] = clip_ ? std::max(std::min(box[j], 1.0f), 0.0f) : box[j];
        }
        scores->data<float>()[at] = found[i].score;
        kinds->data<float>()[at] = static_cast<float>(found[i].kind);
      }
      valid->data<int32_t>()[b] = static_cast<int32_t>(found.size());
    }
    return absl::OkStatus();
  }

 private:
  struct Rule {
    int64_t per_class = 0, total = 0;
    float overlap = 0, score = 0;
  };

  static absl::Status CheckInputs(const Tensor& boxes, const Tensor& scores, const Rule& rule) {
    if (rule.per_class <= 0) return errors::InvalidArgument("max_size_per_class must be positive");
    if (rule.total <= 0) return errors::InvalidArgument("max_total_size must be > 0");
    if (rule.total > 1'000'000) {
      return errors::InvalidArgument("max_total_size must be at most 1000000, got ", rule.total);
    }
    if (!(rule.overlap >= 0) || !(rule.overlap <= 1)) {
      return errors::InvalidArgument("iou_threshold must be in [0, 1]");
    }
    if (boxes.dims() != 4 || scores.dims() != 3 || boxes.dim_size(0) != scores.dim_size(0)) {
      return errors::InvalidArgument("boxes and scores must have same batch size");
    }
    if (boxes.dim_size(2) != 1 && boxes.dim_size(2) != scores.dim_size(2)) {
      return errors::InvalidArgument("third dimension of boxes must be either 1 or num classes");
    }
    if (boxes.dim_size(3) != 4) return errors::InvalidArgument("boxes must have 4 columns");
    if (scores.dim_size(1) != boxes.dim_size(1)) return errors::InvalidArgument("scores has incompatible shape");
    return absl::OkStatus();
  }

  // The best of all classes of image `b`, best first.
  static std::vector<Detection> Detect(const Tensor& boxes, const Tensor& scores, int64_t b, const Rule& rule,
                                       int64_t size) {
    const int64_t n = scores.dim_size(1), classes = scores.dim_size(2), q = boxes.dim_size(2);
    std::vector<Detection> found;
    for (int64_t kind = 0; kind < classes; ++kind) {
      const float* const own = scores.data<float>() + b * n * classes + kind;
      const auto box = [&](int32_t i) { return ((b * n + i) * q + (q > 1 ? kind : 0)) * 4; };
      const float* const all = boxes.data<float>();
      for (int32_t i : Choose(InOrder(own, n, classes, rule.score), rule.per_class, [&](int32_t by, int32_t candidate) {
             return BoxOverlap(all + box(by), all + box(candidate)) > rule.overlap;
           })) {
        found.push_back({box(i), kind, own[i * classes]});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Detection& a, const Detection& c) { return a.score > c.score; });
    if (static_cast<int64_t>(found.size()) > size) found.resize(size);
    return found;
  }

  bool pad_per_class_ = false, clip_ = true;
};

}  // namespace

absl::Status RegisterSuppressionKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SuppressionWithOverlapsKernel>(Kernel("NonMaxSuppressionWithOverlaps").Cpu()));
  return kernels.Register<CombinedSuppressionKernel>(Kernel("CombinedNonMaxSuppression").Cpu());
}

}  // namespace weir
