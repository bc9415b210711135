// Ops that go through datasets on their own: reduce, cardinality, single elements, tables.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/element_shapes.h"
#include "kernels/data/family.h"
#include "kernels/lookup/lookup_table.h"
#include "tensorflow/core/framework/dataset_options.pb.h"

namespace weir {
namespace {

class CardinalityKernel : public DatasetConsumerKernel {
 protected:
  absl::Status InitConsumer(OpKernelConstruction& ctx) override {
    if (!ctx.HasAttr("cardinality_options")) return absl::OkStatus();
    std::string bytes;
    RETURN_IF_ERROR(ctx.GetAttr("cardinality_options", &bytes));
    tensorflow::data::CardinalityOptions options;
    if (!options.ParseFromString(bytes)) return errors::InvalidArgument("cardinality_options is no such message");
    calls_functions_ = options.compute_level() >= tensorflow::data::CardinalityOptions::CARDINALITY_COMPUTE_MODERATE;
    return absl::OkStatus();
  }
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("input_dataset"));
    IteratorContext ctx = inputs.NewIteratorContext();
    const int64_t count = dataset->CountElements(calls_functions_ ? &ctx : nullptr);
    RETURN_IF_ERROR(ctx.CheckCancelled());
    inputs.ctx().set_output(0, Tensor::Scalar<int64_t>(count));
    return absl::OkStatus();
  }

 private:
  bool calls_functions_ = false;
};

class GetElementKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("dataset"));
    ASSIGN_OR_RETURN(const int64_t index, inputs.Int("index"));
    IteratorContext ctx = inputs.NewIteratorContext();
    Element element;
    RETURN_IF_ERROR(dataset->Get(ctx, index, &element));
    RETURN_IF_ERROR(CheckTypesMatch(inputs.node().output_types(), dataset->output_types()));
    RETURN_IF_ERROR(CheckElementShapes(element, inputs.node().output_shapes()));
    return SetElementOutputs(inputs.ctx(), std::move(element));
  }
};

class SingleElementKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("dataset"));
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(IteratorPtr iterator, dataset->MakeIterator(ctx));
    Element element, other;
    ASSIGN_OR_RETURN(const bool any, iterator->GetNext(ctx, &element));
    if (!any) return errors::InvalidArgument("Dataset was empty.");
    ASSIGN_OR_RETURN(const bool more, iterator->GetNext(ctx, &other));
    if (more) return errors::InvalidArgument("Dataset had more than one element.");
    RETURN_IF_ERROR(CheckElementShapes(element, inputs.node().output_shapes()));
    return SetElementOutputs(inputs.ctx(), std::move(element));
  }
};

class ReduceKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("input_dataset"));
    const CapturedFunction reduce = inputs.Function("f", "other_arguments");
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(IteratorPtr iterator, dataset->MakeIterator(ctx));
    Element state = inputs.List("initial_state");
    for (;;) {
      Element element;
      ASSIGN_OR_RETURN(const bool more, iterator->GetNext(ctx, &element));
      if (!more) break;
      Element args = state;
      std::move(element.begin(), element.end(), std::back_inserter(args));
      ASSIGN_OR_RETURN(Element reduced, reduce.Call(ctx, std::move(args)));
      if (reduced.size() != state.size()) {
        return errors::InvalidArgument(
            "The number of components of the initial state and the reduce function output does not match. "
            "(initial_state=",
            state.size(), ", output=", reduced.size(), ").");
      }
      state = std::move(reduced);
    }
    RETURN_IF_ERROR(CheckElement(state, inputs.node().output_types()));
    RETURN_IF_ERROR(CheckElementShapes(state, inputs.node().output_shapes()));
    return SetElementOutputs(inputs.ctx(), std::move(state));
  }
};

class InitializeTableKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    const Tensor handle = inputs.Get("table_handle");
    if (handle.dtype() != DT_RESOURCE || handle.dims() != 0) {
      return errors::InvalidArgument("table_handle must be a resource scalar");
    }
    ASSIGN_OR_RETURN(const std::shared_ptr<LookupTable> table,
                     inputs.ctx().resources()->Lookup<LookupTable>(handle.scalar<ResourceHandle>()));
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("dataset"));
    if (dataset->output_types().size() != 2) {
      return errors::InvalidArgument("Dataset should have two output types only");
    }
    if (dataset->output_types()[0] != table->options().key_type) {
      return errors::InvalidArgument("Key dtype expected: ", DataTypeName(table->options().key_type),
                                     " but obtained: ", DataTypeName(dataset->output_types()[0]), " from the dataset");
    }
    if (dataset->output_types()[1] != table->options().value_type) {
      return errors::InvalidArgument("Value dtype expected: ", DataTypeName(table->options().value_type),
                                     " but obtained: ", DataTypeName(dataset->output_types()[1]), " from the dataset");
    }
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(IteratorPtr iterator, dataset->MakeIterator(ctx));
    BufferLimit limit;
    std::vector<Element> pairs;
    for (;;) {
      Element pair;
      ASSIGN_OR_RETURN(const bool more, iterator->GetNext(ctx, &pair));
      if (!more) break;
      RETURN_IF_ERROR(CheckElement(pair, dataset->output_types()));
      RETURN_IF_ERROR(limit.Add(pair, "a table"));
      pairs.push_back(std::move(pair));
    }
    ASSIGN_OR_RETURN(const Tensor keys, Flatten(ctx, pairs, 0, dataset->output_types()[0]));
    ASSIGN_OR_RETURN(const Tensor values, Flatten(ctx, pairs, 1, dataset->output_types()[1]));
    if (keys.NumElements() != values.NumElements()) {
      return errors::InvalidArgument("The dataset has ", keys.NumElements(), " keys but ", values.NumElements(),
                                     " values");
    }
    return table->Import(inputs.ctx(), keys, values);
  }

 private:
  // All elements of one component as a vector.
  static absl::StatusOr<Tensor> Flatten(IteratorContext& ctx, const std::vector<Element>& elements, size_t component,
                                        DataType dtype) {
    int64_t size = 0;
    for (const Element& element : elements) size += element[component].NumElements();
    ASSIGN_OR_RETURN(Tensor all, Tensor::Allocate(ctx.allocator(), dtype, TensorShape({size})));
    int64_t offset = 0;
    for (const Element& element : elements) {
      CopyElements(element[component], all, offset);
      offset += element[component].NumElements();
    }
    return all;
  }
};

}  // namespace

absl::Status RegisterConsumerKernels(KernelRegistry& kernels) {
  for (const char* op : {"DatasetCardinality", "ExperimentalDatasetCardinality"}) {
    RETURN_IF_ERROR(kernels.Register<CardinalityKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<GetElementKernel>(Kernel("GetElementAtIndex").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SingleElementKernel>(Kernel("DatasetToSingleElement").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ReduceKernel>(Kernel("ReduceDataset").Cpu()));
  return kernels.Register<InitializeTableKernel>(Kernel("InitializeTableFromDataset").Cpu());
}

}  // namespace weir
