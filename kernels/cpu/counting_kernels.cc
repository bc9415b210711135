// Counting values and finding their places: DenseBincount, HistogramFixedWidth, Bucketize, LowerBound, UpperBound.
#include <algorithm>
#include <cmath>

#include "core/numeric_types.h"
#include "kernels/cpu/index_tensor.h"
#include "kernels/cpu/numeric_families.h"
#include "kernels/cpu/parallel.h"

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
    ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(data));
    const int64_t columns = rows == 0 ? 0 : data.NumElements() / rows;
    for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
      if (values[i] < 0) return errors::InvalidArgument("Input arr must be non-negative!");
      if (values[i] >= size) continue;
      T& count = output->data<T>()[i / columns * size + values[i]];
      if (binary_) {
        count = T(1);
      } else {
        count += weights.NumElements() == 0 ? T(1) : weights.data<T>()[i];
      }
    }
    return absl::OkStatus();
  }

 private:
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
      return errors::InvalidArgument("value_range should be a vector, but got shape ", range.shape().ToString());
    }
    if (range.NumElements() != 2) {
      return errors::InvalidArgument("value_range should be a vector of 2 elements, but got shape ",
                                     range.shape().ToString());
    }
    if (nbins.dims() != 0) {
      return errors::InvalidArgument("nbins should be a scalar, but got shape ", nbins.shape().ToString());
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
      if (value != value) return errors::InvalidArgument("values must not be NaN");
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
