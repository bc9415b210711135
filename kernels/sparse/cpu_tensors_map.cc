// Sparse tensors parked under handles between two ops.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "kernels/device/elements.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// Thread-safe.
class SparseTensorsMap final : public Resource {
 public:
  explicit SparseTensorsMap(std::string name) : name_(std::move(name)) {}
  std::string DebugString() const override { return "A SparseTensorsMap"; }

  int64_t Add(SparseTensor tensor) {
    MutexLock lock(mu_);
    tensors_.emplace(next_, std::move(tensor));
    return next_++;
  }

  // Removes what it returns. InvalidArgument, and nothing removed, where a handle is unknown or named twice.
  absl::StatusOr<std::vector<SparseTensor>> Take(absl::Span<const int64_t> handles) {
    MutexLock lock(mu_);
    std::vector<SparseTensor> taken;
    for (size_t i = 0; i < handles.size(); ++i) {
      const auto found = tensors_.find(handles[i]);
      if (found == tensors_.end()) {
        for (size_t j = 0; j < i; ++j) tensors_.emplace(handles[j], std::move(taken[j]));
        return errors::InvalidArgument("Unable to find SparseTensor: ", handles[i], " in map: ", name_);
      }
      taken.push_back(std::move(found->second));
      tensors_.erase(found);
    }
    return taken;
  }

 private:
  const std::string name_;
  Mutex mu_;
  int64_t next_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int64_t, SparseTensor> tensors_ GUARDED_BY(mu_);
};

class MapKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("container", &container_));
    RETURN_IF_ERROR(ctx.GetAttr("shared_name", &name_));
    if (name_.empty()) name_ = ctx.name();
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<std::shared_ptr<SparseTensorsMap>> FindMap(OpKernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<SparseTensorsMap>(
        container_, name_, [this]() -> absl::StatusOr<std::shared_ptr<SparseTensorsMap>> {
          return std::make_shared<SparseTensorsMap>(name_);
        });
  }

 private:
  std::string container_, name_;
};

class AddSparseKernel : public MapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(SparseTensor tensor, SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2)));
    RETURN_IF_ERROR(tensor.DenseShape().status());
    ASSIGN_OR_RETURN(const std::shared_ptr<SparseTensorsMap> map, FindMap(ctx));
    ctx.set_output(0, Tensor::Scalar<int64_t>(map->Add(std::move(tensor))));
    return absl::OkStatus();
  }
};

// One sparse tensor for each position in the first dimension.
class AddManySparseKernel : public MapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2)));
    const int rank = input.rank();
    if (rank <= 1) {
      return errors::InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ", rank);
    }
    RETURN_IF_ERROR(input.DenseShape().status());
    RETURN_IF_ERROR(input.CheckOrdered());
    const int64_t rows = input.shape()[0];
    ASSIGN_OR_RETURN(Tensor * handles, ctx.allocate_output(0, TensorShape({rows})));
    ASSIGN_OR_RETURN(const std::shared_ptr<SparseTensorsMap> map, FindMap(ctx));
    const Tensor row_shape = ShapeTensor(input.shape().subspan(1));
    std::vector<int64_t> entries;
    for (int64_t row = 0, i = 0; row < rows; ++row) {
      entries.clear();
      for (; i < input.entries() && input.index(i)[0] == row; ++i) entries.push_back(i);
      const int64_t count = entries.size();
      ASSIGN_OR_RETURN(Tensor indices, ctx.allocate_temp(DT_INT64, TensorShape({count, rank - 1})));
      for (int64_t j = 0; j < count; ++j) {
        std::copy_n(input.index(entries[j]).data() + 1, rank - 1, indices.data<int64_t>() + j * (rank - 1));
      }
      ASSIGN_OR_RETURN(const Tensor values, GatherElements(ctx, input.values(), entries));
      ASSIGN_OR_RETURN(SparseTensor part, SparseTensor::Read(indices, values, row_shape));
      handles->data<int64_t>()[row] = map->Add(std::move(part));
    }
    return absl::OkStatus();
  }
};

// Stacked along a new first dimension; of the others each is the largest.
class TakeManySparseKernel : public MapKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &type_));
    return MapKernel::Init(ctx);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() != 1) {
      return errors::InvalidArgument("sparse_handles should be a vector but received shape ",
                                     ctx.input(0).shape().ToString());
    }
    const absl::Span<const int64_t> handles = ctx.input(0).flat<int64_t>();
    if (handles.empty()) {
      return errors::InvalidArgument("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    ASSIGN_OR_RETURN(const std::shared_ptr<SparseTensorsMap> map, FindMap(ctx));
    ASSIGN_OR_RETURN(const std::vector<SparseTensor> parts, map->Take(handles));
    const int rank = parts[0].rank();
    DimVector shape(rank + 1, 0);
    shape[0] = parts.size();
    int64_t entries = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].rank() != rank) {
        return errors::InvalidArgument("Inconsistent rank across SparseTensors: rank prior to SparseTensor[", p,
                                       "] was: ", rank, " but rank of SparseTensor[", p, "] is: ", parts[p].rank());
      }
      if (parts[p].values().dtype() != type_) {
        return errors::InvalidArgument("Requested SparseTensor of type ", DataTypeName(type_), " but SparseTensor[", p,
                                       "].values.dtype() == ", DataTypeName(parts[p].values().dtype()));
      }
      for (int d = 0; d < rank; ++d) shape[d + 1] = std::max(shape[d + 1], parts[p].shape()[d]);
      entries += parts[p].entries();
    }
    RETURN_IF_ERROR(TensorShape::Build(shape).status());
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, rank + 1})));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(1, TensorShape({entries})));
    int64_t* to = indices->data<int64_t>();
    char* to_value = static_cast<char*>(values->raw_data());
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int64_t i = 0; i < parts[p].entries(); ++i) {
        *to++ = static_cast<int64_t>(p);
        to = std::copy_n(parts[p].index(i).data(), rank, to);
      }
      CopyElements(type_, to_value, parts[p].values().raw_data(), parts[p].entries());
      to_value += parts[p].entries() * DataTypeSize(type_);
    }
    ctx.set_output(2, ShapeTensor(shape));
    return absl::OkStatus();
  }

 private:
  DataType type_ = DT_INVALID;
};

}  // namespace

absl::Status RegisterSparseTensorsMapKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<AddSparseKernel>(Kernel("AddSparseToTensorsMap").Cpu()));
  RETURN_IF_ERROR(kernels.Register<AddManySparseKernel>(Kernel("AddManySparseToTensorsMap").Cpu()));
  return kernels.Register<TakeManySparseKernel>(Kernel("TakeManySparseFromTensorsMap").Cpu());
}

}  // namespace weir
