// DenseBincount, HistogramFixedWidth, Bucketize, LowerBound and UpperBound.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/counting/family.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

template <typename T>
class DenseBincountKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("binary_output", &binary_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    const Tensor& weights = ctx.input(2);
    if (ctx.input(1).NumElements() != 1 || ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("Shape must be rank 0 but is rank ", ctx.input(1).dims());
    }
    ASSIGN_OR_RETURN(const int64_t size, ReadInteger(ctx.input(1), "size"));
    if (size < 0) return errors::InvalidArgument("size (", size, ") must be non-negative");
    if (data.dims() > 2) return errors::InvalidArgument("Shape must be at most rank 2 but is rank ", data.dims());
    if (weights.shape() != data.shape() && weights.NumElements() != 0) {
      return errors::InvalidArgument(
          "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights "
          "equal to 1. Received ",
          weights.shape().ToString());
    }
    const int64_t rows = data.dims() == 2 ? data.dim_size(0) : 1;
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build({size}));
    if (data.dims() == 2) RETURN_IF_ERROR(shape.InsertDim(0, rows));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    std::fill_n(output->data<T>(), output->NumElements(), T(0));
    const bool weighted = weights.NumElements() != 0;
    const auto count = [&](const auto* values) {
      const int64_t n = data.NumElements();
      bool ok = true;
      if (rows == 1 && !weighted) {
        ok = CountOneRow(ctx, values, n, size, output->data<T>());
      } else {
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t columns = n / rows, first = row * columns;
          ok &= Count(values + first, weighted ? weights.data<T>() + first : nullptr, columns, size,
                      output->data<T>() + row * size);
        }
      }
      if (ok) return absl::OkStatus();
      const auto negative = std::find_if(values, values + n, [](auto value) { return value < 0; });
      return errors::InvalidArgument(
          data.dims() == 2 ? "Input 'in' must be non-negative!" : "Input arr must be non-negative!",
          " Negative input value found: ", *negative);
    };
    if (data.dtype() == DT_INT32) return count(data.data<int32_t>());
    if (data.dtype() == DT_INT64) return count(data.data<int64_t>());
    return errors::Unimplemented("DenseBincount of ", DataTypeName(data.dtype()));
  }

 private:
  // Without weights each value counts 1. False where a value is negative.
  template <typename V>
  bool Count(const V* values, const T* weights, int64_t n, int64_t size, T* counts) const {
    bool negative = false;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t value = static_cast<uint64_t>(int64_t{values[i]});
      if (value >= static_cast<uint64_t>(size)) {
        negative |= values[i] < 0;
      } else if (binary_) {
        counts[value] = T(1);
      } else {
        counts[value] += weights == nullptr ? T(1) : weights[i];
      }
    }
    return !negative;
  }

  // If there are many more values than bins, each part of the values has bins of its own, which are added up. Counts of
  // floats lose units above 2^24, so the number of parts must not depend on the threads.
  template <typename V>
  bool CountOneRow(OpKernelContext& ctx, const V* values, int64_t n, int64_t size, T* counts) const {
    constexpr int64_t parts = 16;
    const int64_t length = (n + parts - 1) / parts;
    if (n < 32768 || size > length / 8) return Count(values, nullptr, n, size, counts);
    std::vector<T> partial(parts * size, T(0));
    std::atomic<bool> ok{true};
    ParallelRanges(ctx, parts, length * 1500, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = std::min(n, part * length);
        if (!Count(values + first, nullptr, std::min(length, n - first), size, partial.data() + part * size))
          ok = false;
      }
    });
    for (int64_t part = 0; part < parts; ++part) {
      const T* const from = partial.data() + part * size;
      for (int64_t i = 0; i < size; ++i) counts[i] = binary_ ? std::max(counts[i], from[i]) : counts[i] + from[i];
    }
    return ok;
  }

  bool binary_ = false;
};

template <typename T>
class HistogramFixedWidthKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    const Tensor& range = ctx.input(1);
    const Tensor& nbins = ctx.input(2);
    if (range.dims() != 1) {
      return errors::InvalidArgument("value_range should be a vector., but got shape ", range.shape().ToString());
    }
    if (range.NumElements() != 2) {
      return errors::InvalidArgument("value_range should be a vector of 2 elements., but got shape ",
                                     range.shape().ToString());
    }
    if (nbins.dims() != 0) {
      return errors::InvalidArgument("nbins should be a scalar., but got shape ", nbins.shape().ToString());
    }
    const T low = range.data<T>()[0], high = range.data<T>()[1];
    if (!(low < high)) {
      return errors::InvalidArgument("value_range should satisfy value_range[0] < value_range[1], but got '[", low,
                                     ", ", high, "]'");
    }
    const int64_t bins = nbins.scalar<int32_t>();
    if (bins <= 0) return errors::InvalidArgument("nbins should be a positive number, but got '", bins, "'");
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({bins})));
    const bool narrow = output->dtype() == DT_INT32;
    std::fill_n(static_cast<char*>(output->raw_data()), output->TotalBytes(), 0);
    const double step = (static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(bins);
    for (const T value : values.flat<T>()) {
      if (value != value) return errors::InvalidArgument("Histogram values must not contain NaN");
      const T inside = std::min(std::max(value, low), high);
      const double place = (static_cast<double>(inside) - static_cast<double>(low)) / step;
      const int64_t bin = std::min(static_cast<int64_t>(std::min(place, 1e18)), bins - 1);
      if (narrow) {
        ++output->data<int32_t>()[bin];
      } else {
        ++output->data<int64_t>()[bin];
      }
    }
    return absl::OkStatus();
  }
};

// How many boundaries are not above each value.
template <typename T>
class BucketizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("boundaries", &boundaries_));
    if (std::is_sorted(boundaries_.begin(), boundaries_.end())) return absl::OkStatus();
    return errors::InvalidArgument("Expected sorted boundaries");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const T* const values = ctx.input(0).data<T>();
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, ctx.input(0).shape()));
    int32_t* const places = output->data<int32_t>();
    ParallelRanges(ctx, output->NumElements(), 10000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        places[i] = static_cast<int32_t>(std::upper_bound(boundaries_.begin(), boundaries_.end(), values[i]) -
                                         boundaries_.begin());
      }
    });
    return absl::OkStatus();
  }

 private:
  std::vector<float> boundaries_;
};

// Inputs: sorted rows, and for each row values to find in it.
template <typename T, bool kUpper>
class BoundKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& sorted = ctx.input(0);
    const Tensor& values = ctx.input(1);
    if (sorted.dims() != 2)
      return errors::InvalidArgument("Shape must be rank 2 but is rank ", sorted.dims(),
                                     " for `sorted_inputs` argument");
    if (values.dims() != 2)
      return errors::InvalidArgument("Shape must be rank 2 but is rank ", values.dims(), " for `values` argument");
    if (sorted.dim_size(0) != values.dim_size(0)) {
      return errors::InvalidArgument("Leading dim_size of both tensors must match.");
    }
    const int64_t columns = sorted.dim_size(1), each = values.dim_size(1);
    if (ctx.expected_output_dtype(0) == DT_INT32 && columns >= std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("trailing dim_size must less than INT_MAX for int32 output type, was ", columns);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, values.shape()));
    const auto fill = [&](auto* places) {
      for (int64_t i = 0; i < output->NumElements(); ++i) {
        const T* const row = sorted.data<T>() + i / each * columns;
        const T value = values.data<T>()[i];
        const T* const at =
            kUpper ? std::upper_bound(row, row + columns, value) : std::lower_bound(row, row + columns, value);
        places[i] = static_cast<std::remove_pointer_t<decltype(places)>>(at - row);
      }
    };
    if (output->dtype() == DT_INT32) {
      fill(output->data<int32_t>());
    } else {
      fill(output->data<int64_t>());
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterCountingKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T)                                                                                             \
  RETURN_IF_ERROR(kernels.Register<DenseBincountKernel<T>>(Kernel("DenseBincount").Cpu().Type<T>("T")));             \
  RETURN_IF_ERROR(kernels.Register<HistogramFixedWidthKernel<T>>(Kernel("HistogramFixedWidth").Cpu().Type<T>("T"))); \
  RETURN_IF_ERROR(kernels.Register<BucketizeKernel<T>>(Kernel("Bucketize").Cpu().Type<T>("T")));
  WEIR_REGISTER(int32_t)
  WEIR_REGISTER(int64_t)
  WEIR_REGISTER(float)
  WEIR_REGISTER(double)
#undef WEIR_REGISTER
#define WEIR_REGISTER(T)                                                                               \
  RETURN_IF_ERROR((kernels.Register<BoundKernel<T, false>>(Kernel("LowerBound").Cpu().Type<T>("T")))); \
  RETURN_IF_ERROR((kernels.Register<BoundKernel<T, true>>(Kernel("UpperBound").Cpu().Type<T>("T"))));
  WEIR_FOR_REALS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
