// Strings joined along axes and by segment.
#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/device/indices.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

// inputs, reduction_indices: joined along the axes; the one that is given first changes fastest.
class ReduceJoinKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("keep_dims", &keep_dims_));
    return ctx.GetAttr("separator", &separator_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    const TensorShape& shape = input.shape();
    if (ctx.input(1).dims() > 1) {
      return errors::InvalidArgument("reduction_indices must be a scalar or vector, got shape ",
                                     ctx.input(1).shape().ToString());
    }
    const DimVector steps = DenseSteps(shape.dim_sizes());
    std::vector<bool> reduced(shape.dims(), false);
    DimVector sizes, size_steps;
    for (int32_t axis : ctx.input(1).flat<int32_t>()) {
      if (axis < -shape.dims() || axis >= shape.dims()) {
        return errors::OutOfRange("Invalid reduction dimension ", axis, " for input with ", shape.dims(),
                                  " dimension(s)");
      }
      const int32_t given = axis;
      if (axis < 0) axis += shape.dims();
      if (reduced[axis]) return errors::InvalidArgument("Duplicate reduction dimension ", given);
      reduced[axis] = true;
      sizes.insert(sizes.begin(), shape.dim_size(axis));
      size_steps.insert(size_steps.begin(), steps[axis]);
    }
    if (sizes.empty()) {
      ctx.set_output(0, input);
      return absl::OkStatus();
    }
    DimVector out_sizes, kept_sizes, kept_steps;
    for (int d = 0; d < shape.dims(); ++d) {
      if (!reduced[d]) {
        kept_sizes.push_back(shape.dim_size(d));
        kept_steps.push_back(steps[d]);
      }
      if (!reduced[d] || keep_dims_) out_sizes.push_back(reduced[d] ? 1 : shape.dim_size(d));
    }
    ASSIGN_OR_RETURN(const TensorShape out_shape, TensorShape::Build(out_sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, out_shape));
    if (input.NumElements() == 0) return absl::OkStatus();
    const std::vector<int64_t> starts = Offsets(kept_sizes, kept_steps), offsets = Offsets(sizes, size_steps);
    for (size_t i = 0; i < starts.size(); ++i) {
      tstring& text = output->data<tstring>()[i];
      for (size_t j = 0; j < offsets.size(); ++j) {
        if (j > 0) text += separator_;
        text += input.data<tstring>()[starts[i] + offsets[j]];
      }
    }
    return absl::OkStatus();
  }

 private:
  // Of every index into an array of these sizes, the last one changing fastest.
  static std::vector<int64_t> Offsets(const DimVector& sizes, const DimVector& steps) {
    std::vector<int64_t> offsets = {0};
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::vector<int64_t> next;
      for (int64_t offset : offsets) {
        for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(offset + i * steps[d]);
      }
      offsets = std::move(next);
    }
    return offsets;
  }

  bool keep_dims_ = false;
  std::string separator_;
};

// inputs, segment_ids, num_segments.
class UnsortedSegmentJoinKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("separator", &separator_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &ids = ctx.input(1);
    if (ctx.input(2).dims() != 0) return errors::InvalidArgument("Number of segments must be a scalar");
    ASSIGN_OR_RETURN(const int64_t segments, ReadInteger(ctx.input(2), "num_segments"));
    if (segments < 0) return errors::InvalidArgument("Number of segments must be non-negative but got ", segments);
    if (ids.dims() == 0) return errors::InvalidArgument("Segment_id cannot have rank 0");
    if (ids.dims() > input.dims()) {
      return errors::InvalidArgument("Invalid segment_id rank ", ids.dims(), " for input with ", input.dims(),
                                     " dimension(s)");
    }
    for (int d = 0; d < ids.dims(); ++d) {
      if (ids.dim_size(d) != input.dim_size(d)) {
        return errors::InvalidArgument("Segment dimension is ", ids.dim_size(d), " while input dimension is ",
                                       input.dim_size(d), " in rank ", d);
      }
    }
    ASSIGN_OR_RETURN(const DimVector numbers, ReadIntegers(ids));
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0 || numbers[i] >= segments) {
        return errors::InvalidArgument(
            "segment_ids are not allowed to exceed num_segments or to have negative values: segment_ids",
            ElementName(ids.shape(), i), " = ", numbers[i], " is not in [0, ", segments, ")");
      }
    }
    DimVector dims = {segments};
    int64_t width = 1;
    for (int d = ids.dims(); d < input.dims(); ++d) {
      dims.push_back(input.dim_size(d));
      width *= input.dim_size(d);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    for (size_t i = 0; i < numbers.size(); ++i) {
      for (int64_t j = 0; j < width; ++j) {
        tstring& text = output->data<tstring>()[numbers[i] * width + j];
        if (!text.empty()) text += separator_;
        text += input.data<tstring>()[i * width + j];
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string separator_;
};

}  // namespace

absl::Status RegisterJoinStringsKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ReduceJoinKernel>(Kernel("ReduceJoin").Cpu()));
  return kernels.Register<UnsortedSegmentJoinKernel>(Kernel("UnsortedSegmentJoin").Cpu());
}

}  // namespace weir
