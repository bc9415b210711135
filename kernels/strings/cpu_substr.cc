#include <algorithm>
#include <mutex>

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// The byte behind `count` characters from `at` on; `count` becomes what is missing.
size_t SkipCharacters(absl::string_view text, size_t at, int64_t* count) {
  for (; *count > 0 && at < text.size(); --*count) {
    ++at;
    while (at < text.size() && !StartsCharacter(text[at])) ++at;
  }
  return at;
}

// The byte of the `count`-th character from the end.
size_t SkipCharactersBack(absl::string_view text, int64_t* count) {
  size_t at = text.size();
  for (; *count > 0 && at > 0; --*count) {
    --at;
    while (at > 0 && !StartsCharacter(text[at])) --at;
  }
  return at;
}

// input, pos, len; pos and len have one shape, which is broadcast with the input's.
class SubstrKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string unit;
    RETURN_IF_ERROR(ctx.GetAttr("unit", &unit));
    characters_ = unit == "UTF8_CHAR";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &pos = ctx.input(1), &len = ctx.input(2);
    if (pos.shape() != len.shape()) {
      return errors::InvalidArgument("pos and len should have the same shape, got: ", pos.shape().ToString(), " vs. ",
                                     len.shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector begins, ReadIntegers(pos));
    ASSIGN_OR_RETURN(const DimVector lengths, ReadIntegers(len));
    ASSIGN_OR_RETURN(const TensorShape shape, Broadcast(input.shape(), pos.shape()));
    if (shape.dims() > 2 && input.shape() != pos.shape() && pos.dims() > 0) {
      return errors::Unimplemented("Substr broadcast not implemented for ", shape.dims(), " dimensions");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (pos.dims() == 0) return CutAll(ctx, input, begins[0], lengths[0], output);
    const DimVector text_steps = Steps(input.shape(), shape), pos_steps = Steps(pos.shape(), shape);
    DimVector at(shape.dims(), 0);
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      int64_t text = 0, place = 0;
      for (int d = 0; d < shape.dims(); ++d) {
        text += at[d] * text_steps[d];
        place += at[d] * pos_steps[d];
      }
      RETURN_IF_ERROR(Cut(input.data<tstring>()[text], begins[place], lengths[place], i, &output->data<tstring>()[i]));
      for (int d = shape.dims() - 1; d >= 0 && ++at[d] == shape.dim_size(d); --d) at[d] = 0;
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<TensorShape> Broadcast(const TensorShape& a, const TensorShape& b) {
    DimVector dims(std::max(a.dims(), b.dims()), 1);
    for (size_t d = 0; d < dims.size(); ++d) {
      const int from_end = static_cast<int>(dims.size() - d);
      const int64_t x = from_end > a.dims() ? 1 : a.dim_size(a.dims() - from_end);
      const int64_t y = from_end > b.dims() ? 1 : b.dim_size(b.dims() - from_end);
      if (x != y && x != 1 && y != 1) {
        return errors::InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString());
      }
      dims[d] = x == 1 ? y : x;
    }
    return TensorShape::Build(dims);
  }

  // By how many elements of `from` a step in each dimension of `to` goes.
  static DimVector Steps(const TensorShape& from, const TensorShape& to) {
    const DimVector dense = DenseSteps(from.dim_sizes());
    DimVector steps(to.dims(), 0);
    for (int d = 0; d < from.dims(); ++d) {
      if (from.dim_size(d) != 1) steps[to.dims() - from.dims() + d] = dense[d];
    }
    return steps;
  }

  // The same part of every string; an error is that of the first string that has one.
  absl::Status CutAll(OpKernelContext& ctx, const Tensor& input, int64_t pos, int64_t len, Tensor* output) const {
    const tstring* const in = input.data<tstring>();
    tstring* const out = output->data<tstring>();
    std::mutex mutex;
    absl::Status status;
    int64_t failed = input.NumElements();
    ParallelRanges(ctx, input.NumElements(), 10'000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        absl::Status one = Cut(in[i], pos, len, i, &out[i]);
        if (one.ok()) continue;
        std::lock_guard<std::mutex> lock(mutex);
        if (i < failed) status = std::move(one);
        failed = std::min(failed, i);
        return;
      }
    });
    return status;
  }

  absl::Status Cut(absl::string_view text, int64_t pos, int64_t len, int64_t i, tstring* out) const {
    if (!characters_) {
      const int64_t size = text.size();
      const int64_t begin = pos < 0 ? pos + size : pos;
      if (begin < 0 || begin > size) {
        return errors::InvalidArgument("pos ", pos, " out of range for string b'", text, "' at index ", i);
      }
      // A negative length means all of the rest.
      const absl::string_view part = text.substr(begin, len < 0 ? absl::string_view::npos : static_cast<size_t>(len));
      out->assign(part.data(), part.size());
      return absl::OkStatus();
    }
    int64_t count = pos < 0 ? -std::max<int64_t>(pos, -INT64_MAX) : pos;
    const size_t begin = pos < 0 ? SkipCharactersBack(text, &count) : SkipCharacters(text, 0, &count);
    if (count > 0) return errors::InvalidArgument("pos ", pos, " out of range for string at index ", i);
    const size_t end = SkipCharacters(text, begin, &len);
    *out = std::string(text.substr(begin, end - begin));
    return absl::OkStatus();
  }

  bool characters_ = false;
};

}  // namespace

absl::Status RegisterSubstrKernels(KernelRegistry& kernels) {
  return kernels.Register<SubstrKernel>(Kernel("Substr").Cpu());
}

}  // namespace weir
