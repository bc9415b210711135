// Special functions as ops.
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"
#include "kernels/elementwise/special/bessel.h"
#include "kernels/elementwise/special/incomplete_gamma.h"

namespace weir {
namespace {

constexpr int kPicoseconds = 100'000;

#define WEIR_UNARY(Name)                                                                                               \
  {#Name, DT_FLOAT, &MakeUnary<&UnaryLoopOf<functor::Name, float, float>, kPicoseconds>},                              \
      {#Name, DT_DOUBLE, &MakeUnary<&UnaryLoopOf<functor::Name, double, double>, kPicoseconds>},                       \
      {#Name, DT_HALF, &MakeUnary<&UnaryLoop16<half, half, &UnaryLoopOf<functor::Name, float, float>>, kPicoseconds>}, \
      {#Name, DT_BFLOAT16,                                                                                             \
       &MakeUnary<&UnaryLoop16<bfloat16, bfloat16, &UnaryLoopOf<functor::Name, float, float>>, kPicoseconds>},
#define WEIR_BINARY_FLOAT_DOUBLE(Name)                                                            \
  {#Name, DT_FLOAT, &MakeBinary<&ScalarBinaryLoopOf<functor::Name, float, float>, kPicoseconds>}, \
      {#Name, DT_DOUBLE, &MakeBinary<&ScalarBinaryLoopOf<functor::Name, double, double>, kPicoseconds>},
#define WEIR_BINARY_16(Name)                                                                                \
  {#Name, DT_HALF,                                                                                          \
   &MakeBinary<&BinaryLoop16<half, half, &ScalarBinaryLoopOf<functor::Name, float, float>>, kPicoseconds>}, \
      {#Name, DT_BFLOAT16,                                                                                  \
       &MakeBinary<&BinaryLoop16<bfloat16, bfloat16, &ScalarBinaryLoopOf<functor::Name, float, float>>,     \
                   kPicoseconds>},

// Scalars spread over the other operands, which have one shape.
template <typename T>
class BetaincKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    TensorShape shape;
    const T* operands[3];
    int64_t steps[3];
    for (int i = 0; i < 3; ++i) {
      const Tensor& operand = ctx.input(i);
      operands[i] = operand.data<T>();
      steps[i] = operand.dims() == 0 ? 0 : 1;
      if (operand.dims() == 0) continue;
      for (int j = 0; j < i; ++j) {
        if (ctx.input(j).dims() == 0 || ctx.input(j).shape() == operand.shape()) continue;
        static constexpr char kNames[] = {'a', 'b', 'x'};
        return errors::InvalidArgument(
            "Shapes of ", absl::string_view(&kNames[j], 1), " and ", absl::string_view(&kNames[i], 1),
            " are inconsistent: ", ctx.input(j).shape().ToString(), " vs. ", operand.shape().ToString());
      }
      shape = operand.shape();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    T* const out = output->data<T>();
    ParallelRanges(ctx, output->NumElements(), 5 * kPicoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(
            functor::Betainc(operands[0][i * steps[0]], operands[1][i * steps[1]], operands[2][i * steps[2]]));
      }
    });
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterSpecialKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr UnaryEntry kEntries[] = {
      WEIR_UNARY(BesselI0)
      WEIR_UNARY(BesselI1)
      WEIR_UNARY(BesselI0e)
      WEIR_UNARY(BesselI1e)
      WEIR_UNARY(BesselK0)
      WEIR_UNARY(BesselK1)
      WEIR_UNARY(BesselK0e)
      WEIR_UNARY(BesselK1e)
      WEIR_UNARY(BesselJ0)
      WEIR_UNARY(BesselJ1)
      WEIR_UNARY(BesselY0)
      WEIR_UNARY(BesselY1)
      WEIR_UNARY(Dawsn)
      WEIR_UNARY(Expint)
      WEIR_UNARY(FresnelCos)
      WEIR_UNARY(FresnelSin)
      WEIR_UNARY(Spence)
      WEIR_BINARY_FLOAT_DOUBLE(Igamma)
      WEIR_BINARY_16(Igamma)
      WEIR_BINARY_FLOAT_DOUBLE(Igammac)
      WEIR_BINARY_16(Igammac)
      WEIR_BINARY_FLOAT_DOUBLE(IgammaGradA)
      WEIR_BINARY_FLOAT_DOUBLE(RandomGammaGrad)
      WEIR_BINARY_FLOAT_DOUBLE(Zeta)
      WEIR_BINARY_FLOAT_DOUBLE(Polygamma)
  };
  // clang-format on
  RETURN_IF_ERROR(RegisterEntries(kernels, kEntries));

  RETURN_IF_ERROR(kernels.Register<BetaincKernel<float>>(Kernel("Betainc").Cpu().Type<float>("T")));
  return kernels.Register<BetaincKernel<double>>(Kernel("Betainc").Cpu().Type<double>("T"));
}

}  // namespace weir
