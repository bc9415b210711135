#include "kernels/control/function_call.h"

#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir::function_call {

absl::StatusOr<FunctionRuntime::Handle> Instantiate(OpKernelConstruction& ctx,
                                                    const tensorflow::NameAttrList& function) {
  if (ctx.functions() == nullptr) {
    return errors::Internal("Node '", ctx.name(), "' calls function '", function.name(), "' where there is no library");
  }
  return ctx.functions()->Instantiate(function);
}

absl::StatusOr<FunctionRuntime::Handle> InstantiateAttr(OpKernelConstruction& ctx, absl::string_view attr) {
  tensorflow::NameAttrList function;
  RETURN_IF_ERROR(ctx.GetAttr(attr, &function));
  return Instantiate(ctx, function);
}

FunctionRuntime::RunOptions OptionsFor(const OpKernelContext& ctx) {
  FunctionRuntime::RunOptions options;
  options.step = ctx.step();
  options.depth = ctx.step().call_depth + 1;
  return options;
}

Tensors Inputs(const OpKernelContext& ctx, int first) {
  Tensors inputs;
  inputs.reserve(ctx.num_inputs() - first);
  for (int i = first; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.locked_input(i));
  return inputs;
}

absl::Status SetOutputs(OpKernelContext& ctx, Tensors values) {
  if (static_cast<int>(values.size()) != ctx.num_outputs()) {
    return errors::Internal("Expect to produce ", ctx.num_outputs(), " tensors, but only get ", values.size());
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (values[i].dtype() == ctx.expected_output_dtype(i)) continue;
    return errors::Internal("Expect ", i, "-th output is of type ", DataTypeName(ctx.expected_output_dtype(i)),
                            " but get ", DataTypeName(values[i].dtype()));
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move(values[i]));
  return absl::OkStatus();
}

void Call(OpKernelContext& ctx, FunctionRuntime::Handle handle, Tensors args, AsyncOpKernel::DoneCallback done) {
  FunctionRuntime* functions = ctx.step().functions;
  if (functions == nullptr) return done(errors::Internal("The step has no function library"));
  functions->RunAsync(handle, OptionsFor(ctx), std::move(args),
                      [&ctx, done = std::move(done)](absl::StatusOr<Tensors> values) {
                        if (!values.ok()) return done(std::move(values).status());
                        done(SetOutputs(ctx, *std::move(values)));
                      });
}

absl::StatusOr<bool> Truth(const Tensor& tensor) {
  if (tensor.dims() > 0) return tensor.NumElements() > 0;
  switch (tensor.dtype()) {
    case DT_FLOAT:
      return tensor.scalar<float>() != 0;
    case DT_DOUBLE:
      return tensor.scalar<double>() != 0;
    case DT_INT8:
      return tensor.scalar<int8_t>() != 0;
    case DT_UINT8:
      return tensor.scalar<uint8_t>() != 0;
    case DT_INT16:
      return tensor.scalar<int16_t>() != 0;
    case DT_INT32:
      return tensor.scalar<int32_t>() != 0;
    case DT_INT64:
      return tensor.scalar<int64_t>() != 0;
    case DT_BOOL:
      return tensor.scalar<bool>();
    case DT_STRING:
      return !tensor.scalar<tstring>().empty();
    default:
      return errors::InvalidArgument(DataTypeName(tensor.dtype()), " cannot be converted to a boolean");
  }
}

}  // namespace weir::function_call
