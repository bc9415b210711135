// Counts values: as a dense histogram, or as a sparse tensor of counts.
#include <algorithm>
#include <limits>

#include "core/tensor/index_tensor.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// A value to count, and the row that it belongs to. Weights are found by position.
struct Occurrence {
  int64_t row, value;
};

// The values of a tensor by row; one row where they are not divided.
struct Occurrences {
  std::vector<Occurrence> items;
  int64_t rows = 1;
  bool has_rows = false;
};

absl::StatusOr<Occurrences> DenseOccurrences(const Tensor& data) {
  Occurrences result;
  result.has_rows = data.dims() == 2;
  if (result.has_rows) result.rows = data.dim_size(0);
  const int64_t width = result.has_rows ? data.dim_size(1) : data.NumElements();
  ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(data));
  for (size_t i = 0; i < values.size(); ++i) {
    result.items.push_back({result.has_rows ? static_cast<int64_t>(i) / width : 0, values[i]});
  }
  return result;
}

// The row is the first index, unless the tensor is a vector.
absl::StatusOr<Occurrences> SparseOccurrences(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Read(indices, values, shape));
  if (sparse.rank() == 0) return errors::InvalidArgument("The shape argument requires at least one element.");
  for (int64_t size : sparse.shape()) {
    if (size < 0) {
      return errors::InvalidArgument("Elements in dense_shape must be >= 0. Instead got:", IndexText(sparse.shape()));
    }
  }
  for (int64_t i = 0; i < sparse.entries(); ++i) {
    for (int d = 0; d < sparse.rank(); ++d) {
      const int64_t index = sparse.index(i)[d];
      if (index >= 0 && index < sparse.shape()[d]) continue;
      return errors::InvalidArgument("Invalid index value at ", i, ": dimension ", d, " has value ", index,
                                     " which is not in [0, ", sparse.shape()[d], ") (as given by dense shape ",
                                     IndexText(sparse.shape()));
    }
  }
  Occurrences result;
  result.has_rows = sparse.rank() > 1;
  if (result.has_rows) result.rows = sparse.shape()[0];
  ASSIGN_OR_RETURN(const DimVector numbers, ReadIntegers(values));
  for (size_t i = 0; i < numbers.size(); ++i) {
    result.items.push_back({result.has_rows ? sparse.index(i)[0] : 0, numbers[i]});
  }
  return result;
}

absl::StatusOr<Occurrences> RaggedOccurrences(const Tensor& splits, const Tensor& values) {
  if (splits.dims() != 1) {
    return errors::InvalidArgument("Splits must be a vector, got shape ", splits.shape().ToString());
  }
  Occurrences result;
  result.has_rows = true;
  result.rows = splits.NumElements() - 1;
  if (result.rows < 0) return errors::InvalidArgument("Must provide at least 2 elements for the splits argument");
  const int64_t* const split = splits.data<int64_t>();
  if (split[0] != 0) return errors::InvalidArgument("Splits must start with 0, not with ", split[0]);
  if (split[result.rows] != values.NumElements()) {
    return errors::InvalidArgument("Splits must end with the number of values, got ", split[result.rows],
                                   " instead of ", values.NumElements());
  }
  for (int64_t row = 0; row < result.rows; ++row) {
    if (split[row] > split[row + 1]) {
      return errors::InvalidArgument("Splits must not decrease, got ", split[row], " before ", split[row + 1]);
    }
  }
  ASSIGN_OR_RETURN(const DimVector numbers, ReadIntegers(values));
  int64_t row = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    while (static_cast<int64_t>(i) >= split[row + 1]) ++row;
    result.items.push_back({row, numbers[i]});
  }
  return result;
}

enum class Source { kDense, kSparse, kRagged };

// The inputs before `size` or `weights`.
template <Source kSource>
absl::StatusOr<Occurrences> ReadOccurrences(const OpKernelContext& ctx, int* inputs) {
  *inputs = kSource == Source::kDense ? 1 : kSource == Source::kSparse ? 3 : 2;
  if constexpr (kSource == Source::kDense) return DenseOccurrences(ctx.input(0));
  if constexpr (kSource == Source::kSparse) return SparseOccurrences(ctx.input(0), ctx.input(1), ctx.input(2));
  if constexpr (kSource == Source::kRagged) return RaggedOccurrences(ctx.input(0), ctx.input(1));
}

// …, weights: for each row the values that occur in it, ascending, with their counts or sums of weights.
template <Source kSource, typename W>
class CountKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("minlength", &least_));
    RETURN_IF_ERROR(ctx.GetAttr("maxlength", &most_));
    return ctx.GetAttr("binary_output", &binary_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& data = ctx.input(kSource == Source::kDense ? 0 : 1);
    if (kSource == Source::kDense && data.dims() != 1 && data.dims() != 2) {
      return errors::InvalidArgument("Input must be a 1 or 2-dimensional tensor. Got: ", data.shape().ToString());
    }
    int inputs;
    ASSIGN_OR_RETURN(const Occurrences occurrences, ReadOccurrences<kSource>(ctx, &inputs));
    if (occurrences.rows < 1 || occurrences.rows >= INT32_MAX) {
      return errors::InvalidArgument(
          kSource == Source::kDense
              ? "Invalid input: Shapes dimension cannot be 0."
              : absl::StrCat("Cannot allocate ", occurrences.rows, " batches, is the dense shape too wide?"));
    }
    const Tensor& weights = ctx.input(inputs);
    const bool weighted = weights.NumElements() > 0;
    if (weighted && weights.shape() != data.shape()) {
      return errors::InvalidArgument(
          "Weights and ", kSource == Source::kDense ? "data" : "values",
          " must have the same shape. Weight shape: ", weights.shape().ToString(),
          kSource == Source::kDense ? "; data shape: " : "; values shape: ", data.shape().ToString());
    }
    return Count(ctx, occurrences, weighted ? weights.data<W>() : nullptr);
  }

 private:
  absl::Status Count(OpKernelContext& ctx, const Occurrences& occurrences, const W* weights) const {
    const std::vector<Occurrence>& items = occurrences.items;
    std::vector<int64_t> order;
    int64_t highest = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].value < 0) return errors::InvalidArgument("Input values must all be non-negative");
      if (most_ >= 0 && items[i].value >= most_) continue;
      order.push_back(i);
      highest = std::max(highest, items[i].value);
    }
    const auto key = [&items](int64_t i) { return std::make_pair(items[i].row, items[i].value); };
    std::stable_sort(order.begin(), order.end(), [&key](int64_t a, int64_t b) { return key(a) < key(b); });
    std::vector<int64_t> firsts;  // positions in `order`
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || key(order[i - 1]) != key(order[i])) firsts.push_back(i);
    }
    const int64_t entries = firsts.size();
    const int rank = occurrences.has_rows ? 2 : 1;
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, rank})));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(1, TensorShape({entries})));
    int64_t* index = indices->data<int64_t>();
    for (int64_t entry = 0; entry < entries; ++entry) {
      const size_t end = entry + 1 < entries ? firsts[entry + 1] : order.size();
      W sum = 0;
      for (size_t i = firsts[entry]; i < end; ++i) sum += weights == nullptr ? W{1} : weights[order[i]];
      values->data<W>()[entry] = binary_ ? W{1} : sum;
      const Occurrence& item = items[order[firsts[entry]]];
      if (occurrences.has_rows) *index++ = item.row;
      *index++ = item.value;
    }
    const int64_t seen = highest == std::numeric_limits<int64_t>::max() ? highest : highest + 1;
    const int64_t size = most_ >= 0 ? most_ : std::max(seen, least_);
    ctx.set_output(2, occurrences.has_rows ? ShapeTensor({occurrences.rows, size}) : ShapeTensor({size}));
    return absl::OkStatus();
  }

  int64_t least_ = 0, most_ = 0;
  bool binary_ = false;
};

// …, size, weights: for each row, how often each value below `size` occurs, or the sum of the weights where it does.
template <Source kSource, typename W>
class BincountKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("binary_output", &binary_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& data = ctx.input(kSource == Source::kDense ? 0 : 1);
    if (kSource == Source::kDense && data.dims() > 2) {
      return errors::InvalidArgument("Shape must be at most rank 2 but is rank ", data.dims());
    }
    // In the words that TensorFlow has for these ops alone.
    if constexpr (kSource == Source::kSparse) {
      ASSIGN_OR_RETURN(const SparseTensor sparse,
                       SparseTensor::Read(ctx.input(0), data, ctx.input(2),
                                          {"indices", "values", "shape", SparseTensor::Wording::kSparse}));
      RETURN_IF_ERROR(sparse.CheckBounds(SparseTensor::Wording::kSparse));
    }
    if (kSource == Source::kRagged && ctx.input(0).NumElements() == 0) {
      return errors::InvalidArgument("Splits must be non-empty");
    }
    int inputs;
    ASSIGN_OR_RETURN(const Occurrences occurrences, ReadOccurrences<kSource>(ctx, &inputs));
    if (ctx.input(inputs).dims() != 0) {
      return errors::InvalidArgument("Shape must be rank 0 but is rank ", ctx.input(inputs).dims());
    }
    ASSIGN_OR_RETURN(const int64_t size, ReadScalarInteger(ctx.input(inputs), "size"));
    if (size < 0) return errors::InvalidArgument("size (", size, ") must be non-negative");
    const Tensor& weights = ctx.input(inputs + 1);
    const bool weighted = weights.NumElements() > 0;
    if (weighted && weights.shape() != data.shape() && kSource == Source::kSparse) {
      return errors::InvalidArgument("Input indices and weights must have the same size.");
    }
    if (weighted && weights.shape() != data.shape()) {
      return errors::InvalidArgument(
          "`weights` must be the same shape as the values or a length-0 `Tensor`, in which "
          "case it acts as all weights equal to 1. Received ",
          weights.shape().ToString());
    }
    // Negative values of a sparse matrix are passed over, as in TensorFlow; elsewhere they are errors.
    for (const Occurrence& item : occurrences.items) {
      if (item.value >= 0 || (kSource == Source::kSparse && occurrences.has_rows)) continue;
      return errors::InvalidArgument(
          kSource == Source::kRagged ? "Input must be non-negative" : "Input arr must be non-negative!", " Got ",
          item.value);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, occurrences.has_rows ? TensorShape::Build({{occurrences.rows, size}})
                                                                   : TensorShape::Build({size}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    W* const out = output->data<W>();
    std::fill_n(out, shape.num_elements(), W{0});
    for (size_t i = 0; i < occurrences.items.size(); ++i) {
      const Occurrence& item = occurrences.items[i];
      if (item.value < 0 || item.value >= size) continue;
      W& bin = out[item.row * size + item.value];
      bin = binary_ ? W{1} : bin + (weighted ? weights.data<W>()[i] : W{1});
    }
    return absl::OkStatus();
  }

 private:
  bool binary_ = false;
};

template <Source kSource, typename W>
absl::Status RegisterCounts(KernelRegistry& kernels, const char* count, const char* bincount) {
  RETURN_IF_ERROR((kernels.Register<CountKernel<kSource, W>>(Kernel(count).Cpu().template Type<W>("output_type"))));
  if (bincount == nullptr) return absl::OkStatus();
  return kernels.Register<BincountKernel<kSource, W>>(Kernel(bincount).Cpu().template Type<W>("T"));
}

}  // namespace

absl::Status RegisterCountKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(W)                                                                                       \
  RETURN_IF_ERROR((RegisterCounts<Source::kDense, W>(kernels, "DenseCountSparseOutput", nullptr)));            \
  RETURN_IF_ERROR((RegisterCounts<Source::kSparse, W>(kernels, "SparseCountSparseOutput", "SparseBincount"))); \
  RETURN_IF_ERROR((RegisterCounts<Source::kRagged, W>(kernels, "RaggedCountSparseOutput", "RaggedBincount")));
  WEIR_REGISTER(int32_t)
  WEIR_REGISTER(int64_t)
  WEIR_REGISTER(float)
  WEIR_REGISTER(double)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
