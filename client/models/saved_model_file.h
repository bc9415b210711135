// Reads saved_model.pb and answers questions about it. For the loader and for tools.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/models/signature.h"
#include "core/files/file_system.h"
#include "core/status.h"

namespace tensorflow {
class GraphDef;
class MetaGraphDef;
class NodeDef;
class SavedModel;
class TensorProto;
}  // namespace tensorflow

namespace weir {

class OpRegistry;

// Reads DIR/saved_model.pb, or its text form, saved_model.pbtxt. NotFound if there is neither, naming version folders
// if `dir` has them; DataLoss if it is truncated or not a SavedModel.
absl::StatusOr<std::unique_ptr<tensorflow::SavedModel>> ReadSavedModelFile(FileSystem* files, const std::string& dir);

// The tags of each graph, as "{serve}" or "{gpu, serve}".
std::vector<std::string> TagSets(const tensorflow::SavedModel& model);
// The graph with exactly these tags. NotFound lists the tags that there are.
absl::StatusOr<const tensorflow::MetaGraphDef*> FindMetaGraph(const tensorflow::SavedModel& model,
                                                              const std::vector<std::string>& tags);

// Sorted by name; without the loader's own, "__saved_model_init_op". A sparse or composite tensor counts as its parts,
// "x/indices", "x/values" and "x/dense_shape", or "x/0", "x/1" and so on.
absl::StatusOr<std::vector<SignatureInfo>> SignaturesOf(const tensorflow::MetaGraphDef& graph);
// The default values of a signature's inputs, by name.
absl::StatusOr<TensorMap> SignatureDefaults(const tensorflow::MetaGraphDef& graph, const std::string& signature);

// A file that the graph reads by the name in a tensor.
struct ModelAsset {
  std::string tensor;  // "Const:0"
  std::string file;    // in the folder assets/
};
std::vector<ModelAsset> AssetsOf(const tensorflow::MetaGraphDef& graph);

// The node to run once the variables are restored; "" if there is none.
absl::StatusOr<std::string> InitOpOf(const tensorflow::MetaGraphDef& graph);

// "VarHandleOp", "VariableV2" and "Variable".
bool IsVariableNode(const tensorflow::NodeDef& node);
// The name that variable nodes of one variable share.
std::string VariableNameOf(const tensorflow::NodeDef& node);

// A variable of the graph.
struct ModelVariable {
  std::string name;
  DataType dtype = DT_INVALID;
  PartialTensorShape shape;
};
// Sorted by name.
std::vector<ModelVariable> VariablesOf(const tensorflow::GraphDef& graph);

// Ops of the nodes of the graph and its functions that neither `ops` nor the graph's library has, with one node of
// each: {"FancyOp": "layer/fancy"}.
std::map<std::string, std::string> UnknownOps(const tensorflow::GraphDef& graph, const OpRegistry& ops);
// Unimplemented, naming all unknown ops, if there is one.
absl::Status CheckModelOps(const tensorflow::GraphDef& graph, const OpRegistry& ops);

}  // namespace weir
