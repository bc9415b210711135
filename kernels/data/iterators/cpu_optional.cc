#include "kernels/data/iterators/optional.h"

#include <algorithm>

#include "core/tensor/variant_registry.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/device/variant_nesting.h"

namespace weir {

OptionalVariant::OptionalVariant(std::optional<Element> value) : value_(std::move(value)) {
  if (!value_.has_value()) return;
  for (const Tensor& component : *value_) depth_ = std::max(depth_, VariantDepth(component) + 1);
}

absl::Status OptionalVariant::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  metadata->assign(1, value_ ? 1 : 0);
  tensors->clear();
  if (value_) *tensors = *value_;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VariantValue>> OptionalVariant::MapTensors(const TensorMapping& fn) const {
  std::optional<Element> mapped = value_;
  if (mapped.has_value()) {
    for (Tensor& component : *mapped) {
      ASSIGN_OR_RETURN(component, fn(component));
    }
  }
  return std::unique_ptr<VariantValue>(std::make_unique<OptionalVariant>(std::move(mapped)));
}

Tensor OptionalTensor(std::optional<Element> value) {
  return Tensor::Scalar(Variant(std::make_shared<OptionalVariant>(std::move(value))));
}

absl::StatusOr<std::optional<Element>> OptionalFromTensor(const Tensor& tensor, absl::string_view op) {
  if (tensor.dtype() == DT_VARIANT && tensor.dims() == 0 && tensor.IsInitialized()) {
    const Variant& variant = tensor.scalar<Variant>();
    if (const auto* optional = variant.get<OptionalVariant>()) return optional->value();
    const auto* encoded = variant.get<EncodedVariant>();  // it came from another task
    if (encoded != nullptr && encoded->TypeName() == OptionalVariant::kTypeName) {
      if (encoded->metadata() == std::string(1, 1)) return encoded->tensors();
      return std::nullopt;
    }
  }
  return errors::InvalidArgument("Input to ", op, " must be a scalar tensor containing an OptionalVariant object.");
}

namespace {

class FromValueKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    Element element;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      element.push_back(ctx.locked_input(i));
      RETURN_IF_ERROR(CheckNesting(element.back()));
    }
    ctx.set_output(0, OptionalTensor(std::move(element)));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class NoneKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, OptionalTensor(std::nullopt));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class HasValueKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::optional<Element> value, OptionalFromTensor(ctx.locked_input(0), "OptionalHasValue"));
    ctx.set_output(0, Tensor::Scalar<bool>(value.has_value()));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class GetValueKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("output_types", &types_));
    RETURN_IF_ERROR(ctx.GetAttr("output_shapes", &shapes_));
    if (types_.size() == shapes_.size()) return absl::OkStatus();
    return errors::InvalidArgument("output_types and output_shapes must be same length, got:\noutput_types: ",
                                   types_.size(), "\noutput_shapes: ", shapes_.size());
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::optional<Element> value, OptionalFromTensor(ctx.locked_input(0), "OptionalGetValue"));
    if (!value) return errors::InvalidArgument("The given optional does not have a value.");
    if (value->size() != types_.size()) {
      return errors::InvalidArgument("The given optional has ", value->size(), " components, expected ", types_.size(),
                                     ".");
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      const Tensor& component = (*value)[i];
      if (component.dtype() != types_[i]) {
        return errors::InvalidArgument("The given optional does not match the expected type for component ", i,
                                       ". Expected: ", DataTypeName(types_[i]),
                                       ". Actual: ", DataTypeName(component.dtype()), ".");
      }
      if (!shapes_[i].IsCompatibleWith(component.shape())) {
        return errors::InvalidArgument("The given optional does not match the expected shape for component ", i,
                                       ". Expected: ", shapes_[i].ToString(),
                                       ". Actual: ", component.shape().ToString(), ".");
      }
    }
    return SetElementOutputs(ctx, *std::move(value));
  }
  bool IsExpensive() const override { return false; }

 private:
  DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
};

}  // namespace

absl::Status RegisterOptionalKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<FromValueKernel>(Kernel("OptionalFromValue").Cpu()));
  RETURN_IF_ERROR(kernels.Register<NoneKernel>(Kernel("OptionalNone").Cpu()));
  RETURN_IF_ERROR(kernels.Register<HasValueKernel>(Kernel("OptionalHasValue").Cpu()));
  return kernels.Register<GetValueKernel>(Kernel("OptionalGetValue").Cpu());
}

}  // namespace weir
