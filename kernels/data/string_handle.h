// Handles of iterators as strings.
#pragma once

#include <memory>
#include <vector>

#include "core/device/resource_manager.h"
#include "core/kernel/op_kernel.h"
#include "core/tensor/resource_handle.h"
#include "tensorflow/core/framework/resource_handle.pb.h"

namespace weir {

// kFind(ctx, 0) fails where input 0 names no such iterator.
template <typename Iterator, absl::StatusOr<std::shared_ptr<Iterator>> (*kFind)(const OpKernelContext&, int)>
class ToStringHandleKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(kFind(ctx, 0).status());
    tensorflow::ResourceHandleProto proto;
    ctx.input(0).scalar<ResourceHandle>().ToProto(&proto);
    ctx.set_output(0, Tensor::Scalar<tstring>(proto.SerializeAsString()));
    return absl::OkStatus();
  }
};

// The iterator must be there, and have the types and shapes of the attributes, where they say any.
template <typename Iterator>
class FromStringHandleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("output_types", &types_));
    RETURN_IF_ERROR(ctx.GetAttr("output_shapes", &shapes_));
    if (types_.empty() || shapes_.empty() || types_.size() == shapes_.size()) return absl::OkStatus();
    return errors::InvalidArgument(
        "If both 'output_types' and 'output_shapes' are set, they must have the same length.");
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor text = ctx.locked_input(0);
    if (text.dtype() != DT_STRING || text.dims() != 0) {
      return errors::InvalidArgument("string_handle must be a scalar");
    }
    tensorflow::ResourceHandleProto proto;
    if (!proto.ParseFromString(text.scalar<tstring>())) {
      return errors::InvalidArgument("Could not parse string_handle as a valid ResourceHandle");
    }
    ASSIGN_OR_RETURN(ResourceHandle handle, ResourceHandle::FromProto(proto));
    if (handle.device != ctx.device()->name()) {
      return errors::InvalidArgument("Attempted create an iterator on device \"", ctx.device()->name(),
                                     "\" from handle defined on device \"", handle.device, "\"");
    }
    ASSIGN_OR_RETURN(const auto iterator, ctx.resources()->Lookup<Iterator>(handle));
    RETURN_IF_ERROR(iterator->CheckMatches(types_, shapes_));
    ctx.set_output(0, Tensor::Scalar(std::move(handle)));
    return absl::OkStatus();
  }

 private:
  DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
};

}  // namespace weir
