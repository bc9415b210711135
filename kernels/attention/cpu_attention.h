// The base class of the CPU kernels of attention and of its gradient.
#pragma once

#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "kernels/attention/args.h"
#include "kernels/attention/attention_attrs.h"
#include "kernels/attention/attention_scores.h"

namespace weir {

// Inputs: queries, keys, values and perhaps a mask, then whatever else.
class AttentionKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(attrs_.Read(ctx));
    gemm_ = FindGemm(ctx.input_types()[0]);
    return absl::OkStatus();
  }

 protected:
  static constexpr int64_t kPicosecondsPerMultiply = 15;
  static constexpr int64_t kPicosecondsPerScore = 1500;

  const AttentionAttrs& attrs() const { return attrs_; }
  Gemm gemm() const { return gemm_; }
  absl::StatusOr<AttentionSizes> SizesOf(const OpKernelContext& ctx) const {
    return AttentionSizes::Of(ctx.input(0).shape(), ctx.input(1).shape(), ctx.input(2).shape(),
                              attrs_.has_mask ? &ctx.input(3).shape() : nullptr, attrs_.transpose_k);
  }
  template <typename T>
  AttentionScores<T> ScoresOf(const OpKernelContext& ctx, const AttentionSizes& sizes) const {
    const T* const mask = attrs_.has_mask ? ctx.input(3).data<T>() : nullptr;
    return AttentionScores<T>(sizes, attrs_.transpose_k, attrs_.scale, gemm_, ctx.input(0).data<T>(),
                              ctx.input(1).data<T>(), mask);
  }

 private:
  AttentionAttrs attrs_;
  Gemm gemm_ = nullptr;
};

}  // namespace weir
