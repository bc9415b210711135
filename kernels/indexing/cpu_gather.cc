// Gather, GatherV2, GatherNd and OneHot.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/indexing/args_one_hot.h"
#include "kernels/indexing/family.h"
#include "kernels/indexing/nd_indices.h"

namespace weir {
namespace {

// Copies slices of `width` elements: out[i] = in[source(i)] for i in [0, count); a negative source leaves i alone.
template <typename Source>
void CopySlices(OpKernelContext& ctx, const Tensor& in, Tensor* out, int64_t count, int64_t width, Source source) {
  const int64_t size = DataTypeSize(in.dtype());
  ParallelRanges(ctx, count, width * size * 25 + 3000, [&](int64_t begin, int64_t end) {
    VisitElementType(in.dtype(), [&](auto element) {
      using T = decltype(element);
      const T* src = static_cast<const T*>(in.raw_data());
      T* dst = static_cast<T*>(out->raw_data());
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = source(i);
        if (from < 0) continue;
        if (width == 1) {
          dst[i] = src[from];
        } else {
          std::copy_n(src + from * width, width, dst + i * width);
        }
      }
    });
  });
}

class GatherKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    return ctx.HasAttr("batch_dims") ? ctx.GetAttr("batch_dims", &batch_dims_) : absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& params = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    if (params.dims() < 1) return errors::InvalidArgument("params must be at least 1 dimensional");
    int64_t axis = 0;
    if (ctx.num_inputs() > 2) {
      if (ctx.input(2).dims() != 0) return errors::InvalidArgument("axis must be scalar");
      ASSIGN_OR_RETURN(axis, ReadInteger(ctx.input(2), "axis"));
    }
    const int64_t rank = params.dims();
    if (axis < -rank || axis >= rank) {
      return errors::InvalidArgument("Expected axis in the range [", -rank, ", ", rank, "), but got ", axis);
    }
    if (axis < 0) axis += rank;
    ASSIGN_OR_RETURN(const int64_t batch_dims, CheckBatch(params, indices, axis));

    DimVector dims;
    int64_t batch = 1, outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) {
      dims.push_back(params.dim_size(i));
      (i < batch_dims ? batch : outer) *= params.dim_size(i);
    }
    for (int i = static_cast<int>(batch_dims); i < indices.dims(); ++i) dims.push_back(indices.dim_size(i));
    for (int i = static_cast<int>(axis) + 1; i < rank; ++i) {
      dims.push_back(params.dim_size(i));
      inner *= params.dim_size(i);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();  // whatever the indices are, as in TensorFlow
    const int64_t n = params.dim_size(static_cast<int>(axis));
    const auto gather = [&](const auto* values) { return Gather(ctx, values, n, batch, outer, inner, output); };
    switch (indices.dtype()) {
      case DT_INT16:
        return gather(indices.data<int16_t>());
      case DT_INT32:
        return gather(indices.data<int32_t>());
      case DT_INT64:
        return gather(indices.data<int64_t>());
      default:
        return errors::Unimplemented("Gather by ", DataTypeName(indices.dtype()));
    }
  }

 private:
  // The first place at which a value is not in [0, n), or `total`. Looks at blocks, which vector instructions take
  // whole.
  template <typename Index>
  static int64_t FirstOutside(const Index* values, int64_t total, int64_t n) {
    constexpr int64_t kBlock = 1024;
    const auto outside = [n](Index value) { return (value < 0) | (int64_t{value} >= n); };
    for (int64_t first = 0; first < total; first += kBlock) {
      const int64_t end = std::min(total, first + kBlock);
      bool any = false;
      for (int64_t i = first; i < end; ++i) any |= outside(values[i]);
      if (any) return std::find_if(values + first, values + end, outside) - values;
    }
    return total;
  }

  template <typename Index>
  static absl::Status Gather(OpKernelContext& ctx, const Index* values, int64_t n, int64_t batch, int64_t outer,
                             int64_t inner, Tensor* output) {
    const Tensor& indices = ctx.input(1);
    const int64_t total = indices.NumElements(), bad = FirstOutside(values, total, n);
    if (bad < total) return BadIndex(indices, bad, values[bad], n);
    if (batch == 1 && outer == 1) {
      CopySlices(ctx, ctx.input(0), output, total, inner, [values](int64_t i) { return int64_t{values[i]}; });
      return absl::OkStatus();
    }
    const int64_t count = total / batch;  // indices of one batch
    CopySlices(ctx, ctx.input(0), output, batch * outer * count, inner, [&](int64_t i) {
      const int64_t block = i / count, b = block / outer;
      return block * n + values[b * count + i % count];
    });
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> CheckBatch(const Tensor& params, const Tensor& indices, int64_t axis) const {
    if (batch_dims_ < -indices.dims() || batch_dims_ > indices.dims()) {
      return errors::InvalidArgument("Expected batch_dims in the range [", -indices.dims(), ", ", indices.dims(),
                                     "], but got ", batch_dims_);
    }
    const int64_t batch_dims = batch_dims_ < 0 ? batch_dims_ + indices.dims() : batch_dims_;
    if (batch_dims >= params.dims()) {
      return errors::InvalidArgument("batch_dims (", batch_dims, ") must be less than rank(params) (", params.dims(),
                                     ").");
    }
    if (axis < batch_dims) {
      return errors::InvalidArgument("batch_dims (", batch_dims, ") must be less than or equal to axis (", axis, ").");
    }
    for (int i = 0; i < batch_dims; ++i) {
      if (params.dim_size(i) != indices.dim_size(i)) {
        return errors::InvalidArgument("params.shape[", i, "]: ", params.dim_size(i),
                                       " should be equal to indices.shape[", i, "]: ", indices.dim_size(i));
      }
    }
    return batch_dims;
  }

  static absl::Status BadIndex(const Tensor& indices, int64_t at, int64_t value, int64_t n) {
    return errors::InvalidArgument("indices", ElementName(indices.shape(), at), " = ", value, " is not in [0, ", n,
                                   ")");
  }

  int64_t batch_dims_ = 0;
};

class GatherNdKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(ignore_bad_, IgnoresBadIndices(ctx));
    name_ = ctx.name();
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& params = ctx.input(0);
    ASSIGN_OR_RETURN(const NdIndices nd, NdIndices::Of(ctx.input(1), params.shape(), "params"));
    TensorShape shape = nd.outer;
    RETURN_IF_ERROR(shape.Append(nd.slice));
    if (params.NumElements() == 0 && shape.num_elements() > 0) {
      return errors::InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ",
                                     params.shape().ToString());
    }
    if (!ignore_bad_ && nd.first_bad >= 0) {
      return errors::InvalidArgument(nd.Error("param shape", params.shape()).message(), ", node name: ", name_);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    if (nd.first_bad >= 0) ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    CopySlices(ctx, params, output, nd.offsets.size(), nd.slice.num_elements(),
               [&](int64_t i) { return nd.offsets[i]; });
    return absl::OkStatus();
  }

 private:
  bool ignore_bad_ = false;
  std::string name_;
};

class OneHotKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("axis", &axis_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    ASSIGN_OR_RETURN(const OneHotShape hot, OneHotShape::Of(ctx, axis_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, hot.shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t depth = hot.depth;
    ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(indices));
    int64_t inner = 1;
    for (int i = hot.axis; i < indices.dims(); ++i) inner *= indices.dim_size(i);
    VisitElementType(output->dtype(), [&](auto element) {
      using T = decltype(element);
      const T on = *static_cast<const T*>(ctx.input(2).raw_data());
      const T off = *static_cast<const T*>(ctx.input(3).raw_data());
      T* out = static_cast<T*>(output->raw_data());
      ParallelRanges(ctx, values.size() / inner, depth * inner * 100, [&](int64_t begin, int64_t end) {
        std::fill_n(out + begin * depth * inner, (end - begin) * depth * inner, off);
        for (int64_t i = begin * inner; i < end * inner; ++i) {
          if (values[i] >= 0 && values[i] < depth) out[(i / inner * depth + values[i]) * inner + i % inner] = on;
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  int64_t axis_ = -1;
};

}  // namespace

absl::StatusOr<bool> IgnoresBadIndices(OpKernelConstruction& ctx) {
  std::string policy;
  RETURN_IF_ERROR(ctx.GetAttr("bad_indices_policy", &policy));
  if (policy == "IGNORE") return true;
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return false;
  return errors::InvalidArgument("Bad indices policy has an unsupported value: '", policy, "'");
}

absl::StatusOr<NdIndices> NdIndices::Of(const Tensor& indices, const TensorShape& shape, absl::string_view what) {
  if (indices.dims() < 1) return errors::InvalidArgument("indices must be at least a vector");
  if (shape.dims() < 1) return errors::InvalidArgument(what, " must be at least a vector");
  const int64_t depth = indices.dim_size(indices.dims() - 1);
  if (depth > shape.dims()) {
    return errors::InvalidArgument("index innermost dimension length must be <= ", what, " rank; saw: ", depth, " vs. ",
                                   shape.dims());
  }
  NdIndices nd;
  nd.outer = indices.shape();
  nd.outer.RemoveDim(indices.dims() - 1);
  nd.slice = TensorShape(shape.dim_sizes().subspan(depth));
  nd.depth = depth;
  ASSIGN_OR_RETURN(nd.values, ReadIntegers(indices));
  nd.offsets.resize(nd.outer.num_elements());
  for (size_t i = 0; i < nd.offsets.size(); ++i) {
    int64_t offset = 0;
    bool good = true;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t value = nd.values[i * depth + d], n = shape.dim_size(static_cast<int>(d));
      good &= value >= 0 && value < n;
      if (good) offset = offset * n + value;
    }
    nd.offsets[i] = good ? offset : -1;
    if (!good && nd.first_bad < 0) nd.first_bad = i;
  }
  return nd;
}

absl::Status NdIndices::Error(absl::string_view what, const TensorShape& shape) const {
  const auto index = absl::MakeConstSpan(values).subspan(first_bad * depth, depth);
  return errors::InvalidArgument("indices", ElementName(outer, first_bad), " = [", absl::StrJoin(index, ", "),
                                 "] does not index into ", what, " ", shape.ToString());
}

absl::Status RegisterGatherKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<GatherKernel>(Kernel("Gather").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GatherKernel>(Kernel("GatherV2").Cpu().HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<GatherNdKernel>(Kernel("GatherNd").Cpu()));
  return kernels.Register<OneHotKernel>(Kernel("OneHot").Cpu().HostMemory("depth"));
}

}  // namespace weir
