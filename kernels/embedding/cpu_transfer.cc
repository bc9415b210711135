// Ops that export, import, save and restore embedding tables.
#include "kernels/device/blocking_kernel.h"
#include "kernels/embedding/family.h"
#include "kernels/embedding/joined_rows.h"
#include "kernels/embedding/table_checkpoint.h"
#include "kernels/embedding/table_inputs.h"
#include "kernels/embedding/waiting_kernel.h"

namespace weir {
namespace {

// The rows of all shards in one.
class ExportKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const int64_t since, ScalarInput<int64_t>(ctx, 1, "since"));
    ASSIGN_OR_RETURN(const int64_t version, table->BeginExport(since));
    std::vector<EmbeddingRows> shards;
    for (int i = 0; i < table->num_shards(); ++i) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      shards.emplace_back();
      ASSIGN_OR_RETURN(shards.back(), table->ExportShard(i, since, version, /*keep_removals=*/false, ctx.allocator()));
    }
    RETURN_IF_ERROR(SetJoinedRows(ctx, std::move(shards)));
    ctx.set_output(7, Tensor::Scalar(version));
    return absl::OkStatus();
  }
};

class ImportKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    return table->Import(ctx, RowsInput(ctx, 1));
  }
};

class SaveKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("with_slots", &options_.with_slots));
    return ctx.GetAttr("keep_removals", &options_.keep_removals);
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const std::string prefix, ScalarInput<tstring>(ctx, 1, "prefix"));
    ASSIGN_OR_RETURN(const std::string name, ScalarInput<tstring>(ctx, 2, "tensor_name"));
    ASSIGN_OR_RETURN(const int64_t since, ScalarInput<int64_t>(ctx, 3, "since"));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(prefix));
    ASSIGN_OR_RETURN(const int64_t version, SaveTable(*table, files, prefix, name, since, options_, ctx));
    ctx.set_output(0, Tensor::Scalar(version));
    return absl::OkStatus();
  }

 private:
  SaveOptions options_;
};

// The checkpoints' prefixes in input 1.
absl::StatusOr<std::vector<std::string>> PrefixesInput(const OpKernelContext& ctx) {
  const Tensor& prefixes = ctx.input(1);
  if (prefixes.dtype() != DT_STRING || !prefixes.shape().IsVector()) {
    return errors::InvalidArgument("prefixes must be a vector of strings, got ", prefixes.DebugString());
  }
  const absl::Span<const tstring> paths = prefixes.flat<tstring>();
  return std::vector<std::string>(paths.begin(), paths.end());
}

class RestoreKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("partition_id", &partition_));
    RETURN_IF_ERROR(ctx.GetAttr("partition_num", &partitions_));
    if (partition_ >= 0 && partition_ < partitions_) return absl::OkStatus();
    return errors::InvalidArgument("partition_id ", partition_, " is not in [0, ", partitions_, ")");
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const std::vector<std::string> prefixes, PrefixesInput(ctx));
    ASSIGN_OR_RETURN(const std::string name, ScalarInput<tstring>(ctx, 2, "tensor_name"));
    const RestoredParts parts{.self = partition_, .count = partitions_};
    ASSIGN_OR_RETURN(const int64_t version,
                     RestoreTable(*table, ctx.device()->file_systems(), prefixes, name, parts, ctx));
    ctx.set_output(0, Tensor::Scalar(version));
    return absl::OkStatus();
  }

 private:
  int32_t partition_ = 0, partitions_ = 1;
};

class RestorePartsKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const std::vector<std::string> prefixes, PrefixesInput(ctx));
    ASSIGN_OR_RETURN(const std::string name, ScalarInput<tstring>(ctx, 2, "tensor_name"));
    ASSIGN_OR_RETURN(const absl::Span<const int32_t> owners, Int32sInput(ctx, 3, "owners"));
    ASSIGN_OR_RETURN(const int32_t self, ScalarInput<int32_t>(ctx, 4, "self"));
    const RestoredParts parts{.self = self, .owners = owners};
    ASSIGN_OR_RETURN(const int64_t version,
                     RestoreTable(*table, ctx.device()->file_systems(), prefixes, name, parts, ctx));
    ctx.set_output(0, Tensor::Scalar(version));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterEmbeddingTransferKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ExportKernel>(Kernel("EmbeddingTableExport").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WaitingKernel<ImportKernel>>(Kernel("EmbeddingTableImport").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SaveKernel>(Kernel("EmbeddingTableSave").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RestoreKernel>(Kernel("EmbeddingTableRestore").Cpu()));
  return kernels.Register<RestorePartsKernel>(Kernel("EmbeddingTableRestoreParts").Cpu());
}

}  // namespace weir
