// Ops that look up in hash tables and change them.
#include "absl/strings/match.h"
#include "kernels/device/named_resource.h"
#include "kernels/lookup/family.h"
#include "kernels/lookup/lookup_table.h"

namespace weir {
namespace {

class FindKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, FindResource<LookupTable>(ctx, 0));
    ASSIGN_OR_RETURN(Tensor values, table->Find(ctx, ctx.input(1), ctx.input(2)));
    ctx.set_output(0, std::move(values));
    return absl::OkStatus();
  }
};

class InsertKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, FindResource<LookupTable>(ctx, 0));
    return table->Insert(ctx, ctx.input(1), ctx.input(2));
  }
};

class ImportKernel : public OpKernel {  // LookupTableImport, InitializeTable
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    initializes_ = absl::StartsWith(ctx.op(), "InitializeTable");
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (initializes_ && ctx.input(1).NumElements() != ctx.input(2).NumElements()) {
      return errors::InvalidArgument("Keys and values must have the same size ", ctx.input(1).NumElements(), " vs ",
                                     ctx.input(2).NumElements());
    }
    ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, FindResource<LookupTable>(ctx, 0));
    return table->Import(ctx, ctx.input(1), ctx.input(2));
  }

 private:
  bool initializes_ = false;
};

class RemoveKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, FindResource<LookupTable>(ctx, 0));
    return table->Remove(ctx.input(1));
  }
};

class ExportKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, FindResource<LookupTable>(ctx, 0));
    const LookupTable::Options& options = table->options();
    if (ctx.expected_output_dtype(0) != options.key_type || ctx.expected_output_dtype(1) != options.value_type) {
      return errors::InvalidArgument("Tkeys and Tvalues are not the types of table ", options.name);
    }
    ASSIGN_OR_RETURN(LookupTable::Entries entries, table->Export(ctx));
    ctx.set_output(0, std::move(entries.keys));
    ctx.set_output(1, std::move(entries.values));
    return absl::OkStatus();
  }
};

class SizeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, FindResource<LookupTable>(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(table->size()));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterLookupKernels(KernelRegistry& kernels) {
  for (const std::string version : {"", "V2"}) {
    const auto on = [&version](const char* op) { return Kernel(op + version).Cpu(); };
    RETURN_IF_ERROR(kernels.Register<FindKernel>(on("LookupTableFind")));
    RETURN_IF_ERROR(kernels.Register<InsertKernel>(on("LookupTableInsert")));
    RETURN_IF_ERROR(kernels.Register<ImportKernel>(on("LookupTableImport")));
    RETURN_IF_ERROR(kernels.Register<ImportKernel>(on("InitializeTable")));
    RETURN_IF_ERROR(kernels.Register<ExportKernel>(on("LookupTableExport")));
    RETURN_IF_ERROR(kernels.Register<SizeKernel>(on("LookupTableSize")));
  }
  return kernels.Register<RemoveKernel>(Kernel("LookupTableRemoveV2").Cpu());
}

}  // namespace weir
