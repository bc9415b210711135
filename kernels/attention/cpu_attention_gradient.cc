// _FusedAttentionGrad: for one block of queries at a time, recomputes the scores, turns them into weights by the
// statistics that the attention saved, then into gradients of scores, and multiplies these to get the gradients of
// queries, keys and values.
#include <algorithm>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/attention/cpu_attention.h"
#include "kernels/attention/family.h"
#include "kernels/device/parallel.h"
#include "kernels/device/target_clones.h"
#include "kernels/softmax/softmax_rows.h"

namespace weir {
namespace {

// Items with less of them than this are divided, so that several threads work on them: a constant, so that sums are
// the same whatever the threads.
constexpr int64_t kEnoughTasks = 8;

WEIR_TARGET_CLONES void AddTo(float* sum, const float* x, int64_t n) {
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

WEIR_TARGET_CLONES float Dot(const float* x, const float* y, int64_t n) {
  constexpr int kLanes = 32;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane] * y[i + lane];
  }
  for (; i < n; ++i) lanes[0] += x[i] * y[i];
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

// The gradient of a row of weights becomes that of the products that they come from.
WEIR_TARGET_CLONES void ThroughSoftmax(float* gradient, const float* weights, float dot, float scale, int64_t n) {
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) gradient[i] = weights[i] * (gradient[i] - dot) * scale;
}

template <typename T>
class AttentionGradient {
 public:
  struct Tensors {
    const T *v, *gradient;
    const float *largest, *sum;
    T *dq, *dk, *dv;
  };

  AttentionGradient(const AttentionGradientSizes& sizes, const AttentionAttrs& attrs, const AttentionScores<T>& scores,
                    Gemm gemm, const Tensors& tensors)
      : sizes_(sizes), s_(sizes.forward), attrs_(attrs), scores_(scores), gemm_(gemm), t_(tensors) {
    const int64_t items = sizes_.num_items();
    one_by_one_ = items == scores_.num_items();
    writes_dq_ = one_by_one_ && sizes_.queries == s_.queries;
    if (one_by_one_ && writes_dq_ && items < kEnoughTasks) {
      parts_ = std::min(scores_.num_blocks(), (kEnoughTasks + items - 1) / items);
    }
    if (parts_ > 1) sums_.resize(static_cast<size_t>(items * parts_ * (dk_size() + dv_size())));
  }

  int64_t num_tasks() const { return sizes_.num_items() * parts_; }
  int64_t blocks_of_task() const {
    return scores_.num_items() / std::max<int64_t>(sizes_.num_items(), 1) * scores_.num_blocks() / parts_ + 1;
  }

  // Buffers of one thread.
  struct Scratch {
    typename AttentionScores<T>::Scratch scores;
    std::vector<float> gradients, reduced, dq, dk, dv;
    std::vector<T> products, weights, narrow;
  };

  void Task(int64_t task, Scratch* scratch) {
    const int64_t own = task / parts_, part = task % parts_;
    const int64_t begin = scores_.num_blocks() * part / parts_, end = scores_.num_blocks() * (part + 1) / parts_;
    float* const dk = Sums(task, 0, dk_size(), &scratch->dk);
    if (!writes_dq_) scratch->dq.assign(static_cast<size_t>(dq_size()), 0);
    for (const int64_t item : sizes_.ItemsOf(own)) {
      float* const dv = Sums(task, dk_size(), dv_size(), &scratch->dv);
      for (int64_t block = begin; block < end; ++block) {
        Block(item, own, block * scores_.rows(), dk, dv, scratch);
      }
      if (parts_ == 1) Give(dv, t_.dv + item * dv_size(), dv_size());
    }
    if (parts_ == 1) Give(dk, t_.dk + own * dk_size(), dk_size());
    if (!writes_dq_) Give(scratch->dq.data(), t_.dq + own * dq_size(), dq_size());
  }

  // After all tasks: adds up an item's parts.
  void Finish(int64_t item) {
    if (parts_ == 1) return;
    const int64_t size = dk_size() + dv_size();
    float* const first = sums_.data() + item * parts_ * size;
    for (int64_t part = 1; part < parts_; ++part) AddTo(first, first + part * size, size);
    Give(first, t_.dk + item * dk_size(), dk_size());
    Give(first + dk_size(), t_.dv + item * dv_size(), dv_size());
  }

 private:
  static constexpr bool kIsFloat = AttentionScores<T>::kIsFloat;

  int64_t dq_size() const { return sizes_.queries * s_.depth; }
  int64_t dk_size() const { return sizes_.keys * s_.depth; }
  int64_t dv_size() const { return s_.keys * s_.columns; }

  // Zeros: of the task where an item has several, else of the thread.
  float* Sums(int64_t task, int64_t at, int64_t size, std::vector<float>* own) {
    if (parts_ > 1) return sums_.data() + task * (dk_size() + dv_size()) + at;
    own->assign(static_cast<size_t>(size), 0);
    return own->data();
  }
  static void Give(const float* from, T* to, int64_t n) {
    if constexpr (kIsFloat) {
      std::copy_n(from, n, to);
    } else {
      FromFloats(from, to, n);
    }
  }
  static T* Resized(std::vector<T>* buffer, int64_t n) {
    buffer->resize(std::max(buffer->size(), static_cast<size_t>(n)));
    return buffer->data();
  }

  void Block(int64_t item, int64_t own, int64_t first, float* dk, float* dv, Scratch* scratch) const {
    const int64_t rows = std::min(scores_.rows(), s_.queries - first);
    const T* const gradient = t_.gradient + (item * s_.queries + first) * s_.columns;
    scores_.Compute(item, first, rows, &scratch->scores);
    DifferentiateWeights(item, gradient, rows, scratch);
    const T* const weights = PassSoftmax(item * s_.queries + first, rows, scratch);
    AddProduct({.transpose_a = true,
                .m = s_.keys,
                .n = s_.columns,
                .k = rows,
                .a = weights,
                .lda = s_.keys,
                .b = gradient,
                .ldb = s_.columns},
               dv, scratch);
    if (s_.depth > 0) Multiply(item, own, first, rows, dk, scratch);
  }

  // The gradient of weights, in float.
  void DifferentiateWeights(int64_t item, const T* gradient, int64_t rows, Scratch* scratch) const {
    const size_t size = static_cast<size_t>(scores_.rows() * s_.keys);
    scratch->gradients.resize(size);
    T* out = nullptr;
    if constexpr (kIsFloat) {
      out = scratch->gradients.data();
    } else {
      out = Resized(&scratch->products, static_cast<int64_t>(size));
    }
    gemm_({.transpose_b = true,
           .m = rows,
           .n = s_.keys,
           .k = s_.columns,
           .a = gradient,
           .lda = s_.columns,
           .b = t_.v + BeginOf(item, s_.batch, s_.v_batch),
           .ldb = s_.columns,
           .c = out,
           .ldc = s_.keys});
    if constexpr (!kIsFloat) ToFloats(out, scratch->gradients.data(), rows * s_.keys);
  }

  // Scores become weights, which are returned, and their gradient that of products.
  const T* PassSoftmax(int64_t first_row, int64_t rows, Scratch* scratch) const {
    const int64_t n = s_.keys;
    for (int64_t i = 0; i < rows; ++i) {
      float* const weights = scratch->scores.scores.data() + i * n;
      float* const gradient = scratch->gradients.data() + i * n;
      Exponentials(weights, t_.largest[first_row + i], weights, n);
      ScaleAndMask(weights, 1 / t_.sum[first_row + i], nullptr, 0, n);
      ThroughSoftmax(gradient, weights, Dot(gradient, weights, n), attrs_.scale, n);
    }
    if constexpr (kIsFloat) {
      return scratch->scores.scores.data();
    } else {
      T* const weights = Resized(&scratch->weights, rows * n);
      FromFloats(scratch->scores.scores.data(), weights, rows * n);
      return weights;
    }
  }

  // Adds to the gradients of queries and keys.
  void Multiply(int64_t item, int64_t own, int64_t first, int64_t rows, float* dk, Scratch* scratch) const {
    const bool is_of_row = sizes_.queries == s_.queries;
    const int64_t m = is_of_row ? rows : 1, n = sizes_.keys;
    const float* const reduced = Reduced(rows, m, n, scratch);
    const T* gradient = nullptr;
    if constexpr (kIsFloat) {
      gradient = reduced;
    } else {
      T* const narrow = Resized(&scratch->narrow, m * n);
      FromFloats(reduced, narrow, m * n);
      gradient = narrow;
    }
    GemmArgs to_queries{.transpose_b = !attrs_.transpose_k,
                        .m = m,
                        .n = s_.depth,
                        .k = n,
                        .a = gradient,
                        .lda = n,
                        .b = scores_.keys(item),
                        .ldb = attrs_.transpose_k ? s_.depth : n};
    if (writes_dq_) {
      to_queries.c = t_.dq + (own * s_.queries + first) * s_.depth;
      to_queries.ldc = s_.depth;
      gemm_(to_queries);
    } else {
      AddProduct(to_queries, scratch->dq.data() + (is_of_row ? first * s_.depth : 0), scratch);
    }
    GemmArgs to_keys{.transpose_a = true, .m = n, .n = s_.depth, .k = m, .a = gradient, .lda = n};
    to_keys.b = scores_.queries(item, first);
    to_keys.ldb = s_.depth;
    if (!attrs_.transpose_k) {
      std::swap(to_keys.m, to_keys.n);
      std::swap(to_keys.a, to_keys.b);
      std::swap(to_keys.lda, to_keys.ldb);
    }
    AddProduct(to_keys, dk, scratch);
  }

  // Gradients of the products that there were: of one row, or key, where it stood for all.
  const float* Reduced(int64_t rows, int64_t m, int64_t n, Scratch* scratch) const {
    if (m == rows && n == s_.keys) return scratch->gradients.data();
    scratch->reduced.assign(static_cast<size_t>(m * n), 0);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < s_.keys; ++j) {
        scratch->reduced[static_cast<size_t>((m == 1 ? 0 : i) * n + (n == 1 ? 0 : j))] +=
            scratch->gradients[static_cast<size_t>(i * s_.keys + j)];
      }
    }
    return scratch->reduced.data();
  }

  // sum += the product that `args` describe but for c.
  void AddProduct(GemmArgs args, float* sum, Scratch* scratch) const {
    T* const product = Resized(&scratch->products, args.m * args.n);
    args.c = product;
    args.ldc = args.n;
    gemm_(args);
    if constexpr (kIsFloat) {
      AddTo(sum, product, args.m * args.n);
    } else {
      for (int64_t i = 0; i < args.m * args.n; ++i) sum[i] += static_cast<float>(product[i]);
    }
  }

  const AttentionGradientSizes& sizes_;
  const AttentionSizes& s_;
  const AttentionAttrs& attrs_;
  const AttentionScores<T>& scores_;
  const Gemm gemm_;
  const Tensors t_;
  bool one_by_one_ = false;  // each item has gradients of queries and keys of its own
  bool writes_dq_ = false;   // each block has
  int64_t parts_ = 1;
  std::vector<float> sums_;  // of each task, where items have several
};

class FusedAttentionGradKernel : public AttentionKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("sums_weights", &sums_weights_));
    RETURN_IF_ERROR(ctx.GetAttr("sums_scores", &sums_scores_));
    return AttentionKernel::Init(ctx);
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
    ASSIGN_OR_RETURN(const AttentionGradientSizes sizes,
                     AttentionGradientSizes::Of(ShapesOfAttentionGradient(ctx, attrs()), attrs().transpose_k,
                                                sums_weights_, sums_scores_));
    const TensorShape* const shapes[] = {&sizes.dq, &sizes.dk, &sizes.dv};
    T* out[3];
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(Tensor * tensor, ctx.allocate_output(i, *shapes[i]));
      out[i] = tensor->data<T>();
    }
    if (sizes.forward.statistics.num_elements() == 0 || sizes.forward.keys == 0) {
      for (int i = 0; i < 3; ++i) std::fill_n(out[i], shapes[i]->num_elements(), T{});
      return absl::OkStatus();
    }
    const AttentionScores<T> scores = ScoresOf<T>(ctx, sizes.forward);
    const int at = attrs().has_mask ? 4 : 3;
    AttentionGradient<T> gradient(sizes, attrs(), scores, gemm(),
                                  {.v = ctx.input(2).data<T>(),
                                   .gradient = ctx.input(at + 3).data<T>(),
                                   .largest = ctx.input(at + 1).data<float>(),
                                   .sum = ctx.input(at + 2).data<float>(),
                                   .dq = out[0],
                                   .dk = out[1],
                                   .dv = out[2]});
    const int64_t depths = 3 * sizes.forward.depth + 2 * sizes.forward.columns;
    const int64_t cost = gradient.blocks_of_task() * scores.rows() * sizes.forward.keys *
                         (depths * kPicosecondsPerMultiply + 2 * kPicosecondsPerScore);
    ParallelRanges(ctx, gradient.num_tasks(), cost, [&](int64_t begin, int64_t end) {
      typename AttentionGradient<T>::Scratch scratch;
      for (int64_t task = begin; task < end; ++task) gradient.Task(task, &scratch);
    });
    for (int64_t item = 0; item < sizes.num_items(); ++item) gradient.Finish(item);
    return absl::OkStatus();
  }

  bool sums_weights_ = false, sums_scores_ = false;
};

}  // namespace

absl::Status RegisterAttentionGradientKernels(KernelRegistry& kernels) {
  return kernels.Register<FusedAttentionGradKernel>(
      Kernel("_FusedAttentionGrad").Cpu().Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
