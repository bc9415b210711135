// Softmax, and the cross-entropy losses on top of it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/tensor/numeric_types.h"
#include "kernels/device/float16.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/softmax/family.h"
#include "kernels/softmax/softmax_rows.h"

namespace weir {
namespace {

constexpr int64_t kPicosecondsPerElement = 1500;

// `scratch` holds n elements.
template <typename C>
void LogSoftmax(const C* x, C* out, C* scratch, int64_t n) {
  C max;
  const C log_sum = std::log(ShiftedExponentials(x, scratch, n, &max));
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] - max - log_sum;
}

// --- Rows of T in the type of the computation: the memory itself, or a copy ---

template <typename T>
const AccumulatorT<T>* ReadRow(const T* row, std::vector<AccumulatorT<T>>& copy, int64_t n) {
  if constexpr (std::is_same_v<T, AccumulatorT<T>>) {
    return row;
  } else {
    copy.resize(n);
    ToFloats(row, copy.data(), n);
    return copy.data();
  }
}

template <typename T>
AccumulatorT<T>* WriteRow(T* row, std::vector<AccumulatorT<T>>& copy, int64_t n) {
  if constexpr (std::is_same_v<T, AccumulatorT<T>>) {
    return row;
  } else {
    copy.resize(n);
    return copy.data();
  }
}

template <typename T>
void FinishRow(const AccumulatorT<T>* values, T* row, int64_t n) {
  if constexpr (!std::is_same_v<T, AccumulatorT<T>>) FromFloats(values, row, n);
}

template <typename T, bool kLog>
class SoftmaxKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    if (shape.dims() < 1) {
      return errors::InvalidArgument("logits must have >= 1 dimension, got ", shape.ToString());
    }
    const T* const logits = ctx.input(0).data<T>();
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    T* const out = output->data<T>();
    const int64_t n = shape.dim_size(shape.dims() - 1);
    ParallelRanges(ctx, shape.num_elements() / n, n * kPicosecondsPerElement, [=](int64_t begin, int64_t end) {
      std::vector<AccumulatorT<T>> in_copy, out_copy, scratch(kLog ? n : 0);
      for (int64_t i = begin; i < end; ++i) {
        const auto* x = ReadRow(logits + i * n, in_copy, n);
        auto* y = WriteRow(out + i * n, out_copy, n);
        if constexpr (kLog) {
          LogSoftmax(x, y, scratch.data(), n);
        } else {
          SoftmaxRow(x, y, n);
        }
        FinishRow(y, out + i * n, n);
      }
    });
    return absl::OkStatus();
  }
};

// loss = -sum(labels * log_softmax(logits)), backprop = softmax(logits) - labels. Rows of either may be broadcast.
template <typename T>
class SoftmaxCrossEntropyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& logits = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    DimVector x_dims(2), y_dims(2), dims(2);
    RETURN_IF_ERROR(Broadcast(logits.shape(), labels.shape(), x_dims, y_dims, dims));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * loss, ctx.allocate_output(0, TensorShape({dims[0]})));
    ASSIGN_OR_RETURN(Tensor * backprop, ctx.allocate_output(1, shape));
    const int64_t n = dims[1];
    if (n == 0) std::fill_n(loss->data<T>(), dims[0], T(0));
    if (shape.num_elements() == 0) return absl::OkStatus();

    const T* const x_data = logits.data<T>();
    const T* const y_data = labels.data<T>();
    ParallelRanges(ctx, dims[0], n * kPicosecondsPerElement, [&](int64_t begin, int64_t end) {
      std::vector<T> x_row(n), y_row(n);
      std::vector<AccumulatorT<T>> x_copy, y_copy, out_copy;
      for (int64_t i = begin; i < end; ++i) {
        const T* const x = Spread(x_data + (x_dims[0] == 1 ? 0 : i * x_dims[1]), x_dims[1], n, x_row);
        const T* const y = Spread(y_data + (y_dims[0] == 1 ? 0 : i * y_dims[1]), y_dims[1], n, y_row);
        T* const out = backprop->data<T>() + i * n;
        auto* const gradient = WriteRow(out, out_copy, n);
        loss->data<T>()[i] = static_cast<T>(Row(ReadRow(x, x_copy, n), ReadRow(y, y_copy, n), gradient, n));
        FinishRow(gradient, out, n);
      }
    });
    return absl::OkStatus();
  }

 private:
  using C = AccumulatorT<T>;

  static absl::Status Broadcast(const TensorShape& x, const TensorShape& y, DimVector& x_dims, DimVector& y_dims,
                                DimVector& dims) {
    if (x.dims() > 2 || y.dims() > 2 || std::max(x.dims(), y.dims()) != 2) {
      return errors::InvalidArgument(
          "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional: logits_size=",
          x.ToString(), " labels_size=", y.ToString());
    }
    for (int i = 0; i < 2; ++i) {
      x_dims[i] = i < 2 - x.dims() ? 1 : x.dim_size(i - 2 + x.dims());
      y_dims[i] = i < 2 - y.dims() ? 1 : y.dim_size(i - 2 + y.dims());
      if (x_dims[i] != y_dims[i] && x_dims[i] != 1 && y_dims[i] != 1) {
        return errors::InvalidArgument("logits and labels must be broadcastable: logits_size=", x.ToString(),
                                       " labels_size=", y.ToString());
      }
      dims[i] = x_dims[i] == 1 ? y_dims[i] : x_dims[i];
    }
    return absl::OkStatus();
  }

  // A row of n elements: the one given, or its only element n times.
  static const T* Spread(const T* row, int64_t size, int64_t n, std::vector<T>& copy) {
    if (size == n) return row;
    std::fill_n(copy.data(), n, *row);
    return copy.data();
  }

  static C Row(const C* x, const C* y, C* gradient, int64_t n) {
    C max;
    const C sum = ShiftedExponentials(x, gradient, n, &max);
    const C log_sum = std::log(sum), scale = C{1} / sum;
    C loss = 0;
    for (int64_t i = 0; i < n; ++i) {
      loss += y[i] * (log_sum - (x[i] - max));
      gradient[i] = gradient[i] * scale - y[i];
    }
    return loss;
  }
};

template <typename T>
class SparseSoftmaxCrossEntropyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& logits = ctx.input(0);
    const Tensor& labels_tensor = ctx.input(1);
    RETURN_IF_ERROR(Check(logits.shape(), labels_tensor.shape()));
    const int64_t rows = logits.dim_size(0), n = logits.dim_size(1);
    ASSIGN_OR_RETURN(const Indices labels, Indices::Read(labels_tensor));
    for (int64_t i = 0; i < rows; ++i) {
      if (labels[i] < 0 || labels[i] >= n) {
        return errors::InvalidArgument(
            "Received a label value of ", labels[i], " which is outside the valid range of [0, ", n,
            ").  Label values: ", absl::StrJoin(absl::MakeConstSpan(labels.data(), std::min<int64_t>(rows, 32)), " "));
      }
    }
    const TensorShape shape = logits.shape();
    ASSIGN_OR_RETURN(Tensor * loss, ctx.allocate_output(0, TensorShape({rows})));
    ASSIGN_OR_RETURN(Tensor * backprop, ctx.allocate_output(1, shape));
    ParallelRanges(ctx, rows, n * kPicosecondsPerElement, [&](int64_t begin, int64_t end) {
      std::vector<AccumulatorT<T>> in_copy, out_copy;
      for (int64_t i = begin; i < end; ++i) {
        const auto* const x = ReadRow(logits.data<T>() + i * n, in_copy, n);
        T* const out = backprop->data<T>() + i * n;
        auto* const gradient = WriteRow(out, out_copy, n);
        AccumulatorT<T> max;
        const auto sum = ShiftedExponentials(x, gradient, n, &max);
        const auto scale = AccumulatorT<T>{1} / sum;
        for (int64_t j = 0; j < n; ++j) gradient[j] *= scale;
        gradient[labels[i]] -= 1;
        loss->data<T>()[i] = static_cast<T>(std::log(sum) - (x[labels[i]] - max));
        FinishRow(gradient, out, n);
      }
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status Check(const TensorShape& logits, const TensorShape& labels) {
    if (!logits.IsMatrix()) return errors::InvalidArgument("logits must be 2-D, but got shape ", logits.ToString());
    if (!labels.IsVector()) return errors::InvalidArgument("labels must be 1-D, but got shape ", labels.ToString());
    if (logits.dim_size(0) != labels.dim_size(0)) {
      return errors::InvalidArgument("logits and labels must have the same first dimension, got logits shape ",
                                     logits.ToString(), " and labels shape ", labels.ToString());
    }
    if (logits.dim_size(1) == 0) {
      return errors::InvalidArgument("Must have at least one class, but got logits shape ", logits.ToString());
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterSoftmaxKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T)                                                                                           \
  RETURN_IF_ERROR((kernels.Register<SoftmaxKernel<T, false>>(Kernel("Softmax").Cpu().Type<T>("T"))));              \
  RETURN_IF_ERROR((kernels.Register<SoftmaxKernel<T, true>>(Kernel("LogSoftmax").Cpu().Type<T>("T"))));            \
  RETURN_IF_ERROR(                                                                                                 \
      kernels.Register<SoftmaxCrossEntropyKernel<T>>(Kernel("SoftmaxCrossEntropyWithLogits").Cpu().Type<T>("T"))); \
  RETURN_IF_ERROR(kernels.Register<SparseSoftmaxCrossEntropyKernel<T>>(                                            \
      Kernel("SparseSoftmaxCrossEntropyWithLogits").Cpu().Type<T>("T")));
  WEIR_FOR_FLOATS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
