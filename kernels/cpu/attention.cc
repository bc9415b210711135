// _FusedAttention: scores are computed for a block of queries at a time, which stay in the cache until they have become
// the block's output.
#include <algorithm>
#include <vector>

#include "core/attention_sizes.h"
#include "core/numeric_types.h"
#include "core/target_clones.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/float16.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/softmax_rows.h"

namespace weir {
namespace {

constexpr int64_t kPicosecondsPerMultiply = 15;
constexpr int64_t kPicosecondsPerScore = 1500;
// Of scores, that a thread holds; rows of keys are never cut.
constexpr int64_t kBlockElements = 256 << 10;
constexpr int64_t kMostRows = 128;

WEIR_TARGET_CLONES void Scale(float* x, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}
WEIR_TARGET_CLONES void ScaleAndAdd(float* x, float scale, const float* mask, int64_t n) {
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale + mask[i];
}
WEIR_TARGET_CLONES void ScaleAndAddOne(float* x, float scale, float mask, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale + mask;
}

// Where a tensor's matrix of batch `item` begins.
int64_t BeginOf(int64_t item, const DimVector& batch, const DimVector& steps) {
  int64_t at = 0;
  for (int d = static_cast<int>(batch.size()) - 1; d >= 0; --d) {
    at += item % batch[d] * steps[d];
    item /= batch[d];
  }
  return at;
}

template <typename T>
class FusedAttention {
 public:
  FusedAttention(const AttentionSizes& sizes, bool transpose_k, float scale, Gemm gemm, const T* q, const T* k,
                 const T* v, const T* mask, T* out)
      : s_(sizes),
        transpose_k_(transpose_k),
        scale_(scale),
        gemm_(gemm),
        q_(q),
        k_(k),
        v_(v),
        mask_(mask),
        out_(out),
        rows_(std::clamp<int64_t>(kBlockElements / s_.keys, 1, std::min(kMostRows, s_.queries))),
        blocks_((s_.queries + rows_ - 1) / rows_) {}

  // Of all batches.
  int64_t num_blocks() const {
    int64_t count = blocks_;
    for (const int64_t size : s_.batch) count *= size;
    return count;
  }
  int64_t rows() const { return rows_; }

  // What one thread needs.
  struct Scratch {
    std::vector<float> scores, mask;
    std::vector<T> products, weights;  // where they are not the scores' memory
  };

  void Block(int64_t block, Scratch* scratch) const {
    const int64_t item = block / blocks_, first = block % blocks_ * rows_;
    const int64_t rows = std::min(rows_, s_.queries - first);
    scratch->scores.resize(static_cast<size_t>(rows_ * s_.keys));
    const T* const products = Multiply(item, first, rows, scratch);
    for (int64_t i = 0; i < rows; ++i) Weigh(item, first + i, i, products, scratch);
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
  static constexpr bool kIsFloat = std::is_same_v<T, float>;

  T* Weights(Scratch* scratch) const {
    if constexpr (kIsFloat) {
      return scratch->scores.data();
    } else {
      scratch->weights.resize(scratch->scores.size());
      return scratch->weights.data();
    }
  }

  // q k', of as many rows and keys as there are: a single one stands for all.
  const T* Multiply(int64_t item, int64_t first, int64_t rows, Scratch* scratch) const {
    const int64_t m = s_.q_row == 0 ? 1 : rows, n = s_.k_key == 0 ? 1 : s_.keys;
    T* products = nullptr;
    if constexpr (kIsFloat) {
      if (m == rows && n == s_.keys) products = scratch->scores.data();
    }
    if (products == nullptr) {
      scratch->products.resize(static_cast<size_t>(m * n));
      products = scratch->products.data();
    }
    gemm_({.transpose_b = transpose_k_,
           .m = m,
           .n = n,
           .k = s_.depth,
           .a = q_ + BeginOf(item, s_.batch, s_.q_batch) + first * s_.q_row,
           .lda = s_.depth,
           .b = k_ + BeginOf(item, s_.batch, s_.k_batch),
           .ldb = transpose_k_ ? s_.depth : n,
           .c = products,
           .ldc = n});
    return products;
  }

  // Row `i` of the block becomes weights.
  void Weigh(int64_t item, int64_t query, int64_t i, const T* products, Scratch* scratch) const {
    const int64_t n = s_.keys;
    float* const row = scratch->scores.data() + i * n;
    const int64_t at = s_.q_row == 0 ? 0 : i * (s_.k_key == 0 ? 1 : n);
    if (s_.k_key == 0) {
      std::fill_n(row, n, static_cast<float>(products[at]));
    } else if constexpr (kIsFloat) {
      if (row != products + at) std::copy_n(products + at, n, row);
    } else {
      ToFloats(products + at, row, n);
    }
    AddMask(item, query, row, scratch);
    SoftmaxRow(row, row, n);
    if constexpr (!kIsFloat) FromFloats(row, Weights(scratch) + i * n, n);
  }

  void AddMask(int64_t item, int64_t query, float* row, Scratch* scratch) const {
    if (mask_ == nullptr) return Scale(row, scale_, s_.keys);
    const T* const mask = mask_ + BeginOf(item, s_.batch, s_.mask_batch) + query * s_.mask_row;
    if (s_.mask_key == 0) return ScaleAndAddOne(row, scale_, static_cast<float>(*mask), s_.keys);
    if constexpr (kIsFloat) {
      ScaleAndAdd(row, scale_, mask, s_.keys);
    } else {
      scratch->mask.resize(static_cast<size_t>(s_.keys));
      ToFloats(mask, scratch->mask.data(), s_.keys);
      ScaleAndAdd(row, scale_, scratch->mask.data(), s_.keys);
    }
  }

  const AttentionSizes& s_;
  const bool transpose_k_;
  const float scale_;
  const Gemm gemm_;
  const T *const q_, *const k_, *const v_, *const mask_;
  T* const out_;
  const int64_t rows_, blocks_;
};

class FusedAttentionKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    int64_t num_masks = 0;
    RETURN_IF_ERROR(ctx.GetAttr("num_masks", &num_masks));
    if (num_masks > 1) return errors::InvalidArgument(ctx.op(), " adds at most one mask, not ", num_masks);
    RETURN_IF_ERROR(ctx.GetAttr("scale", &scale_));
    RETURN_IF_ERROR(ctx.GetAttr("transpose_k", &transpose_k_));
    gemm_ = FindGemm(ctx.input_types()[0]);
    return absl::OkStatus();
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
    const Tensor &q = ctx.input(0), &k = ctx.input(1), &v = ctx.input(2);
    const Tensor* const mask = ctx.num_inputs() > 3 ? &ctx.input(3) : nullptr;
    ASSIGN_OR_RETURN(
        const AttentionSizes sizes,
        AttentionSizes::Of(q.shape(), k.shape(), v.shape(), mask == nullptr ? nullptr : &mask->shape(), transpose_k_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, sizes.output));
    if (out->NumElements() == 0) return absl::OkStatus();
    if (sizes.keys == 0) {
      std::fill_n(static_cast<char*>(out->raw_data()), out->TotalBytes(), 0);
      return absl::OkStatus();
    }
    const FusedAttention<T> attention(sizes, transpose_k_, scale_, gemm_, q.data<T>(), k.data<T>(), v.data<T>(),
                                      mask == nullptr ? nullptr : mask->data<T>(), out->data<T>());
    const int64_t cost = attention.rows() * sizes.keys *
                         ((sizes.depth + sizes.columns) * kPicosecondsPerMultiply + kPicosecondsPerScore);
    ParallelRanges(ctx, attention.num_blocks(), cost, [&](int64_t begin, int64_t end) {
      typename FusedAttention<T>::Scratch scratch;
      for (int64_t block = begin; block < end; ++block) attention.Block(block, &scratch);
    });
    return absl::OkStatus();
  }

  float scale_ = 1;
  bool transpose_k_ = false;
  Gemm gemm_ = nullptr;
};

}  // namespace

absl::Status RegisterAttentionKernels(KernelRegistry& kernels) {
  return kernels.Register<FusedAttentionKernel>(
      Kernel("_FusedAttention").Cpu().Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
