// What exports and imports embedding tables, saves and restores them.
#include <cstring>

#include "kernels/cpu/blocking_kernel.h"
#include "kernels/cpu/embedding/families.h"
#include "kernels/cpu/embedding/table_checkpoint.h"
#include "kernels/cpu/embedding/table_inputs.h"

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
      ASSIGN_OR_RETURN(shards.back(), table->ExportShard(i, since, version, ctx.allocator()));
    }
    Tensor EmbeddingRows::*const parts[] = {&EmbeddingRows::keys,     &EmbeddingRows::values, &EmbeddingRows::slots,
                                            &EmbeddingRows::versions, &EmbeddingRows::freqs,  &EmbeddingRows::used};
    for (int i = 0; i < 6; ++i) RETURN_IF_ERROR(Join(ctx, i, shards, parts[i]));
    std::vector<int64_t> removed;
    for (const EmbeddingRows& rows : shards) removed.insert(removed.end(), rows.removed.begin(), rows.removed.end());
    ctx.set_output(6, Tensor::Vector<int64_t>(removed));
    ctx.set_output(7, Tensor::Scalar(version));
    return absl::OkStatus();
  }

 private:
  static absl::Status Join(OpKernelContext& ctx, int output, std::vector<EmbeddingRows>& shards,
                           Tensor EmbeddingRows::*part) {
    TensorShape shape = (shards[0].*part).shape();
    int64_t rows = 0;
    for (const EmbeddingRows& shard : shards) rows += (shard.*part).dim_size(0);
    RETURN_IF_ERROR(shape.SetDim(0, rows));
    ASSIGN_OR_RETURN(Tensor * joined, ctx.allocate_output(output, shape));
    char* to = static_cast<char*>(joined->raw_data());
    for (EmbeddingRows& shard : shards) {
      Tensor from = std::move(shard.*part);
      if (from.TotalBytes() > 0) std::memcpy(to, from.raw_data(), from.TotalBytes());
      to += from.TotalBytes();
    }
    return absl::OkStatus();
  }
};

class ImportKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    return table->Import(ctx, {.keys = ctx.input(1),
                               .values = ctx.input(2),
                               .slots = ctx.input(3),
                               .versions = ctx.input(4),
                               .freqs = ctx.input(5),
                               .used = ctx.input(6),
                               .removed = {}});
  }
};

class SaveKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ASSIGN_OR_RETURN(const std::string prefix, ScalarInput<tstring>(ctx, 1, "prefix"));
    ASSIGN_OR_RETURN(const std::string name, ScalarInput<tstring>(ctx, 2, "tensor_name"));
    ASSIGN_OR_RETURN(const int64_t since, ScalarInput<int64_t>(ctx, 3, "since"));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(prefix));
    ASSIGN_OR_RETURN(const int64_t version, SaveTable(*table, files, prefix, name, since, ctx));
    ctx.set_output(0, Tensor::Scalar(version));
    return absl::OkStatus();
  }
};

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
    const Tensor& prefixes = ctx.input(1);
    if (prefixes.dtype() != DT_STRING || !prefixes.shape().IsVector()) {
      return errors::InvalidArgument("prefixes must be a vector of strings, got ", prefixes.DebugString());
    }
    ASSIGN_OR_RETURN(const std::string name, ScalarInput<tstring>(ctx, 2, "tensor_name"));
    const absl::Span<const tstring> paths = prefixes.flat<tstring>();
    ASSIGN_OR_RETURN(const int64_t version,
                     RestoreTable(*table, ctx.device()->file_systems(), {paths.begin(), paths.end()}, name, partition_,
                                  partitions_, ctx));
    ctx.set_output(0, Tensor::Scalar(version));
    return absl::OkStatus();
  }

 private:
  int32_t partition_ = 0, partitions_ = 1;
};

}  // namespace

absl::Status RegisterEmbeddingTransferKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ExportKernel>(Kernel("EmbeddingTableExport").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ImportKernel>(Kernel("EmbeddingTableImport").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SaveKernel>(Kernel("EmbeddingTableSave").Cpu()));
  return kernels.Register<RestoreKernel>(Kernel("EmbeddingTableRestore").Cpu());
}

}  // namespace weir
