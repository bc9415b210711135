// UnravelIndex, Cross, DataFormatDimMap and DataFormatVecPermute.
#include <algorithm>
#include <limits>

#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/counting/args_cross.h"
#include "kernels/counting/family.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

class UnravelIndexKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    if (indices.dims() > 1) {
      return errors::InvalidArgument("The indices can only be scalar or vector, got \"", indices.shape().ToString(),
                                     "\"");
    }
    if (ctx.input(1).dims() != 1) {
      return errors::InvalidArgument("The indices can only be 1-D, got \"", ctx.input(1).shape().ToString(), "\"");
    }
    ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(indices));
    ASSIGN_OR_RETURN(const DimVector dims, ReadIntegers(ctx.input(1)));
    int64_t total = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0) {
        return errors::InvalidArgument("Input dims cannot contain a dim of zero, but dims contains zero at index ", i);
      }
      if (dims[i] < 0)
        return errors::InvalidArgument("Input dims cannot be negative. Got dim = ", dims[i], " at index ", i);
      total = MultiplyWithoutOverflow(total, dims[i]);
      if (total < 0 || (indices.dtype() == DT_INT32 && total > std::numeric_limits<int32_t>::max())) {
        return errors::InvalidArgument("Input dims product is causing integer overflow: (", absl::StrJoin(dims, " "),
                                       ")");
      }
    }
    if (values.empty() || dims.empty()) {
      return errors::InvalidArgument("received empty tensor ", values.empty() ? "indices" : "dims");
    }
    const int64_t rank = static_cast<int64_t>(dims.size()), n = static_cast<int64_t>(values.size());
    DimVector result(rank * n);
    for (int64_t i = 0; i < n; ++i) {
      if (values[i] >= total) {  // negative ones give negative coordinates
        return errors::InvalidArgument("index is out of bound as with dims");
      }
      int64_t rest = values[i];
      for (int64_t d = rank - 1; d >= 0; --d) {
        result[d * n + i] = rest % dims[d];
        rest /= dims[d];
      }
    }
    ASSIGN_OR_RETURN(Tensor * output,
                     ctx.allocate_output(0, indices.dims() == 0 ? TensorShape({rank}) : TensorShape({rank, n})));
    return WriteIntegers(result, output);
  }
};

template <typename T>
class CrossKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    RETURN_IF_ERROR(CheckCross(a, b));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, a.shape()));
    using V = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    for (int64_t i = 0; i < a.NumElements(); i += 3) {
      V x[3], y[3];
      for (int j = 0; j < 3; ++j) {
        x[j] = static_cast<V>(a.data<T>()[i + j]);
        y[j] = static_cast<V>(b.data<T>()[i + j]);
      }
      for (int j = 0; j < 3; ++j) {
        const int k = (j + 1) % 3, l = (j + 2) % 3;
        output->data<T>()[i + j] = static_cast<T>(x[k] * y[l] - x[l] * y[k]);
      }
    }
    return absl::OkStatus();
  }
};

// Attributes src_format and dst_format, permutations of each other of four or five letters.
absl::Status ReadFormats(OpKernelConstruction& ctx, std::string* src, std::string* dst) {
  RETURN_IF_ERROR(ctx.GetAttr("src_format", src));
  RETURN_IF_ERROR(ctx.GetAttr("dst_format", dst));
  for (const auto& [name, format] : {std::pair{"Source", src}, std::pair{"Destination", dst}}) {
    if (format->size() == 4 || format->size() == 5) continue;
    return errors::InvalidArgument(name, " format must be of length 4 or 5, received ",
                                   name == absl::string_view("Source") ? "src" : "dst", "_format = ", *format);
  }
  std::string sorted_src = *src, sorted_dst = *dst;
  std::sort(sorted_src.begin(), sorted_src.end());
  std::sort(sorted_dst.begin(), sorted_dst.end());
  if (sorted_src != sorted_dst || std::adjacent_find(sorted_src.begin(), sorted_src.end()) != sorted_src.end()) {
    return errors::InvalidArgument("Destination and source format must determine a permutation, got ", *src, " and ",
                                   *dst);
  }
  return absl::OkStatus();
}

// Dimension numbers of one format as those of the other.
class DataFormatDimMapKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string src, dst;
    RETURN_IF_ERROR(ReadFormats(ctx, &src, &dst));
    for (char dim : src) map_.push_back(static_cast<int64_t>(dst.find(dim)));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(DimVector values, ReadIntegers(ctx.input(0)));
    const int64_t n = static_cast<int64_t>(map_.size());
    for (int64_t& value : values) {
      // TensorFlow takes the number modulo the rank.
      value = map_[((value % n) + n) % n];
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, ctx.input(0).shape()));
    return WriteIntegers(values, output);
  }

 private:
  DimVector map_;
};

// A vector, or matrix of pairs, with one row for each dimension: its rows in the order of the other format. Without
// batch and channels it has the spatial dimensions alone.
class DataFormatVecPermuteKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadFormats(ctx, &src_, &dst_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != 1 && input.dims() != 2) {
      return errors::InvalidArgument("input must be a vector or 2D tensor, but got shape ", input.shape().ToString());
    }
    const int64_t rank = static_cast<int64_t>(src_.size()), rows = input.dim_size(0);
    if (rows != rank && rows != rank - 2) {
      return errors::InvalidArgument(
          input.dims() == 1 ? "1D input must be of size " : "First dimension of 2D input must be of size ", rank - 2,
          " or ", rank, ", but got shape ", input.shape().ToString());
    }
    if (input.dims() == 2 && input.dim_size(1) != 2) {
      return errors::InvalidArgument("Second dimension of 2D input must be of size 2, but got shape ",
                                     input.shape().ToString());
    }
    std::string src = src_, dst = dst_;
    if (rows == rank - 2) {
      for (std::string* format : {&src, &dst}) {
        format->erase(std::remove_if(format->begin(), format->end(), [](char c) { return c == 'N' || c == 'C'; }),
                      format->end());
        if (static_cast<int64_t>(format->size()) != rows) {
          return errors::InvalidArgument("Format specifier must contain N and C for ", rank, "D case");
        }
      }
    }
    ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(input));
    const int64_t width = input.dims() == 2 ? 2 : 1;
    DimVector result(values.size());
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t from = static_cast<int64_t>(src.find(dst[i]));
      std::copy_n(values.begin() + from * width, width, result.begin() + i * width);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    return WriteIntegers(result, output);
  }

 private:
  std::string src_, dst_;
};

}  // namespace

absl::Status RegisterFormatKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<UnravelIndexKernel>(Kernel("UnravelIndex").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DataFormatDimMapKernel>(Kernel("DataFormatDimMap").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DataFormatVecPermuteKernel>(Kernel("DataFormatVecPermute").Cpu()));
  // TensorFlow's placer asks for these by label.
  RETURN_IF_ERROR(kernels.Register<DataFormatDimMapKernel>(Kernel("DataFormatDimMap").Cpu().Label("host")));
  RETURN_IF_ERROR(kernels.Register<DataFormatVecPermuteKernel>(Kernel("DataFormatVecPermute").Cpu().Label("host")));
#define WEIR_REGISTER(T) RETURN_IF_ERROR(kernels.Register<CrossKernel<T>>(Kernel("Cross").Cpu().Type<T>("T")));
  WEIR_FOR_REALS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
