#include "kernels/elementwise/cast/cpu_cast.h"

#include <cstring>

#include "kernels/device/parallel.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

// Bits of mantissa that a floating type keeps; 0 for other types.
int MantissaBits(DataType type) {
  switch (type) {
    case DT_DOUBLE:
      return 52;
    case DT_FLOAT:
      return 23;
    case DT_HALF:
      return 10;
    case DT_BFLOAT16:
      return 7;
    default:
      return 0;
  }
}

template <typename Bits>
Tensor ClearLowBits(Tensor copy, int count) {
  Bits* bits = copy.data<Bits>();
  const Bits mask = ~((Bits{1} << count) - 1);
  for (int64_t i = 0; i < copy.NumElements(); ++i) bits[i] &= mask;
  return copy;
}

class CastKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("SrcT", &from_));
    RETURN_IF_ERROR(ctx.GetAttr("DstT", &to_));
    RETURN_IF_ERROR(ctx.GetAttr("Truncate", &truncate_));
    if (from_ == to_) return absl::OkStatus();
    is_copy_ = StoredAs(from_) == StoredAs(to_);
    loop_ = FindCast(StoredAs(from_), StoredAs(to_));
    if (loop_ == nullptr && !is_copy_) {
      return errors::Unimplemented("Cast ", DataTypeName(from_), " to ", DataTypeName(to_), " is not supported");
    }
    const int from_bits = MantissaBits(from_), to_bits = MantissaBits(to_);
    truncate_ = truncate_ && to_bits > 0 && from_bits > to_bits && from_bits >= MantissaBits(DT_FLOAT);
    cleared_bits_ = from_bits - to_bits;
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (from_ == to_) {
      ctx.set_output(0, ctx.input(0));
      return absl::OkStatus();
    }
    Tensor input = ctx.input(0);
    if (truncate_) {
      ASSIGN_OR_RETURN(Tensor copy, input.DeepCopy(ctx.allocator()));
      input = from_ == DT_DOUBLE ? ClearLowBits<uint64_t>(std::move(copy), cleared_bits_)
                                 : ClearLowBits<uint32_t>(std::move(copy), cleared_bits_);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    const char* in = static_cast<const char*>(input.raw_data());
    char* out = static_cast<char*>(output->raw_data());
    const int64_t in_size = DataTypeSize(from_), out_size = DataTypeSize(to_);
    if (is_copy_) {
      if (output->NumElements() > 0) std::memcpy(out, in, output->NumElements() * out_size);
      return absl::OkStatus();
    }
    const int64_t n = input.NumElements();
    ParallelRanges(ctx, (n + kCastBlock - 1) / kCastBlock, 500 * kCastBlock, [&](int64_t first, int64_t last) {
      const int64_t begin = first * kCastBlock, end = std::min(n, last * kCastBlock);
      loop_(in + begin * in_size, out + begin * out_size, end - begin);
    });
    return absl::OkStatus();
  }

  bool IsExpensive() const override { return false; }

 private:
  DataType from_, to_;
  bool truncate_ = false, is_copy_ = false;
  int cleared_bits_ = 0;
  CastLoop loop_ = nullptr;
};

}  // namespace

DataType StoredAs(DataType type) {
  switch (type) {
    case DT_QINT8:
      return DT_INT8;
    case DT_QUINT8:
      return DT_UINT8;
    case DT_QINT16:
      return DT_INT16;
    case DT_QUINT16:
      return DT_UINT16;
    case DT_QINT32:
      return DT_INT32;
    default:
      return type;
  }
}

CastLoop FindCast(DataType from, DataType to) {
  if (CastLoop loop = FindCastFromFloats(from, to)) return loop;
  if (CastLoop loop = FindCastFromSigned(from, to)) return loop;
  if (CastLoop loop = FindCastFromUnsigned(from, to)) return loop;
  return FindCastFloat8(from, to);
}

absl::Status RegisterCastKernels(KernelRegistry& kernels) { return kernels.Register<CastKernel>(Kernel("Cast").Cpu()); }

}  // namespace weir
