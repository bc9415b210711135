// The largest elements of rows: TopK, InTopK, NthElement.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

// A total order; NaN comes after every number.
template <typename T>
bool Less(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    return a < b || (a == a && b != b);
  }
}

// An element and its index in a row. Larger elements sort first, equal ones by index.
template <typename T>
struct Ranked {
  static Ranked Of(T x, int64_t i) { return {x, i}; }
  int64_t Place() const { return i; }
  bool operator<(const Ranked& other) const { return Less(other.x, x) || (!Less(x, other.x) && i < other.i); }

  T x;
  int64_t i;
};

// Packed into one word, so that a comparison is one instruction: the key ascends as the float descends.
template <>
struct Ranked<float> {
  static Ranked Of(float x, int64_t i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x == 0 ? 0.0f : x);  // -0 equals 0
    const uint32_t descending = (bits >> 31) != 0 ? bits : ~bits & 0x7fffffff;
    return {static_cast<uint64_t>(x == x ? descending : 0) << 32 | static_cast<uint32_t>(i)};
  }
  int64_t Place() const { return static_cast<uint32_t>(word); }
  bool operator<(const Ranked& other) const { return word < other.word; }

  uint64_t word;
};

absl::StatusOr<int64_t> ReadK(const Tensor& k) {
  if (k.dims() != 0) return errors::InvalidArgument("k must be scalar, got shape ", k.shape().ToString());
  if (k.dtype() == DT_INT16) return k.scalar<int16_t>();
  return ScalarFromTensor(k, "k");
}

// Equal elements keep the order of their indices.
template <typename T, typename Index>
class TopKKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (!ctx.HasAttr("k")) return absl::OkStatus();
    RETURN_IF_ERROR(ctx.GetAttr("k", &k_));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    int64_t k = k_;
    if (ctx.num_inputs() > 1) {
      ASSIGN_OR_RETURN(k, ReadK(ctx.input(1)));
    }
    const Tensor& in = ctx.input(0);
    if (k < 0) return errors::InvalidArgument("Need k >= 0, got ", k);
    if (in.dims() < 1) return errors::InvalidArgument("input must be >= 1-D, got shape ", in.shape().ToString());
    const int64_t n = in.dim_size(in.dims() - 1);
    if (n < k) return errors::InvalidArgument("input must have at least k columns. Had ", n, ", needed ", k);
    if (n > std::numeric_limits<Index>::max()) {
      return errors::InvalidArgument("input has ", n, " columns, which index_type ", DataTypeName(DataTypeOf<Index>()),
                                     " cannot count");
    }
    if (n > std::numeric_limits<uint32_t>::max()) return errors::Unimplemented("The largest of ", n, " columns");
    TensorShape shape = in.shape();
    RETURN_IF_ERROR(shape.SetDim(shape.dims() - 1, k));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(1, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    ParallelRanges(ctx, shape.num_elements() / k, n * (k <= kFew ? 1'000 : 8'000), [&](int64_t begin, int64_t end) {
      std::vector<Ranked<T>> order;
      for (int64_t row = begin; row < end; ++row) {
        const T* const x = in.data<T>() + row * n;
        T* const to = values->data<T>() + row * k;
        Index* const places = indices->data<Index>() + row * k;
        k <= kFew ? InsertLargest(x, n, k, to, places) : SortLargest(x, n, k, order, to, places);
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kFew = 32;

  // Keeps the k largest so far in order; most elements are compared with the smallest of them and dropped.
  static void InsertLargest(const T* x, int64_t n, int64_t k, T* values, Index* indices) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (count == k && !Less(values[k - 1], x[i])) continue;
      int64_t at = count < k ? count++ : k - 1;
      for (; at > 0 && Less(values[at - 1], x[i]); --at) {
        values[at] = values[at - 1];
        indices[at] = indices[at - 1];
      }
      values[at] = x[i];
      indices[at] = static_cast<Index>(i);
    }
  }

  static void SortLargest(const T* x, int64_t n, int64_t k, std::vector<Ranked<T>>& order, T* values, Index* indices) {
    order.resize(n);
    for (int64_t i = 0; i < n; ++i) order[i] = Ranked<T>::Of(x[i], i);
    if (k < n) std::nth_element(order.begin(), order.begin() + (k - 1), order.end());
    std::sort(order.begin(), order.begin() + k);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = order[i].Place();
      values[i] = x[at];
      indices[i] = static_cast<Index>(at);
    }
  }

  int64_t k_ = 0;
};

// Whether fewer than k classes are more probable than the target; false if a prediction is not finite.
class InTopKKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    return ctx.HasAttr("k") ? ctx.GetAttr("k", &k_) : absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    int64_t k = k_;
    if (ctx.num_inputs() > 2) {
      ASSIGN_OR_RETURN(k, ReadK(ctx.input(2)));
    }
    const Tensor& predictions = ctx.input(0);
    ASSIGN_OR_RETURN(const Indices targets, Indices::Read(ctx.input(1)));
    if (predictions.dims() != 2) return errors::InvalidArgument("predictions must be 2-dimensional");
    if (!targets.shape().IsVector()) return errors::InvalidArgument("targets must be 1-dimensional");
    const int64_t rows = predictions.dim_size(0), n = predictions.dim_size(1);
    if (rows != targets.size()) {
      return errors::InvalidArgument("First dimension of predictions ", rows, " must match length of targets ",
                                     targets.size());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({rows})));
    for (int64_t row = 0; row < rows; ++row) {
      output->data<bool>()[row] = Row(predictions.data<float>() + row * n, n, targets[row], k);
    }
    return absl::OkStatus();
  }

 private:
  static bool Row(const float* x, int64_t n, int64_t target, int64_t k) {
    if (target < 0 || target >= n || !std::isfinite(x[target])) return false;
    int64_t above = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(x[i])) return false;
      above += x[i] > x[target];
    }
    return above < k;
  }

  int64_t k_ = 0;
};

template <typename T>
class NthElementKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("reverse", &reverse_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("N must be scalar but has rank ", ctx.input(1).dims());
    }
    ASSIGN_OR_RETURN(int64_t n, ScalarFromTensor(ctx.input(1), "n"));
    if (n < 0) return errors::InvalidArgument("n must be non-negative but is ", n);
    if (in.dims() < 1) return errors::InvalidArgument("Input must be at least rank 1 but is rank ", in.dims());
    const int64_t width = in.dim_size(in.dims() - 1);
    if (width <= n) return errors::InvalidArgument("Input must have last dimension > n = ", n);
    if (reverse_) n = width - n - 1;
    TensorShape shape = in.shape();
    shape.RemoveDim(shape.dims() - 1);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ParallelRanges(ctx, shape.num_elements(), width * 4'000, [&](int64_t begin, int64_t end) {
      std::vector<T> row(width);
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(in.data<T>() + i * width, width, row.begin());
        std::nth_element(row.begin(), row.begin() + n, row.end(), &Less<T>);
        output->data<T>()[i] = row[n];
      }
    });
    return absl::OkStatus();
  }

 private:
  bool reverse_ = false;
};

}  // namespace

absl::Status RegisterTopKKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T)                                                                                            \
  RETURN_IF_ERROR((kernels.Register<TopKKernel<T, int32_t>>(Kernel("TopK").Cpu().Type<T>("T"))));                   \
  RETURN_IF_ERROR(                                                                                                  \
      (kernels.Register<TopKKernel<T, int16_t>>(Kernel("TopKV2").Cpu().Type<T>("T").Type<int16_t>("index_type")))); \
  RETURN_IF_ERROR(                                                                                                  \
      (kernels.Register<TopKKernel<T, int32_t>>(Kernel("TopKV2").Cpu().Type<T>("T").Type<int32_t>("index_type")))); \
  RETURN_IF_ERROR(                                                                                                  \
      (kernels.Register<TopKKernel<T, int64_t>>(Kernel("TopKV2").Cpu().Type<T>("T").Type<int64_t>("index_type")))); \
  RETURN_IF_ERROR(kernels.Register<NthElementKernel<T>>(Kernel("NthElement").Cpu().Type<T>("T")));
  WEIR_FOR_REALS(WEIR_REGISTER)
#undef WEIR_REGISTER
  RETURN_IF_ERROR(kernels.Register<InTopKKernel>(Kernel("InTopK").Cpu()));
  return kernels.Register<InTopKKernel>(Kernel("InTopKV2").Cpu());
}

}  // namespace weir
