// Objects that belong to the handles that name them: seed generators, caches, iterators without a name.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/kernel/op_kernel.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"

namespace weir {

// The value of a deleter: as long as it is there, so is the object.
class DeleterVariant final : public VariantValue {
 public:
  explicit DeleterVariant(std::shared_ptr<Resource> resource) : resource_(std::move(resource)) {}
  std::string TypeName() const override { return "tensorflow::ResourceDeleter"; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<DeleterVariant>(resource_); }
  std::string DebugString() const override { return "<deleter>"; }
  absl::Status Encode(std::string*, std::vector<Tensor>*) const override {
    return errors::Unimplemented("A deleter cannot leave its task");
  }

 private:
  const std::shared_ptr<Resource> resource_;
};

// A handle to a T under a name that no other has.
template <typename T>
ResourceHandle UniqueHandle(OpKernelContext& ctx) {
  static std::atomic<int64_t> next{0};
  return ctx.resources()->MakeHandle<T>(ctx.device()->name(), ResourceManager::kDefaultContainer,
                                        absl::StrCat("_Anonymous", T::kTypeName, next++), T::kTypeName);
}

// Sets output 0 to a handle that owns `object`, and output 1, where there is one, to its deleter.
template <typename T>
void SetAnonymous(OpKernelContext& ctx, std::shared_ptr<T> object) {
  ResourceHandle handle = UniqueHandle<T>(ctx);
  handle.resource = object;
  ctx.set_output(0, Tensor::Scalar(std::move(handle)));
  if (ctx.num_outputs() > 1) ctx.set_output(1, Tensor::Scalar(Variant(std::make_shared<DeleterVariant>(object))));
}

// The object behind a handle; null behind a dummy's.
template <typename T>
absl::StatusOr<std::shared_ptr<T>> FindAnonymous(const OpKernelContext& ctx, const Tensor& tensor) {
  if (tensor.dtype() != DT_RESOURCE || tensor.dims() != 0 || !tensor.IsInitialized()) {
    return errors::InvalidArgument("A handle must be a resource scalar");
  }
  const ResourceHandle& handle = tensor.scalar<ResourceHandle>();
  if (handle.name.empty() && handle.resource == nullptr) return nullptr;
  return ctx.resources()->Lookup<T>(handle);
}

// A handle to nothing, where an op wants one that is not used.
class DummyHandleKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ResourceHandle handle;
    handle.device = ctx.device()->name();
    ctx.set_output(0, Tensor::Scalar(std::move(handle)));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

// The object goes with its last handle and deleter; there is nothing to do but to have had them.
class DeleteAnonymousKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).dtype() == DT_RESOURCE && ctx.input(0).dims() == 0) return absl::OkStatus();
    return errors::InvalidArgument("A handle must be a resource scalar");
  }
  bool IsExpensive() const override { return false; }
};

}  // namespace weir
