// AddN and AccumulateNV2.
#include <complex>

#include "core/tensor/numeric_types.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

BinaryLoop FindAdd(DataType type) {
  switch (type) {
#define WEIR_ADD(T, Element) \
  case DataTypeOf<T>():      \
    return &BinaryLoopOf<functor::Add, Element, Element>;
    WEIR_ADD(float, float)
    WEIR_ADD(double, double)
    WEIR_ADD(complex64, complex64)
    WEIR_ADD(complex128, complex128)
#define WEIR_INTEGER_ADD(T) WEIR_ADD(T, std::make_unsigned_t<T>)
    WEIR_FOR_INTEGERS(WEIR_INTEGER_ADD)
#undef WEIR_INTEGER_ADD
#undef WEIR_ADD
    case DT_HALF:
      return &BinaryLoop16<half, half, &BinaryLoopOf<functor::Add, float, float>>;
    case DT_BFLOAT16:
      return &BinaryLoop16<bfloat16, bfloat16, &BinaryLoopOf<functor::Add, float, float>>;
    default:
      return nullptr;
  }
}

// AddN, and AccumulateNV2, which also has its shape as an attribute.
class AddNKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    add_ = FindAdd(ctx.input_types()[0]);
    name_ = ctx.name();
    accumulates_ = ctx.op() == "AccumulateNV2";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() == shape) continue;
      if (accumulates_) return errors::InvalidArgument("Parameters and update must be the same size");
      return errors::InvalidArgument("Inputs to operation ", name_,
                                     " of type AddN must have the same size and shape.  Input 0: ", shape.ToString(),
                                     " != input ", i, ": ", ctx.input(i).shape().ToString());
    }
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, ctx.input(0));
      return absl::OkStatus();
    }
    absl::InlinedVector<const char*, 8> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(static_cast<const char*>(ctx.input(i).raw_data()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    const int64_t size = DataTypeSize(output->dtype());
    char* out = static_cast<char*>(output->raw_data());
    ParallelRanges(ctx, shape.num_elements(), 300 * ctx.num_inputs(), [&](int64_t begin, int64_t end) {
      // In blocks, so the running sum stays in the cache.
      for (int64_t i = begin; i < end; i += kBlock) {
        AddBlock(inputs, i * size, std::min(kBlock, end - i), out + i * size);
      }
    });
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  static constexpr int64_t kBlock = 2048;
  static constexpr size_t kGroup = 8;

  // The sum of `count` elements from byte `at` on. The order is TensorFlow's, so that sums round alike: two to nine
  // inputs one after the other, then the sums of further groups of eight.
  void AddBlock(absl::Span<const char* const> inputs, int64_t at, int64_t count, char* out) const {
    size_t first = inputs.size() % kGroup;
    if (first < 2) first += kGroup;
    AddRun(inputs.first(first), at, count, out);
    alignas(64) char group[kBlock * sizeof(complex128)];
    for (size_t k = first; k < inputs.size(); k += kGroup) {
      AddRun(inputs.subspan(k, kGroup), at, count, group);
      add_(out, 1, group, 1, out, count);
    }
  }
  void AddRun(absl::Span<const char* const> inputs, int64_t at, int64_t count, char* out) const {
    add_(inputs[0] + at, 1, inputs[1] + at, 1, out, count);
    for (size_t k = 2; k < inputs.size(); ++k) add_(out, 1, inputs[k] + at, 1, out, count);
  }

  std::string name_;
  bool accumulates_ = false;
  BinaryLoop add_ = nullptr;
};

}  // namespace

absl::Status RegisterAddNKernels(KernelRegistry& kernels) {
  static constexpr DataType kNumbers[] = {
#define WEIR_TYPE(T) DataTypeOf<T>(),
      WEIR_FOR_NUMBERS(WEIR_TYPE)
#undef WEIR_TYPE
  };
  RETURN_IF_ERROR(kernels.Register<AddNKernel>(Kernel("AddN").Cpu().Types("T", kNumbers)));
  RETURN_IF_ERROR(kernels.Register<AddNKernel>(Kernel("AccumulateNV2").Cpu().Types("T", kNumbers)));
  return absl::OkStatus();
}

}  // namespace weir
