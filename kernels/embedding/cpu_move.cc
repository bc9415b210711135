// Ops that move parts of a table from one task to another.
#include "kernels/device/blocking_kernel.h"
#include "kernels/embedding/family.h"
#include "kernels/embedding/joined_rows.h"
#include "kernels/embedding/table_inputs.h"

namespace weir {
namespace {

absl::StatusOr<absl::Span<const int64_t>> SinceInput(const OpKernelContext& ctx, int i, size_t parts) {
  const Tensor& since = ctx.input(i);
  if (since.dtype() == DT_INT64 && since.shape() == TensorShape({static_cast<int64_t>(parts)})) {
    return since.flat<int64_t>();
  }
  return errors::InvalidArgument("since must be int64, a version for each of ", parts, " parts, got ",
                                 since.DebugString());
}

// Left with the step that sends for the last time: where it does not come to its end, the parts stay.
class LeavingParts : public Resource {
 public:
  LeavingParts(std::shared_ptr<EmbeddingTable> table, absl::Span<const int32_t> parts, int64_t move)
      : table_(std::move(table)), parts_(parts.begin(), parts.end()), move_(move) {}
  ~LeavingParts() override { table_->Stay(parts_, move_); }
  std::string DebugString() const override { return absl::StrCat(parts_.size(), " parts that leave"); }

 private:
  const std::shared_ptr<EmbeddingTable> table_;
  const std::vector<int32_t> parts_;
  const int64_t move_;
};

// Inputs: table, parts, since, move.
class SendKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("freeze", &freeze_); }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const absl::Span<const int32_t> parts, Int32sInput(ctx, 1, "parts"));
    ASSIGN_OR_RETURN(const absl::Span<const int64_t> since, SinceInput(ctx, 2, parts.size()));
    ASSIGN_OR_RETURN(const int64_t move, ScalarInput<int64_t>(ctx, 3, "move"));
    if (parts.empty()) return errors::InvalidArgument("There are no parts to send");
    int64_t version = 0;
    const std::optional<int64_t> freeze = freeze_ ? std::optional<int64_t>(move) : std::nullopt;
    ASSIGN_OR_RETURN(std::vector<EmbeddingRows> rows, table->Send(parts, since, freeze, ctx.allocator(), &version));
    if (freeze_) {
      auto leaving = std::make_shared<LeavingParts>(table, parts, move);
      const std::string name = absl::StrCat(table->options().name, "/leaving/", move, "/", parts[0]);
      RETURN_IF_ERROR(
          ctx.resources()->Create<LeavingParts>(ctx.step().step_container->name(), name, std::move(leaving)));
    }
    RETURN_IF_ERROR(SetJoinedRows(ctx, std::move(rows)));
    ctx.set_output(7, Tensor::Scalar(version));
    return SetFilters(ctx, *table, parts);
  }

 private:
  static absl::Status SetFilters(OpKernelContext& ctx, EmbeddingTable& table, absl::Span<const int32_t> parts) {
    std::vector<int64_t> all;
    for (const int32_t part : parts) {
      const std::vector<int64_t> state = table.shard(part).FilterState();
      all.insert(all.end(), state.begin(), state.end());
    }
    ctx.set_output(8, Tensor::Vector<int64_t>(all));
    return absl::OkStatus();
  }

  bool freeze_ = false;
};

// Inputs: table, parts, since, move, what Send gave.
class ReceiveKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const absl::Span<const int32_t> parts, Int32sInput(ctx, 1, "parts"));
    ASSIGN_OR_RETURN(const absl::Span<const int64_t> since, SinceInput(ctx, 2, parts.size()));
    ASSIGN_OR_RETURN(const int64_t move, ScalarInput<int64_t>(ctx, 3, "move"));
    constexpr int kRows = 4, kRemoved = 10, kFilters = 11;
    EmbeddingRows rows = RowsInput(ctx, kRows);
    ASSIGN_OR_RETURN(const absl::Span<const int64_t> removed, KeysInput(ctx, kRemoved));
    rows.removed.assign(removed.begin(), removed.end());
    RETURN_IF_ERROR(table->Receive(parts, since, move, rows));
    ASSIGN_OR_RETURN(const absl::Span<const int64_t> filters, KeysInput(ctx, kFilters));
    if (parts.empty() || filters.size() % parts.size() != 0) {
      return errors::InvalidArgument("Filters of ", parts.size(), " parts cannot be ", filters.size(), " numbers");
    }
    const size_t size = filters.size() / parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
      RETURN_IF_ERROR(table->shard(parts[i]).SetFilterState(filters.subspan(i * size, size)));
    }
    ctx.set_output(0, Tensor::Scalar(rows.keys.NumElements()));
    return absl::OkStatus();
  }
};

class AdoptKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const absl::Span<const int32_t> parts, Int32sInput(ctx, 1, "parts"));
    ASSIGN_OR_RETURN(const int64_t move, ScalarInput<int64_t>(ctx, 2, "move"));
    return table->Adopt(parts, move);
  }
};

class OwnKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("create", &create_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const absl::Span<const int32_t> owners, Int32sInput(ctx, 1, "owners"));
    ASSIGN_OR_RETURN(const int32_t self, ScalarInput<int32_t>(ctx, 2, "self"));
    return table->Own(owners, self, create_);
  }

 private:
  bool create_ = false;
};

class LoadKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    constexpr int kColumns = 4;
    Tensor load(DT_INT64, TensorShape({table->num_shards(), kColumns}));
    int64_t* to = load.data<int64_t>();
    for (int i = 0; i < table->num_shards(); ++i) {
      const EmbeddingCounts counts = table->shard(i).counts();
      for (const int64_t count : {counts.size, counts.size == 0 ? 0 : counts.bytes, counts.pulled, counts.pushed}) {
        *to++ = count;
      }
    }
    ctx.set_output(0, std::move(load));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterEmbeddingMoveKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SendKernel>(Kernel("EmbeddingTableSend").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ReceiveKernel>(Kernel("EmbeddingTableReceive").Cpu()));
  RETURN_IF_ERROR(kernels.Register<AdoptKernel>(Kernel("EmbeddingTableAdopt").Cpu()));
  RETURN_IF_ERROR(kernels.Register<OwnKernel>(Kernel("EmbeddingTableOwn").Cpu()));
  return kernels.Register<LoadKernel>(Kernel("EmbeddingTableLoad").Cpu());
}

}  // namespace weir
