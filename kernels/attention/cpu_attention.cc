// _FusedAttention: computes one block of queries at a time, so that the block's scores stay in the cache.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/attention/attention_scores.h"
#include "kernels/attention/cpu_attention.h"
#include "kernels/attention/family.h"
#include "kernels/device/parallel.h"
#include "kernels/softmax/softmax_rows.h"

namespace weir {
namespace {

template <typename T>
class FusedAttention {
 public:
  // `largest` and `sum` may be null.
  FusedAttention(const AttentionSizes& sizes, const AttentionScores<T>& scores, Gemm gemm, const T* v, T* out,
                 float* largest, float* sum)
      : s_(sizes), scores_(scores), gemm_(gemm), v_(v), out_(out), largest_(largest), sum_(sum) {}

  // Buffers of one thread.
  struct Scratch {
    typename AttentionScores<T>::Scratch scores;
    std::vector<T> weights;  // where they are not the scores' memory
  };

  void Block(int64_t block, Scratch* scratch) const {
    const int64_t item = block / scores_.num_blocks(), first = block % scores_.num_blocks() * scores_.rows();
    const int64_t rows = std::min(scores_.rows(), s_.queries - first);
    scores_.Compute(item, first, rows, &scratch->scores);
    for (int64_t i = 0; i < rows; ++i) Weigh(item * s_.queries + first + i, i, scratch);
    gemm_({.m = rows,
           .n = s_.columns,
           .k = s_.keys,
           .a = Weights(scratch),
           .lda = s_.keys,
           .b = v_ + BeginOf(item, s_.batch, s_.v_batch),
           .ldb = s_.columns,
           .c = out_ + (item * s_.queries + first) * s_.columns,
           .ldc = s_.columns});
  }

 private:
  static constexpr bool kIsFloat = AttentionScores<T>::kIsFloat;

  T* Weights(Scratch* scratch) const {
    if constexpr (kIsFloat) {
      return scratch->scores.scores.data();
    } else {
      scratch->weights.resize(scratch->scores.scores.size());
      return scratch->weights.data();
    }
  }

  // Row `i` of the block, which is row `row` of all, becomes weights.
  void Weigh(int64_t row, int64_t i, Scratch* scratch) const {
    const int64_t n = s_.keys;
    float* const scores = scratch->scores.scores.data() + i * n;
    float largest = 0;
    const float sum = ShiftedExponentials(scores, scores, n, &largest);
    if (sum_ != nullptr) {
      largest_[row] = largest;
      sum_[row] = sum;
    }
    ScaleAndMask(scores, 1 / sum, nullptr, 0, n);
    if constexpr (!kIsFloat) FromFloats(scores, Weights(scratch) + i * n, n);
  }

  const AttentionSizes& s_;
  const AttentionScores<T>& scores_;
  const Gemm gemm_;
  const T* const v_;
  T* const out_;
  float *const largest_, *const sum_;
};

class FusedAttentionKernel : public AttentionKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(AttentionKernel::Init(ctx));
    int64_t num_statistics = 0;
    RETURN_IF_ERROR(ctx.GetAttr("num_statistics", &num_statistics));
    return CheckAttentionStatistics(ctx.op(), num_statistics);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    switch (ctx.input(0).dtype()) {
      case DT_HALF:
        return ComputeOf<half>(ctx);
      case DT_BFLOAT16:
        return ComputeOf<bfloat16>(ctx);
      default:
        return ComputeOf<float>(ctx);
    }
  }

 private:
  template <typename T>
  absl::Status ComputeOf(OpKernelContext& ctx) const {
    ASSIGN_OR_RETURN(const AttentionSizes sizes, SizesOf(ctx));
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, sizes.output));
    float* statistics[2] = {};
    for (int i = 1; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor * tensor, ctx.allocate_output(i, sizes.statistics));
      statistics[i - 1] = tensor->data<float>();
    }
    if (sizes.keys == 0) return NoKeys(ctx);
    const AttentionScores<T> scores = ScoresOf<T>(ctx, sizes);
    const FusedAttention<T> attention(sizes, scores, gemm(), ctx.input(2).data<T>(), out->data<T>(), statistics[0],
                                      statistics[1]);
    if (sizes.statistics.num_elements() == 0) return absl::OkStatus();
    const int64_t cost =
        scores.rows() * sizes.keys * ((sizes.depth + sizes.columns) * kPicosecondsPerMultiply + kPicosecondsPerScore);
    ParallelRanges(ctx, scores.num_items() * scores.num_blocks(), cost, [&](int64_t begin, int64_t end) {
      typename FusedAttention<T>::Scratch scratch;
      for (int64_t block = begin; block < end; ++block) attention.Block(block, &scratch);
    });
    return absl::OkStatus();
  }

  static absl::Status NoKeys(OpKernelContext& ctx) {
    Tensor* const out = ctx.mutable_output(0);
    std::fill_n(static_cast<char*>(out->raw_data()), out->TotalBytes(), 0);
    for (int i = 1; i < ctx.num_outputs(); ++i) {
      std::ranges::fill(ctx.mutable_output(i)->flat<float>(), i == 1 ? -std::numeric_limits<float>::infinity() : 0.0f);
    }
    return absl::OkStatus();
  }
};

// The shape that scores would have.
class ScoresShapeKernel : public OpKernel {
 public:
  bool IsExpensive() const override { return false; }
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("transpose_k", &transpose_k_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape* const mask = ctx.num_inputs() > 2 ? &ctx.input(2).shape() : nullptr;
    ASSIGN_OR_RETURN(const TensorShape shape,
                     AttentionSizes::ScoresOf(ctx.input(0).shape(), ctx.input(1).shape(), mask, transpose_k_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({shape.dims()})));
    return WriteIntegers(shape.dim_sizes(), output);
  }

 private:
  bool transpose_k_ = false;
};

}  // namespace

absl::Status RegisterAttentionKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ScoresShapeKernel>(
      Kernel("_AttentionScoresShape").Cpu().Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16})));
  return kernels.Register<FusedAttentionKernel>(
      Kernel("_FusedAttention").Cpu().Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
