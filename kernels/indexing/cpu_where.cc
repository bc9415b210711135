// Where: the coordinates of elements that are not zero, in order.
#include <algorithm>
#include <complex>
#include <numeric>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/device/parallel.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

// How many of n elements are not zero.
using CountLoop = int64_t (*)(const void* data, int64_t n);
// Their indices, written to `found`, which has room for n + 1; returns how many there are.
using FindLoop = int64_t (*)(const void* data, int64_t n, int64_t* found);

// Elements by width, and 16-bit floats, of which either zero has no bits but its sign.
enum class Float16Bits : uint16_t {};
bool IsNonZero(Float16Bits x) { return (static_cast<uint16_t>(x) & 0x7fff) != 0; }
template <typename T>
bool IsNonZero(T x) {
  return x != T(0);
}

template <typename T>
int64_t CountNonZero(const void* data, int64_t n) {
  const T* const x = static_cast<const T*>(data);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += IsNonZero(x[i]);
  return count;
}

template <typename T>
int64_t FindNonZero(const void* data, int64_t n, int64_t* found) {
  const T* const x = static_cast<const T*>(data);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {  // without a branch, which nothing could predict
    found[count] = i;
    count += IsNonZero(x[i]);
  }
  return count;
}

struct Loops {
  CountLoop count = nullptr;
  FindLoop find = nullptr;
};
template <typename T>
Loops LoopsOf() {
  return {&CountNonZero<T>, &FindNonZero<T>};
}

absl::StatusOr<Loops> FindLoops(DataType type) {
  switch (type) {
    case DT_FLOAT:
      return LoopsOf<float>();
    case DT_DOUBLE:
      return LoopsOf<double>();
    case DT_COMPLEX64:
      return LoopsOf<complex64>();
    case DT_COMPLEX128:
      return LoopsOf<complex128>();
    case DT_HALF:
    case DT_BFLOAT16:
      return LoopsOf<Float16Bits>();
    default:
      break;
  }
  switch (DataTypeSize(type)) {
    case 1:
      return LoopsOf<uint8_t>();
    case 2:
      return LoopsOf<uint16_t>();
    case 4:
      return LoopsOf<uint32_t>();
    case 8:
      return LoopsOf<uint64_t>();
    default:
      return errors::Unimplemented("Where of ", DataTypeName(type));
  }
}

class WhereKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(loops_, FindLoops(ctx.input_types()[0]));
    size_ = static_cast<int64_t>(DataTypeSize(ctx.input_types()[0]));
    return absl::OkStatus();
  }

  // Counts per block first, so each block knows the first row it writes.
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int64_t rank = input.dims(), n = input.NumElements();
    if (rank == 0) return errors::InvalidArgument("WhereOp : Unhandled input dimensions: 0");
    const char* const data = static_cast<const char*>(input.raw_data());
    const int64_t blocks = (n + kBlock - 1) / kBlock;
    std::vector<int64_t> starts(blocks + 1, 0);
    ParallelRanges(ctx, blocks, kBlock * 200, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        starts[b + 1] = loops_.count(data + b * kBlock * size_, std::min(kBlock, n - b * kBlock));
      }
    });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({starts[blocks], rank})));
    int64_t* const out = output->data<int64_t>();
    ParallelRanges(ctx, blocks, kBlock * 1000 * rank, [&](int64_t begin, int64_t end) {
      int64_t found[kBlock + 1];
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kBlock;
        // The input may be a reference variable that is being written: never write beyond this block.
        const int64_t count =
            std::min(loops_.find(data + first * size_, std::min(kBlock, n - first), found), starts[b + 1] - starts[b]);
        WriteCoordinates(input.shape(), first, absl::MakeConstSpan(found, count), out + starts[b] * rank);
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kBlock = 2048;

  static void WriteCoordinates(const TensorShape& shape, int64_t first, absl::Span<const int64_t> found, int64_t* out) {
    const int rank = shape.dims();
    if (rank == 1) {
      for (size_t i = 0; i < found.size(); ++i) out[i] = first + found[i];
      return;
    }
    for (const int64_t at : found) {
      int64_t rest = first + at;
      for (int d = rank - 1; d > 0; --d) {
        const int64_t size = shape.dim_size(d), quotient = rest / size;
        out[d] = rest - quotient * size;
        rest = quotient;
      }
      out[0] = rest;
      out += rank;
    }
  }

  Loops loops_;
  int64_t size_ = 0;
};

}  // namespace

absl::Status RegisterWhereKernel(KernelRegistry& kernels) {
  return kernels.Register<WhereKernel>(Kernel("Where").Cpu());
}

}  // namespace weir
