// The tables themselves: HashTable and its mutable kin, named and anonymous.
#include "core/kernel/kernel_registry.h"
#include "kernels/device/named_resource.h"
#include "kernels/lookup/family.h"
#include "kernels/lookup/lookup_table.h"

namespace weir {
namespace {

absl::StatusOr<LookupTable::Options> ReadOptions(OpKernelConstruction& ctx) {
  LookupTable::Options options;
  options.kind = ctx.op();
  if (options.kind.starts_with("Anonymous")) options.kind.erase(0, 9);
  if (options.kind.ends_with("V2")) options.kind.resize(options.kind.size() - 2);
  options.is_mutable = options.kind != "HashTable";
  RETURN_IF_ERROR(ctx.GetAttr("key_dtype", &options.key_type));
  RETURN_IF_ERROR(ctx.GetAttr("value_dtype", &options.value_type));
  if (ctx.HasAttr("value_shape")) RETURN_IF_ERROR(ctx.GetAttr("value_shape", &options.value_shape));
  if (options.kind == "MutableHashTableOfTensors" && options.value_shape.dims() != 1) {
    return errors::InvalidArgument("Default value must be a vector, got shape ", options.value_shape.ToString());
  }
  if (options.kind != "MutableDenseHashTable") return options;
  if (options.value_shape.dims() > 1) {
    return errors::InvalidArgument("Empty value must be a scalar or a vector, got shape ",
                                   options.value_shape.ToString());
  }
  int64_t buckets;
  float load;
  RETURN_IF_ERROR(ctx.GetAttr("initial_num_buckets", &buckets));
  RETURN_IF_ERROR(ctx.GetAttr("max_load_factor", &load));
  constexpr int64_t kMaxBuckets = int64_t{1} << 26;
  if (buckets < 4 || buckets > kMaxBuckets || (buckets & (buckets - 1)) != 0) {
    return errors::InvalidArgument("Number of buckets must be at least 4 and a power of 2, got: ", buckets);
  }
  if (!(load > 0 && load < 1)) return errors::InvalidArgument("max_load_factor must be between 0 and 1, got: ", load);
  options.initial_buckets = buckets;
  options.max_load = load;
  return options;
}

// Dense tables have their reserved keys from inputs.
absl::StatusOr<std::shared_ptr<LookupTable>> MakeTable(OpKernelContext& ctx, LookupTable::Options options) {
  if (ctx.num_inputs() == 2) {
    options.empty_key = ctx.input(0);
    options.deleted_key = ctx.input(1);
    options.key_shape = options.empty_key.shape();
    if (options.key_shape.dims() > 1 || options.key_shape.num_elements() == 0) {
      return errors::InvalidArgument("Empty key must be a scalar or a vector, got shape ",
                                     options.key_shape.ToString());
    }
    if (options.deleted_key.shape() != options.key_shape) {
      return errors::InvalidArgument("Empty and deleted keys must have same shape, got shapes: ",
                                     options.key_shape.ToString(), " and ", options.deleted_key.shape().ToString());
    }
    if (options.empty_key.dtype() != options.key_type || options.deleted_key.dtype() != options.key_type) {
      return errors::InvalidArgument("Empty and deleted keys must be ", DataTypeName(options.key_type));
    }
  }
  auto table = std::make_shared<LookupTable>(std::move(options));
  RETURN_IF_ERROR(table->CheckOptions());
  return table;
}

class TableKernel : public ResourceKernel<LookupTable> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(options_, ReadOptions(ctx));
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<LookupTable>> Make(OpKernelContext& ctx, const std::string& name) override {
    LookupTable::Options options = options_;
    options.name = name;
    return MakeTable(ctx, std::move(options));
  }
  absl::Status CheckMatches(const LookupTable& table) const override {
    const LookupTable::Options& other = table.options();
    if (other.kind == options_.kind && other.key_type == options_.key_type && other.value_type == options_.value_type &&
        other.value_shape == options_.value_shape) {
      return absl::OkStatus();
    }
    return errors::InvalidArgument("Conflicting key/value dtypes ", DataTypeName(options_.key_type), "->",
                                   DataTypeName(options_.value_type), " with ", DataTypeName(other.key_type), "-",
                                   DataTypeName(other.value_type), " for table ", name());
  }
  std::string TypeName() const override { return options_.kind; }

 private:
  LookupTable::Options options_;
};

// A new table at every execution, owned by its handles.
class AnonymousTableKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(options_, ReadOptions(ctx));
    options_.name = ctx.name();
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ResourceHandle handle = ctx.resources()->MakeHandle<LookupTable>(
        ctx.device()->name(), ResourceManager::kDefaultContainer, options_.name, options_.kind);
    ASSIGN_OR_RETURN(handle.resource, MakeTable(ctx, options_));
    ctx.set_output(0, Tensor::Scalar(std::move(handle)));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  LookupTable::Options options_;
};

}  // namespace

absl::Status RegisterTableMakers(KernelRegistry& kernels) {
  const DataTypeVector keys = {DT_INT32, DT_INT64, DT_STRING};
  for (const std::string op : {"HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"}) {
    if (op != "MutableDenseHashTable") {
      RETURN_IF_ERROR(kernels.Register<TableKernel>(Kernel(op).Cpu().Types("key_dtype", keys)));
    }
    RETURN_IF_ERROR(kernels.Register<TableKernel>(Kernel(op + "V2").Cpu().Types("key_dtype", keys)));
    RETURN_IF_ERROR(kernels.Register<AnonymousTableKernel>(Kernel("Anonymous" + op).Cpu().Types("key_dtype", keys)));
  }
  return absl::OkStatus();
}

}  // namespace weir
