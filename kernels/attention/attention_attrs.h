// The attributes of attention and of its gradient, for the kernels of all devices.
#pragma once

#include "core/kernel/op_kernel.h"
#include "core/status.h"
#include "kernels/attention/args.h"

namespace weir {

struct AttentionAttrs {
  absl::Status Read(OpKernelConstruction& ctx) {
    int64_t num_masks = 0;
    RETURN_IF_ERROR(ctx.GetAttr("num_masks", &num_masks));
    if (num_masks > 1) return errors::InvalidArgument(ctx.op(), " adds at most one mask, not ", num_masks);
    has_mask = num_masks > 0;
    RETURN_IF_ERROR(ctx.GetAttr("scale", &scale));
    return ctx.GetAttr("transpose_k", &transpose_k);
  }
  bool has_mask = false, transpose_k = false;
  float scale = 1;
};

// No statistics, or the two that the gradient reads: the largest score of each query, and the sum of exponentials.
inline absl::Status CheckAttentionStatistics(absl::string_view op, int64_t count) {
  if (count == 0 || count == 2) return absl::OkStatus();
  return errors::InvalidArgument(op, " gives no statistics or 2, not ", count);
}

// The inputs of _FusedAttentionGrad.
inline AttentionGradientSizes::Inputs ShapesOfAttentionGradient(const OpKernelContext& ctx,
                                                                const AttentionAttrs& attrs) {
  const auto shape = [&](int i) { return ctx.input(i).shape(); };
  AttentionGradientSizes::Inputs in{.q = shape(0), .k = shape(1), .v = shape(2)};
  if (attrs.has_mask) in.mask = shape(3);
  const int at = attrs.has_mask ? 4 : 3;
  in.output = shape(at);
  in.largest = shape(at + 1);
  in.sum = shape(at + 2);
  in.gradient = shape(at + 3);
  return in;
}

}  // namespace weir
