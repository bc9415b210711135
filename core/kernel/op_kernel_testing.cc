#include "core/kernel/op_kernel_testing.h"

#include "absl/strings/str_cat.h"
#include "core/device/device.h"
#include "core/rendezvous/rendezvous.h"
#include "core/threads/work_queue.h"

namespace weir {
namespace {

using tensorflow::NodeDef;
using tensorflow::OpDef;

DataType TypeOf(const TestInput& input) {
  return input.ref != nullptr ? MakeRef(input.ref->dtype()) : input.tensor.dtype();
}

// The number of tensors of a variable-length argument: given by the attributes, or all that the other arguments leave.
absl::StatusOr<int> ArgLength(const OpDef& op_def, const OpDef::ArgDef& arg, const NodeDef& node, int num_inputs) {
  if (arg.number_attr().empty() && arg.type_list_attr().empty()) return 1;
  DataTypeVector types;
  int64_t count = 0;
  if (GetNodeAttr(node, arg.number_attr(), &count).ok()) return static_cast<int>(count);
  if (GetNodeAttr(node, arg.type_list_attr(), &types).ok()) return static_cast<int>(types.size());
  int variadic = 0;
  for (const OpDef::ArgDef& other : op_def.input_arg()) {
    variadic += !other.number_attr().empty() || !other.type_list_attr().empty();
  }
  const int left = num_inputs - (op_def.input_arg_size() - variadic);
  if (left % variadic != 0) {
    return errors::InvalidArgument("Set the attributes of argument '", arg.name(),
                                   "': its length does not follow from the inputs");
  }
  return left / variadic;
}

void SetMissing(const std::string& name, const auto& value, NodeDef* node) {
  if (!name.empty() && FindAttr(*node, name) == nullptr) SetNodeAttr(name, value, node);
}

absl::Status InferAttrs(const OpDef& op_def, const std::vector<TestInput>& inputs, NodeDef* node) {
  size_t next = 0;
  for (const OpDef::ArgDef& arg : op_def.input_arg()) {
    ASSIGN_OR_RETURN(const int length, ArgLength(op_def, arg, *node, static_cast<int>(inputs.size())));
    DataTypeVector types;
    for (int i = 0; i < length && next < inputs.size(); ++i) types.push_back(RemoveRef(TypeOf(inputs[next++])));
    SetMissing(arg.number_attr(), int64_t{length}, node);
    SetMissing(arg.type_list_attr(), types, node);
    if (!types.empty()) SetMissing(arg.type_attr(), types[0], node);
  }
  return absl::OkStatus();
}

absl::Status CheckInputTypes(const NodeDef& node, const OpDef& op_def, const std::vector<TestInput>& inputs) {
  DataTypeVector expected, outputs;
  RETURN_IF_ERROR(InOutTypesForNode(node, op_def, &expected, &outputs));
  for (size_t i = 0; i < expected.size() && i < inputs.size(); ++i) {
    if (TypesCompatible(expected[i], TypeOf(inputs[i]))) continue;
    return errors::InvalidArgument("Input ", i, " of ", SummarizeNodeDef(node), " is ", DataTypeName(TypeOf(inputs[i])),
                                   ", expected ", DataTypeName(expected[i]));
  }
  return absl::OkStatus();
}

}  // namespace

// Everything that must stay alive during one run of a kernel.
struct KernelTest::Call {
  std::vector<TestInput> inputs;
  std::vector<TensorValue> values;
  std::vector<OpOutput> outputs;
  std::unique_ptr<OpKernelContext> context;
};

KernelTest::KernelTest() {
  work_queue_ = WorkQueue::Create({.name = "test", .compute_threads = 2});
  const DeviceName task{.job = "localhost", .replica = 0, .task = 0};
  device_ = NewCpuDevice(task, 0, work_queue_.get());
  rendezvous_ = NewLocalRendezvous();
  cancellation_ = std::make_unique<CancellationManager>();
  step_container_ = std::make_unique<StepContainer>(1, device_.get());
  step_.step_id = 1;
  step_.device = device_.get();
  step_.rendezvous = rendezvous_.get();
  step_.cancellation = cancellation_.get();
  step_.step_container = step_container_.get();
}

KernelTest::~KernelTest() = default;

void KernelTest::Register(const RegisterOps& ops, const RegisterKernels& kernels) {
  ASSERT_THAT(ops(ops_), IsOk());
  ASSERT_THAT(kernels(kernels_), IsOk());
}

absl::StatusOr<NodeDef> KernelTest::MakeNode(absl::string_view op, const std::vector<TestInput>& inputs,
                                             const Attrs& attrs) {
  ASSIGN_OR_RETURN(const OpDef* op_def, ops_.LookUp(op));
  NodeDef node = attrs.node();
  node.set_name("test");
  node.set_op(op_def->name());
  for (size_t i = 0; i < inputs.size(); ++i) node.add_input(absl::StrCat("in", i));
  RETURN_IF_ERROR(InferAttrs(*op_def, inputs, &node));
  AddDefaultAttrs(*op_def, &node);
  RETURN_IF_ERROR(ValidateNodeDef(node, *op_def));
  RETURN_IF_ERROR(CheckInputTypes(node, *op_def, inputs));
  return node;
}

absl::StatusOr<std::unique_ptr<OpKernel>> KernelTest::MakeOp(absl::string_view op, const std::vector<TestInput>& inputs,
                                                             const Attrs& attrs) {
  ASSIGN_OR_RETURN(node_, MakeNode(op, inputs, attrs));
  ASSIGN_OR_RETURN(const OpDef* op_def, ops_.LookUp(op));
  DataTypeVector input_types;
  RETURN_IF_ERROR(InOutTypesForNode(node_, *op_def, &input_types, &output_types_));
  return CreateKernel(kernels_, node_, *op_def, device_.get(), step_.functions);
}

std::unique_ptr<KernelTest::Call> KernelTest::MakeCall(std::vector<TestInput> inputs) {
  auto call = std::make_unique<Call>();
  call->inputs = std::move(inputs);
  for (TestInput& input : call->inputs) {
    if (input.ref != nullptr) {
      call->values.push_back({input.ref, input.ref_mutex});
    } else {
      call->values.push_back({&input.tensor, nullptr});
    }
  }
  call->outputs.resize(output_types_.size());
  call->context =
      std::make_unique<OpKernelContext>(&step_, &node_, call->values, output_types_, absl::MakeSpan(call->outputs));
  return call;
}

std::vector<Tensor> KernelTest::Outputs(const std::vector<OpOutput>& outputs) {
  std::vector<Tensor> tensors;
  for (const OpOutput& output : outputs) {
    if (output.ref != nullptr) {
      std::lock_guard<std::mutex> lock(*output.ref_mutex);
      tensors.push_back(*output.ref);
    } else {
      tensors.push_back(output.value);
    }
  }
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> KernelTest::RunKernel(OpKernel& kernel, std::vector<TestInput> inputs) {
  std::unique_ptr<Call> call = MakeCall(std::move(inputs));
  RETURN_IF_ERROR(kernel.Compute(*call->context));
  std::vector<Tensor> tensors = Outputs(call->outputs);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DataType expected = RemoveRef(output_types_[i]);
    if (!call->outputs[i].has_value || tensors[i].dtype() == expected) continue;
    return errors::Internal("Output ", i, " of ", SummarizeNodeDef(node_), " is ", DataTypeName(tensors[i].dtype()),
                            ", expected ", DataTypeName(expected));
  }
  last_outputs_ = std::move(call->outputs);
  return tensors;
}

void KernelTest::RunKernelAsync(AsyncOpKernel& kernel, std::vector<TestInput> inputs, DoneCallback done) {
  std::shared_ptr<Call> call = MakeCall(std::move(inputs));
  kernel.ComputeAsync(*call->context, [call, done = std::move(done)](absl::Status status) {
    if (!status.ok()) return done(status);
    done(Outputs(call->outputs));
  });
}

absl::StatusOr<std::vector<Tensor>> KernelTest::RunOp(absl::string_view op, std::vector<TestInput> inputs,
                                                      const Attrs& attrs) {
  ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, MakeOp(op, inputs, attrs));
  return RunKernel(*kernel, std::move(inputs));
}

absl::StatusOr<Tensor> KernelTest::RunOp1(absl::string_view op, std::vector<TestInput> inputs, const Attrs& attrs) {
  ASSIGN_OR_RETURN(std::vector<Tensor> outputs, RunOp(op, std::move(inputs), attrs));
  if (outputs.size() != 1) return errors::Internal("Op '", op, "' has ", outputs.size(), " outputs");
  return outputs[0];
}

}  // namespace weir
