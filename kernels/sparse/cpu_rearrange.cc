// Sparse tensors sorted, joined and cut.
#include <algorithm>

#include "kernels/device/elements.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// The shape is only carried along: nothing is addressed by it.
class SparseReorderKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input,
                     SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2),
                                        {"indices", "values", "shape", SparseTensor::Wording::kSparse}));
    const std::vector<int64_t> order = SortedEntries(input.indices().data<int64_t>(), input.entries(), input.rank());
    if (std::is_sorted(order.begin(), order.end())) {
      ctx.set_output(0, input.indices());
      ctx.set_output(1, input.values());
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor indices, GatherIndexRows(ctx, input.indices(), order));
    ASSIGN_OR_RETURN(Tensor values, GatherElements(ctx, input.values(), order));
    ctx.set_output(0, std::move(indices));
    ctx.set_output(1, std::move(values));
    return absl::OkStatus();
  }
};

class SparseConcatKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &type_));
    return ctx.GetAttr("concat_dim", &axis_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    std::vector<SparseTensor> parts;
    RETURN_IF_ERROR(ReadParts(ctx, &parts));
    const int rank = parts[0].rank();
    const int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
    if (axis < 0 || axis >= rank) {
      return errors::InvalidArgument("Concat dimension must be in range [", -rank, ", ", rank, "), got ", axis_);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, JoinedShape(parts, static_cast<int>(axis)));
    int64_t entries = 0;
    for (const SparseTensor& part : parts) entries += part.entries();
    ASSIGN_OR_RETURN(Tensor indices, ctx.allocate_temp(DT_INT64, TensorShape({entries, rank})));
    ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(type_, TensorShape({entries})));
    int64_t at = 0, offset = 0;
    for (const SparseTensor& part : parts) {
      int64_t* to = indices.data<int64_t>() + at * rank;
      std::copy_n(part.indices().data<int64_t>(), part.entries() * rank, to);
      for (int64_t i = 0; i < part.entries(); ++i) {
        int64_t& moved = to[i * rank + axis];
        moved = static_cast<int64_t>(static_cast<uint64_t>(moved) + static_cast<uint64_t>(offset));
      }
      CopyElements(type_, static_cast<char*>(values.raw_data()) + at * DataTypeSize(type_), part.values().raw_data(),
                   part.entries());
      at += part.entries();
      offset += part.shape()[axis];
    }
    const std::vector<int64_t> order = SortedEntries(indices.data<int64_t>(), entries, rank);
    ASSIGN_OR_RETURN(indices, GatherIndexRows(ctx, indices, order));
    ASSIGN_OR_RETURN(values, GatherElements(ctx, values, order));
    ctx.set_output(0, std::move(indices));
    ctx.set_output(1, std::move(values));
    ctx.set_output(2, ShapeTensor(shape.dim_sizes()));
    return absl::OkStatus();
  }

 private:
  static absl::Status ReadParts(OpKernelContext& ctx, std::vector<SparseTensor>* parts) {
    const int n = ctx.num_inputs() / 3;
    const int64_t rank = ctx.input(2 * n).NumElements();
    for (int i = 0; i < n; ++i) {
      const Tensor& shape = ctx.input(2 * n + i);
      if (shape.dims() == 1 && shape.NumElements() != rank) {
        return errors::InvalidArgument("Ranks of all input tensors must match: expected ", rank, " but got ",
                                       shape.NumElements(), " at position ", i);
      }
      absl::StatusOr<SparseTensor> part =
          SparseTensor::Read(ctx.input(i), ctx.input(n + i), ctx.input(2 * n + i), {"indices", "values", "shapes"});
      if (!part.ok()) {
        return errors::InvalidArgument(part.status().message(), " at position ", i);
      }
      if (!part->DenseShape().ok()) return errors::Internal("Encountered overflow from large input shape.");
      parts->push_back(*std::move(part));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<TensorShape> JoinedShape(const std::vector<SparseTensor>& parts, int axis) {
    DimVector sizes(parts[0].shape().begin(), parts[0].shape().end());
    for (size_t i = 1; i < parts.size(); ++i) {
      const absl::Span<const int64_t> other = parts[i].shape();
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (static_cast<int>(d) == axis) {
          if (__builtin_add_overflow(sizes[d], other[d], &sizes[d])) {
            return errors::InvalidArgument("The joined size of dimension ", d, " overflows");
          }
        } else if (sizes[d] != other[d]) {
          return errors::InvalidArgument("Input shapes must match: expected ", sizes[d], " for dimension ", d,
                                         " but got ", other[d], " at position ", i);
        }
      }
    }
    return TensorShape::Build(sizes);
  }

  DataType type_ = DT_INVALID;
  int64_t axis_ = 0;
};

class SparseSliceKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input,
                     SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2),
                                        {"indices", "values", "shape", SparseTensor::Wording::kSparse}));
    RETURN_IF_ERROR(input.DenseShape().status());
    ASSIGN_OR_RETURN(const DimVector start, ReadVector(ctx.input(3), "start"));
    ASSIGN_OR_RETURN(const DimVector size, ReadVector(ctx.input(4), "size"));
    const int rank = input.rank();
    if (static_cast<int>(start.size()) != rank) {
      return errors::InvalidArgument("Expected start to be a vector of length ", rank, " but got length ",
                                     start.size());
    }
    if (static_cast<int>(size.size()) != rank) {
      return errors::InvalidArgument("Expected size to be a vector of length ", rank, " but got length ", size.size());
    }
    DimVector end(rank), cut(rank);
    for (int d = 0; d < rank; ++d) {
      if (__builtin_add_overflow(start[d], size[d], &end[d])) {
        return errors::InvalidArgument("start[", d, "] + size[", d, "] = ", start[d], " + ", size[d], " overflows");
      }
      const int64_t full = input.shape()[d];
      if (end[d] < full) {
        cut[d] = size[d];
      } else if (__builtin_sub_overflow(full, start[d], &cut[d])) {
        return errors::InvalidArgument("start[", d, "] = ", start[d], " is out of range");
      } else {
        cut[d] = std::max<int64_t>(cut[d], 0);  // the slice begins beyond the tensor
      }
      if (cut[d] < 0) return errors::InvalidArgument("Expected a non-negative size, got ", cut[d]);
    }
    RETURN_IF_ERROR(TensorShape::Build(cut).status());
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < input.entries(); ++i) {
      const absl::Span<const int64_t> index = input.index(i);
      bool inside = true;
      for (int d = 0; inside && d < rank; ++d) inside = index[d] >= start[d] && index[d] < end[d];
      if (inside) kept.push_back(i);
    }
    ASSIGN_OR_RETURN(Tensor indices, GatherIndexRows(ctx, input.indices(), kept));
    int64_t* moved = indices.data<int64_t>();
    for (size_t i = 0; i < kept.size(); ++i) {
      for (int d = 0; d < rank; ++d) *moved++ -= start[d];
    }
    ASSIGN_OR_RETURN(Tensor values, GatherElements(ctx, input.values(), kept));
    ctx.set_output(0, std::move(indices));
    ctx.set_output(1, std::move(values));
    ctx.set_output(2, ShapeTensor(cut));
    return absl::OkStatus();
  }
};

// The first size % num_split parts are one larger than the others.
class SparseSplitKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("num_split", &parts_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).NumElements() != 1) {
      return errors::InvalidArgument("Input axis should be a scalar but received shape ",
                                     ctx.input(0).shape().ToString());
    }
    ASSIGN_OR_RETURN(const SparseTensor input,
                     SparseTensor::Read(ctx.input(1), ctx.input(2), ctx.input(3),
                                        {"indices", "values", "shape", SparseTensor::Wording::kSparse}));
    RETURN_IF_ERROR(input.CheckBounds(SparseTensor::Wording::kSparse));
    int64_t axis = ctx.input(0).data<int64_t>()[0];
    const int rank = input.rank();
    if (axis < -rank || axis >= rank) {
      return errors::InvalidArgument("Input axis should be in range [", -rank, ", ", rank, "), got ", axis);
    }
    if (axis < 0) axis += rank;
    RETURN_IF_ERROR(input.DenseShape().status());
    const int64_t size = input.shape()[axis];
    if (parts_ < 1 || parts_ > size) {
      return errors::InvalidArgument("Input num_split should be between 1 and the splitting dimension size (", size,
                                     "), got ", parts_);
    }
    const int64_t small = size / parts_, larger = size % parts_, larger_end = larger * (small + 1);
    std::vector<std::vector<int64_t>> kept(parts_);
    for (int64_t i = 0; i < input.entries(); ++i) {
      const int64_t at = input.index(i)[axis];
      kept[at < larger_end ? at / (small + 1) : larger + (at - larger_end) / small].push_back(i);
    }
    int64_t first = 0;
    for (int64_t part = 0; part < parts_; ++part) {
      const int64_t part_size = small + (part < larger ? 1 : 0);
      ASSIGN_OR_RETURN(Tensor indices, GatherIndexRows(ctx, input.indices(), kept[part]));
      for (size_t i = 0; i < kept[part].size(); ++i) indices.data<int64_t>()[i * rank + axis] -= first;
      ASSIGN_OR_RETURN(Tensor values, GatherElements(ctx, input.values(), kept[part]));
      DimVector shape(input.shape().begin(), input.shape().end());
      shape[axis] = part_size;
      ctx.set_output(static_cast<int>(part), std::move(indices));
      ctx.set_output(static_cast<int>(parts_ + part), std::move(values));
      ctx.set_output(static_cast<int>(2 * parts_ + part), ShapeTensor(shape));
      first += part_size;
    }
    return absl::OkStatus();
  }

 private:
  int64_t parts_ = 0;
};

}  // namespace

absl::Status RegisterSparseRearrangeKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SparseReorderKernel>(Kernel("SparseReorder").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SparseConcatKernel>(Kernel("SparseConcat").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SparseSliceKernel>(Kernel("SparseSlice").Cpu()));
  return kernels.Register<SparseSplitKernel>(Kernel("SparseSplit").Cpu());
}

}  // namespace weir
