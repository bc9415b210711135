#include "kernels/data/dataset_kernel.h"

#include "core/kernel/determinism.h"
#include "core/kernel/function_runtime.h"
#include "core/memory/out_of_memory.h"
#include "kernels/data/dataset_output.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// How many inputs an argument of the op takes up on this node.
absl::StatusOr<int> ArgumentSize(OpKernelConstruction& ctx, const tensorflow::OpDef::ArgDef& arg) {
  if (!arg.number_attr().empty()) {
    int32_t count = 0;
    RETURN_IF_ERROR(ctx.GetAttr(arg.number_attr(), &count));
    return count;
  }
  if (arg.type_list_attr().empty()) return 1;
  DataTypeVector types;
  RETURN_IF_ERROR(ctx.GetAttr(arg.type_list_attr(), &types));
  return static_cast<int>(types.size());
}

}  // namespace

absl::Status NodeArguments::Init(OpKernelConstruction& ctx) {
  int position = 0;
  for (const auto& arg : ctx.op_def().input_arg()) {
    ASSIGN_OR_RETURN(const int size, ArgumentSize(ctx, arg));
    arguments_.push_back({arg.name(), position, position + size});
    position += size;
  }
  auto node = std::make_shared<tensorflow::NodeDef>(ctx.node_def());
  node->mutable_attr()->erase(kDeterministicAttr);  // of this graph: datasets are saved, and run elsewhere
  node_ = std::move(node);
  if (ctx.HasAttr("output_types")) RETURN_IF_ERROR(ctx.GetAttr("output_types", &output_types_));
  if (ctx.HasAttr("Toutput_types")) RETURN_IF_ERROR(ctx.GetAttr("Toutput_types", &output_types_));
  if (ctx.HasAttr("output_shapes")) RETURN_IF_ERROR(ctx.GetAttr("output_shapes", &output_shapes_));
  if (ctx.HasAttr("output_types") && ctx.HasAttr("output_shapes") && output_types_.size() != output_shapes_.size()) {
    return errors::InvalidArgument("output_types and output_shapes must be same length:\noutput_types: ",
                                   output_types_.size(), "\noutput_shapes: ", output_shapes_.size());
  }
  for (const auto& attr : ctx.op_def().attr()) {
    if (attr.type() != "func") continue;
    if (ctx.functions() == nullptr) {
      return errors::Internal("Node '", ctx.name(), "' has a function where there is no library");
    }
    if (library_ == nullptr) {
      ASSIGN_OR_RETURN(library_, ctx.functions()->Clone());
    }
    auto function = std::make_shared<tensorflow::NameAttrList>();
    RETURN_IF_ERROR(ctx.GetAttr(attr.name(), function.get()));
    // Functions that are there for form's sake (no rewrite, no finalisation) may be missing until they are called.
    functions_.emplace_back(attr.name(), std::make_shared<FunctionTemplate>(FunctionTemplate{function, library_}));
    if (library_->Find(function->name()) == nullptr) {
      return errors::NotFound("Function ", function->name(), " is not defined.");
    }
  }
  return absl::OkStatus();
}

std::pair<int, int> NodeArguments::Range(absl::string_view argument) const {
  for (const Argument& known : arguments_) {
    if (known.name == argument) return {known.first, known.limit};
  }
  return {0, 0};
}

bool NodeArguments::Has(absl::string_view argument) const {
  for (const Argument& known : arguments_) {
    if (known.name == argument) return true;
  }
  return false;
}

std::shared_ptr<const FunctionTemplate> NodeArguments::Function(absl::string_view attr) const {
  for (const auto& [name, function] : functions_) {
    if (name == attr) return function;
  }
  return nullptr;
}

Tensor NodeInputs::Get(absl::string_view name) const { return ctx_.locked_input(node_.Range(name).first); }

Element NodeInputs::List(absl::string_view name) const {
  const auto [first, limit] = node_.Range(name);
  Element tensors;
  for (int i = first; i < limit; ++i) tensors.push_back(ctx_.locked_input(i));
  return tensors;
}

absl::StatusOr<DatasetPtr> NodeInputs::Dataset(absl::string_view name) const { return DatasetFromTensor(Get(name)); }

absl::StatusOr<std::vector<DatasetPtr>> NodeInputs::Datasets(absl::string_view name) const {
  std::vector<DatasetPtr> datasets;
  for (const Tensor& tensor : List(name)) {
    ASSIGN_OR_RETURN(datasets.emplace_back(), DatasetFromTensor(tensor));
  }
  return datasets;
}

absl::StatusOr<Tensor> NodeInputs::Scalar(absl::string_view name, DataType dtype) const {
  Tensor tensor = Get(name);
  if (tensor.dims() != 0) return errors::InvalidArgument(name, " must be a scalar");
  if (tensor.dtype() != dtype) {
    return errors::InvalidArgument(name, " must be ", DataTypeName(dtype), ", not ", DataTypeName(tensor.dtype()));
  }
  return tensor;
}

absl::StatusOr<int64_t> NodeInputs::Int(absl::string_view name) const {
  if (Get(name).dtype() == DT_INT32) {
    ASSIGN_OR_RETURN(const Tensor narrow, Scalar(name, DT_INT32));
    return narrow.scalar<int32_t>();
  }
  ASSIGN_OR_RETURN(const Tensor tensor, Scalar(name, DT_INT64));
  return tensor.scalar<int64_t>();
}

absl::StatusOr<bool> NodeInputs::Bool(absl::string_view name) const {
  ASSIGN_OR_RETURN(const Tensor tensor, Scalar(name, DT_BOOL));
  return tensor.scalar<bool>();
}

absl::StatusOr<std::string> NodeInputs::String(absl::string_view name) const {
  ASSIGN_OR_RETURN(const Tensor tensor, Scalar(name, DT_STRING));
  return tensor.scalar<tstring>();
}

absl::StatusOr<std::vector<std::string>> NodeInputs::Strings(absl::string_view name) const {
  const Tensor tensor = Get(name);
  if (tensor.dims() > 1 || tensor.dtype() != DT_STRING) {
    return errors::InvalidArgument("`", name, "` must be a scalar or a vector.");
  }
  return std::vector<std::string>(tensor.flat<tstring>().begin(), tensor.flat<tstring>().end());
}

absl::StatusOr<std::vector<int64_t>> NodeInputs::Ints(absl::string_view name) const {
  const Tensor tensor = Get(name);
  if (tensor.dims() > 1 || tensor.dtype() != DT_INT64) {
    return errors::InvalidArgument("`", name, "` must be a scalar or a vector.");
  }
  return std::vector<int64_t>(tensor.flat<int64_t>().begin(), tensor.flat<int64_t>().end());
}

CapturedFunction NodeInputs::Function(absl::string_view attr, absl::string_view captured) const {
  return CapturedFunction(node_.Function(attr), List(captured));
}

IteratorContext NodeInputs::NewIteratorContext() const {
  IteratorContext ctx;
  ctx.root = std::make_shared<IteratorRoot>(ctx_.device(), ctx_.step().session_handle);
  ctx.cancellation = ctx_.cancellation() != nullptr ? ctx_.cancellation() : &ctx.root->cancellation();
  ctx.call_depth = ctx_.step().call_depth;
  return ctx;
}

absl::Status DatasetKernel::Init(OpKernelConstruction& ctx) {
  RETURN_IF_ERROR(node_.Init(ctx));
  return InitDataset(ctx);
}

absl::Status DatasetKernel::Compute(OpKernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.input(i).IsInitialized()) return errors::InvalidArgument("Input ", i, " has no value");
  }
  const NodeInputs inputs(ctx, node_);
  ASSIGN_OR_RETURN(std::shared_ptr<DatasetBase> dataset, MakeDataset(inputs));
  return SetDatasetOutput(inputs, std::move(dataset));
}

absl::Status SetDatasetOutput(const NodeInputs& inputs, std::shared_ptr<DatasetBase> dataset) {
  OpKernelContext& ctx = inputs.ctx();
  DatasetOrigin origin;
  origin.node = inputs.node().node();
  origin.functions = inputs.node().library();
  for (int i = 0; i < ctx.num_inputs(); ++i) origin.inputs.push_back(ctx.locked_input(i));
  dataset->set_origin(std::move(origin));
  if (dataset->depth() > kMaxDatasetDepth) {
    return errors::ResourceExhausted("A chain of more than ", kMaxDatasetDepth, " datasets");
  }
  ctx.set_output(0, DatasetTensor(std::move(dataset)));
  return absl::OkStatus();
}

absl::Status DatasetConsumerKernel::Init(OpKernelConstruction& ctx) {
  RETURN_IF_ERROR(node_.Init(ctx));
  return InitConsumer(ctx);
}

void DatasetConsumerKernel::ComputeAsync(OpKernelContext& ctx, DoneCallback done) {
  ctx.work_queue()->ScheduleBlocking([this, &ctx, done = std::move(done)] {
    absl::Status status = ctx.cancellation() == nullptr ? absl::OkStatus() : ctx.cancellation()->status();
    if (status.ok()) status = OrOutOfMemory([&] { return Work(NodeInputs(ctx, node_)); });
    done(std::move(status));
  });
}

absl::Status SetElementOutputs(OpKernelContext& ctx, Element element, int first) {
  const int count = ctx.num_outputs() - first;
  if (static_cast<int>(element.size()) != count) {
    return errors::InvalidArgument("Number of components does not match: expected ", count, " types but got ",
                                   element.size(), ".");
  }
  for (int i = 0; i < count; ++i) {
    if (element[i].dtype() != ctx.expected_output_dtype(first + i)) {
      return errors::InvalidArgument("Data type mismatch at component ", i, ": expected ",
                                     DataTypeName(ctx.expected_output_dtype(first + i)), " but got ",
                                     DataTypeName(element[i].dtype()), ".");
    }
  }
  for (int i = 0; i < count; ++i) ctx.set_output(first + i, std::move(element[i]));
  return absl::OkStatus();
}

absl::Status ReadDeterminism(OpKernelConstruction& ctx, bool* deterministic) {
  *deterministic = true;
  if (ctx.HasAttr("deterministic")) {
    std::string policy;
    RETURN_IF_ERROR(ctx.GetAttr("deterministic", &policy));
    if (policy != "true" && policy != "false" && policy != "default") {
      return errors::InvalidArgument("Invalid value for attribute 'deterministic': ", policy,
                                     "; it must be 'true', 'false' or 'default'");
    }
    *deterministic = policy != "false";
  } else if (ctx.HasAttr("sloppy")) {
    bool sloppy = false;
    RETURN_IF_ERROR(ctx.GetAttr("sloppy", &sloppy));
    *deterministic = !sloppy;
  }
  if (IsDeterministic(ctx.node_def())) *deterministic = true;  // whatever the attribute says
  return absl::OkStatus();
}

}  // namespace weir
