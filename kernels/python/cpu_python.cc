#include "core/kernel/function_runtime.h"
#include "core/kernel/python_functions.h"
#include "kernels/python/family.h"

namespace weir {
namespace {

// Calls the function that the client registered under the token.
class PythonKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    op_ = ctx.op();
    if (ctx.functions() != nullptr) functions_ = ctx.functions()->python();
    return ctx.GetAttr("token", &token_);
  }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (functions_ == nullptr) {
      return done(errors::Unimplemented(
          op_, " calls ", token_, " in the client's Python, which serves no functions to this session: ",
          "open the session with the config that weir.enable_py_func(target) returns (Python package weir-server)"));
    }
    PythonFunctionCall call{.token = token_, .eager = op_ == "EagerPyFunc", .inputs = {}};
    for (int i = 0; i < ctx.num_inputs(); ++i) call.inputs.push_back(ctx.input(i));
    functions_->CallAsync(std::move(call), ctx.cancellation(), [this, &ctx, done = std::move(done)](auto results) {
      done(results.ok() ? SetOutputs(ctx, *std::move(results)) : std::move(results).status());
    });
  }

 private:
  // TensorFlow's words.
  absl::Status SetOutputs(OpKernelContext& ctx, std::vector<Tensor> results) const {
    const int count = static_cast<int>(results.size());
    if (count != ctx.num_outputs()) {
      return errors::InvalidArgument(token_, " returns ", count, " values, but expects to see ", ctx.num_outputs(),
                                     " values.");
    }
    for (int i = 0; i < count; ++i) {
      if (results[i].dtype() != ctx.expected_output_dtype(i)) {
        return errors::InvalidArgument(i, "-th value returned by ", token_, " is ", DataTypeName(results[i].dtype()),
                                       ", but expects ", DataTypeName(ctx.expected_output_dtype(i)));
      }
      ctx.set_output(i, std::move(results[i]));
    }
    return absl::OkStatus();
  }

  std::string op_, token_;
  std::shared_ptr<PythonFunctions> functions_;
};

}  // namespace

absl::Status RegisterPythonKernels(KernelRegistry& kernels) {
  for (const char* op : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) {
    RETURN_IF_ERROR(kernels.Register<PythonKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
