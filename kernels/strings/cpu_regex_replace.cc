#include <re2/re2.h>

#include <memory>

#include "kernels/strings/family.h"

namespace weir {
namespace {

// RE2 takes time linear in the text, whatever the pattern.
absl::StatusOr<std::unique_ptr<RE2>> CompilePattern(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<RE2>(pattern, options);
  if (regex->ok()) return regex;
  return errors::InvalidArgument("Invalid pattern: ", pattern, ", error: ", regex->error());
}

absl::Status ReplaceAll(OpKernelContext& ctx, const RE2& regex, const std::string& rewrite, bool global) {
  const Tensor input = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
  for (int64_t i = 0; i < input.NumElements(); ++i) {
    tstring& text = output->data<tstring>()[i];
    text = input.data<tstring>()[i];
    if (global) {
      RE2::GlobalReplace(&text, regex, rewrite);
    } else {
      RE2::Replace(&text, regex, rewrite);
    }
  }
  return absl::OkStatus();
}

class RegexReplaceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("replace_global", &global_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &pattern = ctx.input(1), &rewrite = ctx.input(2);
    if (pattern.dims() != 0) {
      return errors::InvalidArgument("Pattern must be scalar, but received ", pattern.shape().ToString());
    }
    if (rewrite.dims() != 0) {
      return errors::InvalidArgument("Rewrite must be scalar, but received ", rewrite.shape().ToString());
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<RE2> regex, CompilePattern(pattern.scalar<tstring>()));
    return ReplaceAll(ctx, *regex, rewrite.scalar<tstring>(), global_);
  }

 private:
  bool global_ = true;
};

class StaticRegexReplaceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string pattern;
    RETURN_IF_ERROR(ctx.GetAttr("pattern", &pattern));
    RETURN_IF_ERROR(ctx.GetAttr("rewrite", &rewrite_));
    RETURN_IF_ERROR(ctx.GetAttr("replace_global", &global_));
    ASSIGN_OR_RETURN(regex_, CompilePattern(pattern));
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override { return ReplaceAll(ctx, *regex_, rewrite_, global_); }

 private:
  std::unique_ptr<RE2> regex_;
  std::string rewrite_;
  bool global_ = true;
};

}  // namespace

absl::Status RegisterRegexReplaceKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<RegexReplaceKernel>(Kernel("RegexReplace").Cpu()));
  return kernels.Register<StaticRegexReplaceKernel>(Kernel("StaticRegexReplace").Cpu());
}

}  // namespace weir
