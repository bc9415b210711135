// Fails a step for what happened to the pull that it needs.
#include "kernels/embedding/family.h"
#include "kernels/embedding/table_inputs.h"

namespace weir {
namespace {

// An Assert with the attribute _kernel = "status". Its data are a status code and a message, with which it fails.
class AssertStatusKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (ctx.input_types().size() == 3) return absl::OkStatus();
    return errors::InvalidArgument("An Assert of a status has two data: a code and a message");
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const bool holds, ScalarInput<bool>(ctx, 0, "condition"));
    ASSIGN_OR_RETURN(const int32_t code, ScalarInput<int32_t>(ctx, 1, "code"));
    ASSIGN_OR_RETURN(const tstring message, ScalarInput<tstring>(ctx, 2, "message"));
    if (holds) return absl::OkStatus();
    if (code <= 0 || code > static_cast<int32_t>(absl::StatusCode::kUnauthenticated)) {
      return errors::InvalidArgument("There is no error with the code ", code);
    }
    return absl::Status(static_cast<absl::StatusCode>(code), message);
  }
  bool IsExpensive() const override { return false; }
};

}  // namespace

absl::Status RegisterEmbeddingPullStatusKernel(KernelRegistry& kernels) {
  return kernels.Register<AssertStatusKernel>(Kernel("Assert").Cpu().Label("status"));
}

}  // namespace weir
