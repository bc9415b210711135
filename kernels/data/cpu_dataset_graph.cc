// DatasetToGraph and DatasetFromGraph.
#include "absl/hash/hash.h"
#include "core/kernel/function_runtime.h"
#include "kernels/data/dataset_graph.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/dataset_options.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {
namespace {

class ToGraphKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (ctx.op() == "DatasetToGraphV2") {
      int64_t policy = 0;
      RETURN_IF_ERROR(ctx.GetAttr("external_state_policy", &policy));
      policy_ = static_cast<ExternalStatePolicy>(policy);
      return absl::OkStatus();
    }
    bool allow_stateful = false;
    RETURN_IF_ERROR(ctx.GetAttr("allow_stateful", &allow_stateful));
    policy_ = allow_stateful ? ExternalStatePolicy::kWarn : ExternalStatePolicy::kFail;
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetFromTensor(ctx.locked_input(0)));
    tensorflow::data::Options options;
    ExternalStatePolicy policy = policy_;
    if (options.ParseFromString(SerializedOptions(*dataset)) && options.optional_external_state_policy_case() != 0) {
      policy = static_cast<ExternalStatePolicy>(options.external_state_policy());
    }
    RETURN_IF_ERROR(Annotate(CheckExternalState(*dataset, policy), "Failed to serialize the input pipeline graph"));
    tensorflow::GraphDef graph;
    RETURN_IF_ERROR(DatasetToGraphDef(*dataset, &graph));
    ctx.set_output(0, Tensor::Scalar<tstring>(graph.SerializeAsString()));
    return absl::OkStatus();
  }

 private:
  ExternalStatePolicy policy_ = ExternalStatePolicy::kWarn;
};

class FromGraphKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const std::string bytes, inputs.String("graph_def"));
    tensorflow::GraphDef graph;
    if (!graph.ParseFromString(bytes)) return errors::InvalidArgument("Could not parse GraphDef.");
    tensorflow::FunctionDefLibrary library = graph.library();
    tensorflow::FunctionDef* body = library.add_function();
    RETURN_IF_ERROR(GraphToFunction(graph, body));
    // Named by what it does, so that no function of the graph's can be taken for it.
    body->mutable_signature()->set_name(absl::StrCat("__dataset_from_graph_", absl::HashOf(bytes)));
    FunctionRuntime* const functions = inputs.ctx().step().functions;
    if (functions == nullptr) return errors::Internal("The step has no function library");
    auto made = std::make_shared<FunctionTemplate>();
    ASSIGN_OR_RETURN(made->library, functions->Clone(&library));
    auto name = std::make_shared<tensorflow::NameAttrList>();
    name->set_name(body->signature().name());
    made->function = std::move(name);
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(DatasetPtr dataset, CapturedFunction(made, {}).CallForDataset(ctx, {}));
    inputs.ctx().set_output(0, DatasetTensor(std::move(dataset)));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterGraphKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ToGraphKernel>(Kernel("DatasetToGraph").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ToGraphKernel>(Kernel("DatasetToGraphV2").Cpu()));
  return kernels.Register<FromGraphKernel>(Kernel("DatasetFromGraph").Cpu());
}

}  // namespace weir
