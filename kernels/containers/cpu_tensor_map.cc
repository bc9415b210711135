// Tensor maps: values of type variant that hold tensors by tensors.
#include "kernels/containers/family.h"
#include "kernels/containers/tensor_map.h"
#include "kernels/containers/tensor_sequence.h"
#include "kernels/device/summarize.h"

namespace weir {
namespace {

absl::StatusOr<const TensorMap*> MapInput(const OpKernelContext& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.dtype() != DT_VARIANT || handle.dims() != 0) {
    return errors::InvalidArgument("Input map must be a scalar. Saw: ", handle.shape().ToString());
  }
  const Variant& variant = handle.scalar<Variant>();
  const TensorMap* const map = variant.get<TensorMap>();
  if (map != nullptr) return map;
  return errors::InvalidArgument("Input handle is not a map. Saw: '",
                                 variant.empty() ? "an empty variant" : variant.TypeName(), "'");
}

// Input 0's map as output 0, to be changed: the map itself if nothing else holds it, else a copy.
absl::StatusOr<TensorMap*> ForwardMap(OpKernelContext& ctx) {
  RETURN_IF_ERROR(MapInput(ctx).status());
  std::optional<Tensor> forwarded = ctx.forward_input(0, DT_VARIANT, TensorShape());
  ctx.set_output(0, forwarded.has_value() ? *std::move(forwarded) : Tensor::Scalar(ctx.input(0).scalar<Variant>()));
  return ctx.mutable_output(0)->scalar<Variant>().get_mutable<TensorMap>();
}

class EmptyTensorMapKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar(Variant(std::make_shared<TensorMap>())));
    return absl::OkStatus();
  }
};

class InsertKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(TensorMap * map, ForwardMap(ctx));
    return map->Insert(ctx.input(1), ctx.input(2));
  }
};

class EraseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(TensorMap * map, ForwardMap(ctx));
    ASSIGN_OR_RETURN(const bool found, map->Erase(ctx.input(1)));
    if (found) return absl::OkStatus();
    return errors::InvalidArgument("Trying to erase non-existent item. Could not find key \"",
                                   Summarize(ctx.input(1), 100), "\".");
  }
};

class LookupKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("value_dtype", &dtype_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
    ASSIGN_OR_RETURN(const Tensor* value, map->Find(ctx.input(1)));
    if (value == nullptr) {
      return errors::InvalidArgument("Trying to lookup non-existent key. Could not find key \"",
                                     Summarize(ctx.input(1), 100), "\".");
    }
    if (value->dtype() != dtype_) {
      return errors::InvalidArgument("The value at the key is ", DataTypeName(value->dtype()), ", not ",
                                     DataTypeName(dtype_));
    }
    ctx.set_output(0, *value);
    return absl::OkStatus();
  }

 private:
  DataType dtype_ = DT_INVALID;
};

class HasKeyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
    ASSIGN_OR_RETURN(const Tensor* value, map->Find(ctx.input(1)));
    ctx.set_output(0, Tensor::Scalar<bool>(value != nullptr));
    return absl::OkStatus();
  }
};

class MapSizeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
    ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(map->items().size())));
    return absl::OkStatus();
  }
};

class StackKeysKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("key_dtype", &dtype_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
    if (map->items().empty()) return errors::InvalidArgument("TensorMapStackKeys cannot be called on empty map.");
    std::vector<Tensor> keys;
    for (const auto& [identity, item] : map->items()) {
      if (item.key.dtype() != dtype_) return errors::InvalidArgument("Key does not match requested dtype.");
      keys.push_back(item.key);
      if (item.key.shape() != keys[0].shape()) {
        return errors::InvalidArgument("Keys must all have the same shape.");
      }
    }
    ASSIGN_OR_RETURN(Tensor stacked, StackTensors(ctx, HostSequences(), dtype_, keys, keys[0].shape()));
    ctx.set_output(0, std::move(stacked));
    return absl::OkStatus();
  }

 private:
  DataType dtype_ = DT_INVALID;
};

}  // namespace

absl::Status RegisterTensorMapKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<EmptyTensorMapKernel>(Kernel("EmptyTensorMap").Cpu()));
  RETURN_IF_ERROR(kernels.Register<InsertKernel>(Kernel("TensorMapInsert").Cpu()));
  RETURN_IF_ERROR(kernels.Register<EraseKernel>(Kernel("TensorMapErase").Cpu()));
  RETURN_IF_ERROR(kernels.Register<LookupKernel>(Kernel("TensorMapLookup").Cpu()));
  RETURN_IF_ERROR(kernels.Register<HasKeyKernel>(Kernel("TensorMapHasKey").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MapSizeKernel>(Kernel("TensorMapSize").Cpu()));
  return kernels.Register<StackKeysKernel>(Kernel("TensorMapStackKeys").Cpu());
}

}  // namespace weir
