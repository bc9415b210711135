// What changes embedding tables.
#include "kernels/cpu/embedding/families.h"
#include "kernels/cpu/embedding/table_inputs.h"

namespace weir {
namespace {

absl::Status ReadPolicy(const OpKernelConstruction& ctx, ConflictPolicy* policy, int64_t* bound) {
  std::string text;
  RETURN_IF_ERROR(ctx.GetAttr("conflict_policy", &text));
  RETURN_IF_ERROR(ctx.GetAttr("staleness_bound", bound));
  if (*bound < 0) return errors::InvalidArgument("staleness_bound must not be negative, got ", *bound);
  if (text == "sum") {
    *policy = ConflictPolicy::kSum;
  } else if (text == "last_writer") {
    *policy = ConflictPolicy::kLastWriter;
  } else if (text == "reject") {
    *policy = ConflictPolicy::kReject;
  } else {
    return errors::InvalidArgument("conflict_policy cannot be '", text, "'");
  }
  return absl::OkStatus();
}

// Reads keys, a row for each, and the version that they were computed from, from inputs `first` on.
absl::Status ReadRows(const OpKernelContext& ctx, int first, const EmbeddingTable& table, EmbeddingUpdate* update) {
  ASSIGN_OR_RETURN(update->keys, KeysInput(ctx, first));
  const Tensor& rows = ctx.input(first + 1);
  const TensorShape expected({static_cast<int64_t>(update->keys.size()), table.options().width});
  if (rows.dtype() != DT_FLOAT || rows.shape() != expected) {
    return errors::InvalidArgument("Rows must be float and have shape ", expected.ToString(), ", got ",
                                   DataTypeName(rows.dtype()), " ", rows.shape().ToString());
  }
  update->rows = rows.data<float>();
  ASSIGN_OR_RETURN(update->version, ScalarInput<int64_t>(ctx, first + 2, "version"));
  return absl::OkStatus();
}

// Inputs: table, the rule's scalars, keys, gradients, version, step.
class ApplyKernel : public OpKernel {
 public:
  ApplyKernel(EmbeddingRule rule, FloatRule loop) : rule_(rule), loop_(loop) {}

  absl::Status Init(OpKernelConstruction& ctx) override {
    constexpr int kOthers = 5;
    num_scalars_ = static_cast<int>(ctx.input_types().size()) - kOthers;
    if (num_scalars_ < 0 || num_scalars_ > RuleArgs::kMaxScalars) {
      return errors::Internal(ctx.op(), " does not have the arguments of a rule");
    }
    return ReadPolicy(ctx, &policy_, &staleness_bound_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    if (table->options().rule != rule_) {
      return errors::InvalidArgument("Embedding table ", table->options().name, " was made for another optimizer than ",
                                     "the one of this push");
    }
    EmbeddingUpdate update;
    update.policy = policy_;
    update.staleness_bound = staleness_bound_;
    update.rule = loop_.loop;
    update.args.flag = rule_ == EmbeddingRule::kAdagrad;  // update_slots
    for (int i = 0; i < num_scalars_; ++i) {
      ASSIGN_OR_RETURN(update.args.scalars[i], ScalarInput<float>(ctx, 1 + i, absl::StrCat("Scalar input ", 1 + i)));
    }
    if (loop_.check != nullptr) RETURN_IF_ERROR(loop_.check(update.args));
    RETURN_IF_ERROR(ReadRows(ctx, 1 + num_scalars_, *table, &update));
    ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 4 + num_scalars_, "global_step"));
    ASSIGN_OR_RETURN(update.now, table->Now(step));
    ASSIGN_OR_RETURN(const int64_t rejected, table->Update(ctx, update));
    ctx.set_output(0, Tensor::Scalar(rejected));
    return absl::OkStatus();
  }

 private:
  const EmbeddingRule rule_;
  const FloatRule loop_;
  int num_scalars_ = 0;
  ConflictPolicy policy_ = ConflictPolicy::kSum;
  int64_t staleness_bound_ = 0;
};

template <EmbeddingRule kRule, FloatRule (*kLoop)()>
std::unique_ptr<OpKernel> MakeApply() {
  return std::make_unique<ApplyKernel>(kRule, kLoop());
}

class InsertKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadPolicy(ctx, &policy_, &staleness_bound_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    EmbeddingUpdate update;
    update.policy = policy_;
    update.staleness_bound = staleness_bound_;
    RETURN_IF_ERROR(ReadRows(ctx, 1, *table, &update));
    ASSIGN_OR_RETURN(update.now, table->Now());
    ASSIGN_OR_RETURN(const int64_t rejected, table->Update(ctx, update));
    ctx.set_output(0, Tensor::Scalar(rejected));
    return absl::OkStatus();
  }

 private:
  ConflictPolicy policy_ = ConflictPolicy::kLastWriter;
  int64_t staleness_bound_ = 0;
};

class RemoveKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const absl::Span<const int64_t> keys, KeysInput(ctx, 1));
    ASSIGN_OR_RETURN(const int64_t removed, table->Remove(ctx, keys));
    ctx.set_output(0, Tensor::Scalar(removed));
    return absl::OkStatus();
  }
};

class EvictKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 1, "global_step"));
    ASSIGN_OR_RETURN(const uint32_t now, table->Now(step));
    ASSIGN_OR_RETURN(const int64_t evicted, table->EvictExpired(ctx, now));
    ctx.set_output(0, Tensor::Scalar(evicted));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterEmbeddingUpdateKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register(Kernel("EmbeddingTableApplyGradientDescent").Cpu(),
                                   &MakeApply<EmbeddingRule::kGradientDescent, GradientDescentRule>));
  RETURN_IF_ERROR(
      kernels.Register(Kernel("EmbeddingTableApplyAdagrad").Cpu(), &MakeApply<EmbeddingRule::kAdagrad, AdagradRule>));
  RETURN_IF_ERROR(
      kernels.Register(Kernel("EmbeddingTableApplyAdam").Cpu(), &MakeApply<EmbeddingRule::kAdam, AdamRule>));
  RETURN_IF_ERROR(
      kernels.Register(Kernel("EmbeddingTableApplyFtrl").Cpu(), &MakeApply<EmbeddingRule::kFtrl, FtrlRule>));
  RETURN_IF_ERROR(kernels.Register<InsertKernel>(Kernel("EmbeddingTableInsert").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RemoveKernel>(Kernel("EmbeddingTableRemove").Cpu()));
  return kernels.Register<EvictKernel>(Kernel("EmbeddingTableEvict").Cpu());
}

}  // namespace weir
