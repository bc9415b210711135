// Choosing boxes by score, without those that overlap better ones.
#include <cmath>
#include <limits>
#include <queue>
#include <vector>

#include "kernels/device/wide.h"
#include "kernels/image/box_overlap.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

struct Selection {
  std::vector<int32_t> boxes;
  std::vector<float> scores;
};
struct SelectionRule {
  int64_t most = 0;
  float overlap = 0.5f;
  float least_score = -std::numeric_limits<float>::infinity();
  float sigma = 0;  // 0: what overlaps is dropped; else its score decays
};

// Greedily by score. A score that decayed is queued again.
Selection Select(const float* boxes, const float* scores, int64_t n, const SelectionRule& rule) {
  struct Candidate {
    float score;
    int32_t box;
    size_t compared;  // with how many of those selected
    bool operator<(const Candidate& other) const {
      return score < other.score || (score == other.score && box > other.box);
    }
  };
  std::priority_queue<Candidate> queue;
  for (int64_t i = 0; i < n; ++i) {
    if (scores[i] > rule.least_score) queue.push({scores[i], static_cast<int32_t>(i), 0});
  }
  Selection selected;
  while (static_cast<int64_t>(selected.boxes.size()) < rule.most && !queue.empty()) {
    Candidate next = queue.top();
    queue.pop();
    const float before = next.score;
    bool dropped = false;
    for (size_t j = selected.boxes.size(); j-- > next.compared;) {
      const float common = BoxOverlap(boxes + 4 * int64_t{next.box}, boxes + 4 * int64_t{selected.boxes[j]});
      if (rule.sigma > 0) next.score *= std::exp(-0.5f / rule.sigma * common * common);
      if (rule.sigma <= 0 && common > rule.overlap) {
        dropped = true;
        break;
      }
      if (next.score <= rule.least_score) break;
    }
    next.compared = selected.boxes.size();
    if (dropped) continue;
    if (next.score == before) {
      selected.boxes.push_back(next.box);
      selected.scores.push_back(next.score);
    } else if (next.score > rule.least_score) {
      queue.push(next);
    }
  }
  return selected;
}

absl::StatusOr<float> ScalarFloat(OpKernelContext& ctx, int i, const char* name) {
  if (ctx.input(i).dims() != 0) {
    return errors::InvalidArgument(name, " must be 0-D, got shape ", ctx.input(i).shape().ToString());
  }
  ASSIGN_OR_RETURN(const Tensor value, ConvertTensor(ctx, ctx.input(i), DT_FLOAT));
  return value.scalar<float>();
}

// Versions 1 to 5: boxes, scores, max_output_size; from version 2 on iou_threshold, from 3 score_threshold, 5
// soft_nms_sigma.
class NonMaxSuppressionKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    has_scores_output_ = ctx.op() == "NonMaxSuppressionV5";
    if (ctx.HasAttr("pad_to_max_output_size")) RETURN_IF_ERROR(ctx.GetAttr("pad_to_max_output_size", &pad_));
    if (!ctx.HasAttr("iou_threshold")) return absl::OkStatus();
    RETURN_IF_ERROR(ctx.GetAttr("iou_threshold", &overlap_));
    return CheckOverlap(overlap_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& boxes = ctx.input(0);
    const Tensor& scores = ctx.input(1);
    if (ctx.input(2).dims() != 0) {
      return errors::InvalidArgument("max_output_size must be 0-D, got shape ", ctx.input(2).shape().ToString());
    }
    SelectionRule rule;
    rule.most = ctx.input(2).scalar<int32_t>();
    rule.overlap = overlap_;
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(rule.overlap, ScalarFloat(ctx, 3, "iou_threshold"));
      RETURN_IF_ERROR(CheckOverlap(rule.overlap));
    }
    if (rule.most < 0) return errors::InvalidArgument("output size must be non-negative");
    if (ctx.num_inputs() > 4) {
      ASSIGN_OR_RETURN(rule.least_score, ScalarFloat(ctx, 4, "score_threshold"));
    }
    if (ctx.num_inputs() > 5) {
      ASSIGN_OR_RETURN(rule.sigma, ScalarFloat(ctx, 5, "soft_nms_sigma"));
      if (!(rule.sigma >= 0)) return errors::InvalidArgument("soft_nms_sigma_val must be >= 0");
    }
    if (boxes.dims() != 2)
      return errors::InvalidArgument("boxes must be 2-D", boxes.shape().ToString(),
                                     " (Shape must be rank 2 but is rank ", boxes.dims(), ")");
    if (boxes.dim_size(1) != 4)
      return errors::InvalidArgument("boxes must have 4 columns (Dimension must be 4 but is ", boxes.dim_size(1), ")");
    const int64_t n = boxes.dim_size(0);
    if (n > std::numeric_limits<int32_t>::max()) return errors::InvalidArgument("Too many boxes: ", n);
    if (scores.dims() != 1)
      return errors::InvalidArgument("scores must be 1-D", scores.shape().ToString(),
                                     " (Shape must be rank 1 but is rank ", scores.dims(), ")");
    if (scores.dim_size(0) != n) {
      return errors::InvalidArgument("scores has incompatible shape (Dimensions must be equal, but are ", n, " and ",
                                     scores.dim_size(0), ")");
    }
    ASSIGN_OR_RETURN(const Tensor corners, ConvertTensor(ctx, boxes, DT_FLOAT));
    ASSIGN_OR_RETURN(const Tensor values, ConvertTensor(ctx, scores, DT_FLOAT));
    Selection selected = Select(corners.data<float>(), values.data<float>(), n, rule);
    const int32_t valid = static_cast<int32_t>(selected.boxes.size());
    const int64_t count = pad_ ? rule.most : valid;
    ASSIGN_OR_RETURN(Tensor * chosen, ctx.allocate_output(0, TensorShape({count})));
    std::fill_n(chosen->data<int32_t>(), count, 0);
    std::copy(selected.boxes.begin(), selected.boxes.end(), chosen->data<int32_t>());
    if (has_scores_output_) {
      ASSIGN_OR_RETURN(Tensor kept, ctx.allocate_temp(DT_FLOAT, TensorShape({count})));
      std::fill_n(kept.data<float>(), count, 0.0f);
      std::copy(selected.scores.begin(), selected.scores.end(), kept.data<float>());
      ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, kept, ctx.expected_output_dtype(1)));
      ctx.set_output(1, std::move(narrow));
    }
    if (ctx.num_outputs() > 1) ctx.set_output(ctx.num_outputs() - 1, Tensor::Scalar<int32_t>(valid));
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckOverlap(float overlap) {
    if (overlap >= 0 && overlap <= 1) return absl::OkStatus();
    return errors::InvalidArgument("iou_threshold must be in [0, 1]");
  }

  bool has_scores_output_ = false, pad_ = false;
  float overlap_ = 0.5f;
};

}  // namespace

absl::Status RegisterImageBoxKernels(KernelRegistry& kernels) {
  for (const char* op : {"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4",
                         "NonMaxSuppressionV5"}) {
    RETURN_IF_ERROR(kernels.Register<NonMaxSuppressionKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
