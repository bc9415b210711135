// Ops that change embedding tables.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/kernel/step_commit.h"
#include "core/memory/out_of_memory.h"
#include "kernels/embedding/family.h"
#include "kernels/embedding/table_inputs.h"
#include "kernels/embedding/waiting_kernel.h"

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

// What the kernels of pushes read. Inputs: table, the rule's scalars, keys, gradients, version, step.
class PushReader {
 public:
  PushReader(EmbeddingRule rule, FloatRule loop) : rule_(rule), loop_(loop) {}

  absl::Status Init(const OpKernelConstruction& ctx) {
    constexpr int kOthers = 5;
    num_scalars_ = static_cast<int>(ctx.input_types().size()) - kOthers;
    if (num_scalars_ < 0 || num_scalars_ > RuleArgs::kMaxScalars) {
      return errors::Internal(ctx.op(), " does not have the arguments of a rule");
    }
    return ReadPolicy(ctx, &policy_, &staleness_bound_);
  }
  absl::StatusOr<EmbeddingUpdate> Read(const OpKernelContext& ctx, const EmbeddingTable& table) const {
    if (table.options().rule != rule_) {
      return errors::InvalidArgument("Embedding table ", table.options().name, " was made for another optimizer than ",
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
    RETURN_IF_ERROR(ReadRows(ctx, 1 + num_scalars_, table, &update));
    ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 4 + num_scalars_, "global_step"));
    ASSIGN_OR_RETURN(update.now, table.Now(step));
    return update;
  }
  ConflictPolicy policy() const { return policy_; }
  int keys_input() const { return 1 + num_scalars_; }

 private:
  const EmbeddingRule rule_;
  const FloatRule loop_;
  int num_scalars_ = 0;
  ConflictPolicy policy_ = ConflictPolicy::kSum;
  int64_t staleness_bound_ = 0;
};

class ApplyKernel : public OpKernel {
 public:
  ApplyKernel(EmbeddingRule rule, FloatRule loop) : reader_(rule, loop) {}

  absl::Status Init(OpKernelConstruction& ctx) override { return reader_.Init(ctx); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const EmbeddingUpdate update, reader_.Read(ctx, *table));
    ASSIGN_OR_RETURN(const int64_t rejected, table->Update(ctx, update));
    ctx.set_output(0, Tensor::Scalar(rejected));
    return absl::OkStatus();
  }

 private:
  PushReader reader_;
};

// The push of one of several workers (attributes _weir_worker and _weir_workers): it waits for those of the others, and
// the sum of all is applied once. In a step that is committed it is applied in any case: without the others, if the
// step is given up.
class ApplyTogetherKernel : public AsyncOpKernel {
 public:
  ApplyTogetherKernel(EmbeddingRule rule, FloatRule loop) : reader_(rule, loop) {}

  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("_weir_worker", &worker_));
    RETURN_IF_ERROR(ctx.GetAttr("_weir_workers", &workers_));
    if (workers_ < 1 || workers_ > kMaxWorkers || worker_ < 0 || worker_ >= workers_) {
      return errors::InvalidArgument("There is no worker ", worker_, " of ", workers_);
    }
    RETURN_IF_ERROR(reader_.Init(ctx));
    if (reader_.policy() == ConflictPolicy::kSum) return absl::OkStatus();
    return errors::InvalidArgument("Pushes that are applied together have the conflict_policy 'sum'");
  }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    const auto table = TableInput(ctx);
    if (!table.ok()) return done(table.status());
    if (!(*table)->is_initialized()) {
      return done(errors::FailedPrecondition("Embedding table ", (*table)->options().name, " is uninitialized"));
    }
    const absl::StatusOr<EmbeddingUpdate> update = reader_.Read(ctx, **table);
    if (!update.ok()) return done(update.status());
    if (!(*table)->has_storage()) return Join(ctx, *table, *update, std::move(done));
    ctx.work_queue()->ScheduleBlocking(
        [this, &ctx, table = *table, update = *update, done = std::move(done)]() mutable {
          Join(ctx, table, update, std::move(done));
        });
  }

 private:
  static constexpr int kMaxWorkers = 1 << 16;

  // Adds a push, and applies all where it is the last one.
  void Join(OpKernelContext& ctx, const std::shared_ptr<EmbeddingTable>& table, const EmbeddingUpdate& update,
            DoneCallback done) const {
    PushBarrier::Push push{.worker = worker_, .workers = workers_, .now = update.now};
    push.keys = ctx.input(reader_.keys_input());
    push.rows = ctx.input(reader_.keys_input() + 1);
    push.cancellation = ctx.step().commit != nullptr ? ctx.step().commit->waits() : ctx.cancellation();
    push.done = [&ctx, done = std::move(done)](const absl::Status& status) {
      if (status.ok()) ctx.set_output(0, Tensor::Scalar<int64_t>(0));
      done(status);
    };
    if (ctx.step().commit != nullptr) {
      push.leave = [&ctx, table, update, alone = push] {
        // Not on a thread that cancels.
        ctx.work_queue()->ScheduleBlocking([&ctx, table, update, alone] {
          alone.done(OrOutOfMemory([&] { return ApplySum(ctx, *table, update, {alone}); }));
        });
      };
    }
    table->barrier().Add(std::move(push), [&](const std::vector<PushBarrier::Push>& pushes) {
      return OrOutOfMemory([&] { return ApplySum(ctx, *table, update, pushes); });
    });
  }

  // Duplicates within a batch are added up, so the pushes are one batch.
  static absl::Status ApplySum(OpKernelContext& ctx, EmbeddingTable& table, EmbeddingUpdate update,
                               const std::vector<PushBarrier::Push>& pushes) {
    std::vector<int64_t> keys;
    std::vector<float> rows;
    for (const PushBarrier::Push& push : pushes) {
      keys.insert(keys.end(), push.keys.flat<int64_t>().begin(), push.keys.flat<int64_t>().end());
      rows.insert(rows.end(), push.rows.flat<float>().begin(), push.rows.flat<float>().end());
      update.now = std::max(update.now, push.now);
    }
    update.keys = keys;
    update.rows = rows.data();
    return table.Update(ctx, update).status();
  }

  PushReader reader_;
  int32_t worker_ = 0, workers_ = 0;
};

template <EmbeddingRule kRule, FloatRule (*kLoop)()>
absl::Status RegisterApply(KernelRegistry& kernels, const char* op) {
  RETURN_IF_ERROR(kernels.Register(
      Kernel(op).Cpu(), []() -> std::unique_ptr<OpKernel> { return std::make_unique<ApplyKernel>(kRule, kLoop()); }));
  RETURN_IF_ERROR(kernels.Register(Kernel(op).Cpu().Label(kWaitingLabel), []() -> std::unique_ptr<OpKernel> {
    return std::make_unique<WaitingKernel<ApplyKernel>>(kRule, kLoop());
  }));
  return kernels.Register(Kernel(op).Cpu().Label("together"), []() -> std::unique_ptr<OpKernel> {
    return std::make_unique<ApplyTogetherKernel>(kRule, kLoop());
  });
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
  RETURN_IF_ERROR((RegisterApply<EmbeddingRule::kGradientDescent, GradientDescentRule>(
      kernels, "EmbeddingTableApplyGradientDescent")));
  RETURN_IF_ERROR((RegisterApply<EmbeddingRule::kAdagrad, AdagradRule>(kernels, "EmbeddingTableApplyAdagrad")));
  RETURN_IF_ERROR((RegisterApply<EmbeddingRule::kAdam, AdamRule>(kernels, "EmbeddingTableApplyAdam")));
  RETURN_IF_ERROR((RegisterApply<EmbeddingRule::kFtrl, FtrlRule>(kernels, "EmbeddingTableApplyFtrl")));
  RETURN_IF_ERROR(kernels.Register<WaitingKernel<InsertKernel>>(Kernel("EmbeddingTableInsert").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WaitingKernel<RemoveKernel>>(Kernel("EmbeddingTableRemove").Cpu()));
  return kernels.Register<WaitingKernel<EvictKernel>>(Kernel("EmbeddingTableEvict").Cpu());
}

}  // namespace weir
