// Composite tensors into variants and out of them.
#include <google/protobuf/unknown_field_set.h>

#include "kernels/containers/composite_variant.h"
#include "kernels/containers/family.h"
#include "tensorflow/core/protobuf/struct.pb.h"

namespace weir {
namespace {

using tensorflow::TypeSpecProto;

// The specification in CompositeTensorVariantMetadata, whose only field, number 1, it is.
absl::StatusOr<TypeSpecProto> Specification(const std::string& metadata) {
  google::protobuf::UnknownFieldSet fields;
  TypeSpecProto spec;
  bool ok = fields.ParseFromString(metadata);
  for (int i = 0; ok && i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != 1) continue;
    ok = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
         spec.MergeFromString(field.length_delimited());
  }
  if (ok) return spec;
  return errors::InvalidArgument("Error parsing metadata");
}

class FromComponentsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("metadata", &metadata_));
    return Specification(metadata_).status();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    auto value = std::make_shared<CompositeVariant>();
    value->metadata = metadata_;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      RETURN_IF_ERROR(value->Admit(ctx.input(i)));
      value->components.push_back(ctx.input(i));
    }
    ctx.set_output(0, Tensor::Scalar(Variant(std::move(value))));
    return absl::OkStatus();
  }

 private:
  std::string metadata_;
};

class ToComponentsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string metadata;
    RETURN_IF_ERROR(ctx.GetAttr("metadata", &metadata));
    RETURN_IF_ERROR(ctx.GetAttr("Tcomponents", &types_));
    ASSIGN_OR_RETURN(const TypeSpecProto spec, Specification(metadata));
    class_ = spec.type_spec_class();
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& encoded = ctx.input(0);
    if (encoded.dtype() != DT_VARIANT || encoded.dims() != 0) {
      return errors::InvalidArgument("Must be a scalar variant tensor, got shape ", encoded.shape().ToString());
    }
    const auto* const value = encoded.scalar<Variant>().get<CompositeVariant>();
    if (value == nullptr) {
      return errors::InvalidArgument("The input `encoded` is not a valid CompositeTensorVariant tensor, got ",
                                     encoded.DebugString());
    }
    ASSIGN_OR_RETURN(const TypeSpecProto spec, Specification(value->metadata));
    if (spec.type_spec_class() != class_) {
      return errors::InvalidArgument("Expected a ", TypeSpecProto::TypeSpecClass_Name(class_),
                                     " (based on `type_spec`), but `encoded` contains a ",
                                     TypeSpecProto::TypeSpecClass_Name(spec.type_spec_class()));
    }
    if (value->components.size() != types_.size()) {
      return errors::InvalidArgument("Encoded value has ", value->components.size(), " tensor components; expected ",
                                     types_.size(), " components based on type_spec");
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      if (value->components[i].dtype() != types_[i]) {
        return errors::InvalidArgument(
            "Tensor component ", i, " had dtype ",
            tensorflow::DataType_Name(static_cast<tensorflow::DataType>(value->components[i].dtype())),
            "; expected dtype ", tensorflow::DataType_Name(static_cast<tensorflow::DataType>(types_[i])));
      }
      ctx.set_output(static_cast<int>(i), value->components[i]);
    }
    return absl::OkStatus();
  }

 private:
  TypeSpecProto::TypeSpecClass class_ = TypeSpecProto::UNKNOWN;
  DataTypeVector types_;
};

}  // namespace

absl::Status RegisterCompositeKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<FromComponentsKernel>(Kernel("CompositeTensorVariantFromComponents").Cpu()));
  return kernels.Register<ToComponentsKernel>(Kernel("CompositeTensorVariantToComponents").Cpu());
}

}  // namespace weir
