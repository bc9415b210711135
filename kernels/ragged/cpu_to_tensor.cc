#include <algorithm>
#include <optional>

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/ragged/family.h"
#include "kernels/ragged/row_splits.h"

namespace weir {
namespace {

// How the elements of one level are divided into rows.
struct Partition {
  bool by_row_ids = false;  // else by splits
  DimVector numbers;

  int64_t elements() const { return by_row_ids ? static_cast<int64_t>(numbers.size()) : numbers.back(); }

  int64_t LongestRow() const {
    int64_t longest = 0;
    if (!by_row_ids) {
      for (size_t i = 1; i < numbers.size(); ++i) longest = std::max(longest, numbers[i] - numbers[i - 1]);
      return longest;
    }
    for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
      while (end < numbers.size() && numbers[end] == numbers[begin]) ++end;
      longest = std::max<int64_t>(longest, end - begin);
    }
    return longest;
  }
};

absl::StatusOr<Partition> ReadPartition(const std::string& type, const Tensor& tensor) {
  Partition partition;
  if (type == "ROW_SPLITS") {
    ASSIGN_OR_RETURN(partition.numbers, ReadRowSplits(tensor));
    return partition;
  }
  if (type != "VALUE_ROWIDS") return errors::InvalidArgument("Unsupported partition type:", type);
  if (tensor.dims() != 1) {
    return errors::InvalidArgument("value_rowids must be a vector, got shape ", tensor.shape().ToString());
  }
  partition.by_row_ids = true;
  ASSIGN_OR_RETURN(partition.numbers, ReadIntegers(tensor));
  return partition;
}

// The shape that is asked for; -1 as a scalar: any.
absl::StatusOr<PartialTensorShape> WantedShape(const Tensor& tensor) {
  ASSIGN_OR_RETURN(const DimVector sizes, ReadIntegers(tensor));
  if (tensor.dims() == 1) return PartialTensorShape::Build(sizes);
  if (tensor.dims() == 0 && sizes[0] == -1) return PartialTensorShape();
  return errors::InvalidArgument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
}

// The default can be broadcast to one value.
absl::Status CheckDefault(const TensorShape& initial, const TensorShape& values) {
  const auto incompatible = [&](const std::string& why) {
    return errors::InvalidArgument("default_value.shape=", initial.ToString(),
                                   " and rt_input.flat_values.shape=", values.ToString(), " are incompatible", why);
  };
  if (initial.dims() > 0 && initial.dims() >= values.dims()) {
    return incompatible(absl::StrCat(": default_value.rank = ", initial.dims(),
                                     "  must be less than rt_input.flat_values.rank = ", values.dims()));
  }
  for (int d = 1; d <= initial.dims(); ++d) {
    const int64_t size = initial.dim_size(initial.dims() - d);
    const int64_t of_values = values.dim_size(values.dims() - d);
    if (size == 1 || size == of_values) continue;
    return incompatible(absl::StrCat(": default_value.shape[", -d, "] = ", size, " but rt_input.flat_values.shape[", -d,
                                     "] = ", of_values));
  }
  return absl::OkStatus();
}

// Where the first element of a level goes in the result, in values; -1: it was cut off.
class Places {
 public:
  // Of rows: row i at i * step, for those below `kept`.
  Places(int64_t rows, int64_t kept, int64_t step) : rows_(rows), kept_(kept), step_(step) {}

  int64_t size() const { return places_ ? places_->NumElements() : rows_; }
  int64_t operator[](int64_t i) const {
    if (places_) return places_->data<int64_t>()[i];
    return i < kept_ ? i * step_ : -1;
  }

  // Of the elements within: those beyond `width` in their row are cut off.
  absl::StatusOr<Places> Descend(OpKernelContext& ctx, const Partition& partition, int64_t width, int64_t step) const {
    const DimVector& numbers = partition.numbers;
    Places result(0, 0, 0);
    ASSIGN_OR_RETURN(result.places_, ctx.allocate_temp(DT_INT64, TensorShape({partition.elements()})));
    int64_t* out = result.places_->data<int64_t>();
    const auto place = [&](int64_t row, int64_t position) {
      const int64_t parent = (*this)[row];
      return parent < 0 || position >= width ? -1 : parent + position * step;
    };
    if (!partition.by_row_ids) {
      const int64_t rows = static_cast<int64_t>(numbers.size()) - 1;
      if (rows > size()) {
        return errors::InvalidArgument("Row partition size is greater than output size: ", rows, " > ", size());
      }
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = numbers[row]; i < numbers[row + 1]; ++i) *out++ = place(row, i - numbers[row]);
      }
      return result;
    }
    int64_t position = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      position = i > 0 && numbers[i] == numbers[i - 1] ? position + 1 : 0;
      if (numbers[i] < 0 || numbers[i] >= size()) {
        return errors::InvalidArgument("Got next_value_rowid=", numbers[i], " which is not less than ", size());
      }
      *out++ = place(numbers[i], position);
    }
    return result;
  }

 private:
  int64_t rows_, kept_, step_;
  std::optional<Tensor> places_;
};

// shape, values, default_value, row_partition_tensors.
class RaggedTensorToTensorKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("row_partition_types", &types_));
    int64_t tensors;
    RETURN_IF_ERROR(ctx.GetAttr("num_row_partition_tensors", &tensors));
    for (const std::string& type : types_) {
      if (type == "FIRST_DIM_SIZE" || type == "VALUE_ROWIDS" || type == "ROW_SPLITS") continue;
      return errors::InvalidArgument("Unknown string for partition info type: ", type);
    }
    if (types_.empty()) return errors::InvalidArgument("No row_partition_types given.");
    if (static_cast<int64_t>(types_.size()) != tensors) {
      return errors::InvalidArgument("row_partition_types has ", types_.size(), " elements for ", tensors, " tensors");
    }
    first_is_size_ = types_[0] == "FIRST_DIM_SIZE";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &values = ctx.input(1), &initial = ctx.input(2);
    if (values.dims() == 0) return errors::InvalidArgument("values must have at least one dimension");
    RETURN_IF_ERROR(CheckDefault(initial.shape(), values.shape()));
    ASSIGN_OR_RETURN(const int64_t rows, FirstSize(ctx.input(kFirstPartition)));
    std::vector<Partition> partitions;
    for (size_t i = first_is_size_ ? 1 : 0; i < types_.size(); ++i) {
      ASSIGN_OR_RETURN(Partition partition, ReadPartition(types_[i], ctx.input(kFirstPartition + static_cast<int>(i))));
      partitions.push_back(std::move(partition));
    }
    ASSIGN_OR_RETURN(const TensorShape shape, ResultShape(ctx.input(0), values.shape(), rows, partitions));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int levels = static_cast<int>(partitions.size());
    DimVector steps(levels + 1, 1);
    for (int i = levels - 1; i >= 0; --i) steps[i] = steps[i + 1] * shape.dim_size(i + 1);
    Places places(rows, std::min(rows, shape.dim_size(0)), steps[0]);
    for (int i = 0; i < levels; ++i) {
      ASSIGN_OR_RETURN(places, places.Descend(ctx, partitions[i], shape.dim_size(i + 1), steps[i + 1]));
    }
    if (places.size() > values.dim_size(0)) {
      return errors::InvalidArgument("The row partitions are of ", places.size(), " values, there are ",
                                     values.dim_size(0));
    }
    return Fill(ctx, places, values, initial, output);
  }

 private:
  static constexpr int kFirstPartition = 3;

  absl::StatusOr<int64_t> FirstSize(const Tensor& tensor) const {
    if (tensor.NumElements() == 0) {
      return errors::InvalidArgument("Invalid first partition input. Tensor requires at least one element.");
    }
    if (types_[0] == "VALUE_ROWIDS") return errors::InvalidArgument("Cannot handle VALUE_ROWIDS in first dimension.");
    if (!first_is_size_) return tensor.dims() == 0 ? 0 : tensor.dim_size(0) - 1;
    ASSIGN_OR_RETURN(const int64_t rows, ReadInteger(tensor, "FIRST_DIM_SIZE"));
    if (rows < 0) return errors::InvalidArgument("FIRST_DIM_SIZE must not be negative: ", rows);
    return rows;
  }

  static absl::StatusOr<TensorShape> ResultShape(const Tensor& wanted_tensor, const TensorShape& values, int64_t rows,
                                                 const std::vector<Partition>& partitions) {
    ASSIGN_OR_RETURN(const PartialTensorShape wanted, WantedShape(wanted_tensor));
    const int levels = static_cast<int>(partitions.size()), rank = levels + values.dims();
    if (!wanted.unknown_rank() && wanted.dims() != rank) {
      return errors::InvalidArgument("rt_input.shape and shape=", wanted.ToString(),
                                     " are incompatible: rt_input.rank = ", rank, " but shape.rank = ", wanted.dims());
    }
    DimVector sizes(rank);
    for (int d = 0; d < rank; ++d) {
      const int64_t size = wanted.unknown_rank() ? -1 : wanted.dim_size(d);
      if (d > levels) {
        sizes[d] = values.dim_size(d - levels);
        if (size >= 0 && size != sizes[d]) {
          return errors::InvalidArgument("rt_input.shape and shape=", wanted.ToString(),
                                         " are incompatible: rt_input.shape[", d, "] = ", sizes[d], " but shape[", d,
                                         "] = ", size);
        }
      } else {
        sizes[d] = size >= 0 ? size : d == 0 ? rows : partitions[d - 1].LongestRow();
      }
    }
    return TensorShape::Build(sizes);
  }

  static absl::Status Fill(OpKernelContext& ctx, const Places& places, const Tensor& values, const Tensor& initial,
                           Tensor* output) {
    const DataType type = values.dtype();
    const absl::Span<const int64_t> element = values.shape().dim_sizes().subspan(1);
    const int64_t width = TensorShape(element).num_elements(), bytes = width * DataTypeSize(type);
    char* const to = static_cast<char*>(output->raw_data());
    if (initial.NumElements() == 1) {
      FillElements(type, initial.raw_data(), to, output->NumElements());
    } else {
      const int lead = static_cast<int>(element.size()) - initial.dims();
      DimVector steps(element.size(), 0);
      const DimVector dense = DenseSteps(initial.shape().dim_sizes());
      for (int d = 0; d < initial.dims(); ++d) steps[lead + d] = initial.dim_size(d) == 1 ? 0 : dense[d];
      StridedCopy(ctx, type, element, initial.raw_data(), steps, to, DenseSteps(element));
      for (int64_t i = 1; i < output->NumElements() / width; ++i) CopyElements(type, to + i * bytes, to, width);
    }
    for (int64_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      CopyElements(type, to + places[i] * bytes, static_cast<const char*>(values.raw_data()) + i * bytes, width);
    }
    return absl::OkStatus();
  }

  std::vector<std::string> types_;
  bool first_is_size_ = false;
};

}  // namespace

absl::Status RegisterRaggedToTensorKernels(KernelRegistry& kernels) {
  return kernels.Register<RaggedTensorToTensorKernel>(Kernel("RaggedTensorToTensor").Cpu());
}

}  // namespace weir
