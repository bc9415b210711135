// Local response normalisation along the last dimension, and its gradient: x * norm^-beta, where a norm is
// bias + alpha * the sum of squares nearby.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/device/parallel.h"
#include "kernels/device/target_clones.h"
#include "kernels/device/vector_math.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

// powers[i] = norms[i]^-beta.
WEIR_TARGET_CLONES void InversePowers(const float* norms, float beta, int64_t n, float* powers) {
  if (beta == 1.0f) {
    for (int64_t i = 0; i < n; ++i) powers[i] = 1.0f / norms[i];
  } else if (beta == 0.5f) {
    for (int64_t i = 0; i < n; ++i) powers[i] = 1.0f / std::sqrt(norms[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) powers[i] = vector_math::Exp(-beta * vector_math::Log(norms[i]));
  }
}

// out[i] = the sum of padded[i .. i + width), i < n.
WEIR_TARGET_CLONES void SumWindows(const float* padded, int64_t width, int64_t n, float* __restrict out) {
  constexpr int64_t kBlock = 32;  // sums that stay in registers
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    float sums[kBlock] = {};
    for (int64_t d = 0; d < width; ++d) {
      for (int64_t j = 0; j < kBlock; ++j) sums[j] += padded[i + d + j];
    }
    std::copy_n(sums, kBlock, out + i);
  }
  for (; i < n; ++i) {
    out[i] = 0;
    for (int64_t d = 0; d < width; ++d) out[i] += padded[i + d];
  }
}

class LrnBase : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("depth_radius", &radius_));
    RETURN_IF_ERROR(ctx.GetAttr("bias", &bias_));
    RETURN_IF_ERROR(ctx.GetAttr("alpha", &alpha_));
    RETURN_IF_ERROR(ctx.GetAttr("beta", &beta_));
    if (radius_ >= 0) return absl::OkStatus();
    return errors::InvalidArgument("depth_radius must not be negative, got ", radius_);
  }

 protected:
  // Some rows of n elements one after the other, each between `radius` zeros, so that one loop runs over all of them;
  // what it computes for the zeros between rows is not used. Element i of row r has index Start(r) + i in `sums` and
  // `powers`, and stands `radius` behind that in `padded`.
  struct Rows {
    Rows(int64_t n, int64_t depth_radius, int64_t count)
        : radius(std::min(depth_radius, n)),
          stride(n + 2 * radius),
          most(std::clamp<int64_t>(4096 / stride, 1, count)),
          padded(most * stride + 2 * radius, 0.0f),
          sums(most * stride),
          norms(most * stride),
          powers(most * stride) {}

    int64_t Start(int64_t r) const { return r * stride; }
    void SumNearby(int64_t rows) { SumWindows(padded.data(), 2 * radius + 1, rows * stride, sums.data()); }

    const int64_t radius, stride, most;
    std::vector<float> padded, sums, norms, powers;
  };

  // Norms and their powers of `count` rows.
  template <typename T>
  void Norms(const T* x, int64_t n, int64_t count, Rows* rows) const {
    for (int64_t r = 0; r < count; ++r) {
      float* const to = rows->padded.data() + rows->Start(r) + rows->radius;
      for (int64_t i = 0; i < n; ++i) {
        const float value = static_cast<float>(x[r * n + i]);
        to[i] = value * value;
      }
    }
    rows->SumNearby(count);
    for (int64_t i = 0; i < count * rows->stride; ++i) rows->norms[i] = bias_ + alpha_ * rows->sums[i];
    InversePowers(rows->norms.data(), beta_, count * rows->stride, rows->powers.data());
  }
  int64_t RowCost(int64_t n) const { return n * (1'000 + 200 * std::min(radius_, n)); }

  int64_t radius_ = 5;
  float bias_ = 1, alpha_ = 1, beta_ = 0.5f;
};

template <typename T>
class LrnKernel : public LrnBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.dims() != 4) return errors::InvalidArgument("in must be 4-dimensional");
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, in.shape()));
    if (in.NumElements() == 0) return absl::OkStatus();
    const int64_t n = in.dim_size(3);
    ParallelRanges(ctx, in.NumElements() / n, RowCost(n), [&](int64_t begin, int64_t end) {
      Rows rows(n, radius_, end - begin);
      for (int64_t first = begin; first < end; first += rows.most) {
        const int64_t count = std::min(rows.most, end - first);
        const T* const x = in.data<T>() + first * n;
        T* const y = out->data<T>() + first * n;
        Norms(x, n, count, &rows);
        for (int64_t r = 0; r < count; ++r) {
          const float* const powers = rows.powers.data() + rows.Start(r);
          for (int64_t i = r * n; i < (r + 1) * n; ++i)
            y[i] = static_cast<T>(static_cast<float>(x[i]) * powers[i - r * n]);
        }
      }
    });
    return absl::OkStatus();
  }
};

template <typename T>
class LrnGradKernel : public LrnBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    const Tensor& in = ctx.input(1);
    const Tensor& out = ctx.input(2);
    if (in.dims() != 4 || gradient.shape() != in.shape() || out.shape() != in.shape()) {
      return errors::InvalidArgument("input_grads, input_image, and out_image should have the same shape of rank 4");
    }
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(0, in.shape()));
    if (in.NumElements() == 0) return absl::OkStatus();
    const int64_t n = in.dim_size(3);
    ParallelRanges(ctx, in.NumElements() / n, 2 * RowCost(n), [&](int64_t begin, int64_t end) {
      Rows rows(n, radius_, end - begin);
      for (int64_t first = begin; first < end; first += rows.most) {
        const int64_t count = std::min(rows.most, end - first);
        const T* const g = gradient.data<T>() + first * n;
        const T* const x = in.data<T>() + first * n;
        const T* const y = out.data<T>() + first * n;
        T* const to = result->data<T>() + first * n;
        Norms(x, n, count, &rows);
        for (int64_t r = 0; r < count; ++r) {
          for (int64_t i = 0; i < n; ++i) {
            const int64_t at = rows.Start(r) + i;
            rows.padded[at + rows.radius] =
                static_cast<float>(g[r * n + i]) * static_cast<float>(y[r * n + i]) / rows.norms[at];
          }
        }
        rows.SumNearby(count);
        for (int64_t r = 0; r < count; ++r) {
          for (int64_t i = 0; i < n; ++i) {
            const int64_t at = rows.Start(r) + i;
            to[r * n + i] = static_cast<T>(static_cast<float>(g[r * n + i]) * rows.powers[at] -
                                           2 * alpha_ * beta_ * static_cast<float>(x[r * n + i]) * rows.sums[at]);
          }
        }
      }
    });
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterLrnKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T)                                                             \
  RETURN_IF_ERROR(kernels.Register<LrnKernel<T>>(Kernel("LRN").Cpu().Type<T>("T"))); \
  RETURN_IF_ERROR(kernels.Register<LrnGradKernel<T>>(Kernel("LRNGrad").Cpu().Type<T>("T")));
  WEIR_REGISTER(float)
  WEIR_REGISTER(half)
  WEIR_REGISTER(bfloat16)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
