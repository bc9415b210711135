// Matches of regular expressions.
#include <re2/re2.h>

#include <memory>

#include "kernels/strings/family.h"

namespace weir {
namespace {

// RE2 takes time linear in the text, whatever the pattern.
absl::StatusOr<std::unique_ptr<RE2>> Compile(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<RE2>(pattern, options);
  if (regex->ok()) return regex;
  return errors::InvalidArgument("Invalid pattern: ", pattern, ", error: ", regex->error());
}

absl::Status MatchAll(OpKernelContext& ctx, const RE2& regex) {
  const Tensor input = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
  for (int64_t i = 0; i < input.NumElements(); ++i) {
    output->data<bool>()[i] = RE2::FullMatch(input.data<tstring>()[i], regex);
  }
  return absl::OkStatus();
}

class StaticRegexFullMatchKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string pattern;
    RETURN_IF_ERROR(ctx.GetAttr("pattern", &pattern));
    ASSIGN_OR_RETURN(regex_, Compile(pattern));
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override { return MatchAll(ctx, *regex_); }

 private:
  std::unique_ptr<RE2> regex_;
};

class RegexFullMatchKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& pattern = ctx.input(1);
    if (pattern.dims() != 0) {
      return errors::InvalidArgument("Pattern must be scalar, but received ", pattern.shape().ToString());
    }
    ASSIGN_OR_RETURN(std::unique_ptr<RE2> regex, Compile(pattern.scalar<tstring>()));
    return MatchAll(ctx, *regex);
  }
};

}  // namespace

absl::Status RegisterRegexMatchKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<StaticRegexFullMatchKernel>(Kernel("StaticRegexFullMatch").Cpu()));
  return kernels.Register<RegexFullMatchKernel>(Kernel("RegexFullMatch").Cpu());
}

}  // namespace weir
