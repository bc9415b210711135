// Datasets as graphs that make them.
#pragma once

#include "kernels/data/dataset.h"

namespace tensorflow {
class FunctionDef;
class GraphDef;
}  // namespace tensorflow

namespace weir {

// A graph with one _Retval node, of the dataset, and the functions that it calls. Resources are written as handles.
// FailedPrecondition for a dataset that holds elements that were computed.
absl::Status DatasetToGraphDef(const DatasetBase& dataset, tensorflow::GraphDef* graph);

// Of ops that write a dataset as a graph or save its iterator: what they do where its functions have state that is not
// written. Numbered as in TensorFlow's attributes and options.
enum class ExternalStatePolicy { kWarn = 0, kIgnore = 1, kFail = 2 };

// FailedPrecondition, naming the op, if `policy` is kFail and a function of the dataset or of one below it, or a
// function that these call, uses an op with state. InvalidArgument for another number.
absl::Status CheckExternalState(const DatasetBase& dataset, ExternalStatePolicy policy);

// The merged options of the dataset and of all datasets below it: the concatenation of their serialised messages.
std::string SerializedOptions(const DatasetBase& dataset);

// A function without arguments that returns what the graph's _Retval node gets. InvalidArgument for a graph without
// one; Unimplemented for nodes with several outputs.
absl::Status GraphToFunction(const tensorflow::GraphDef& graph, tensorflow::FunctionDef* function);

}  // namespace weir
