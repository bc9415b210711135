#include "client/estimator/model_assets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "core/op/attr_value.h"
#include "graph/graph_import.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace weir {
namespace {

constexpr char kFolder[] = "assets";

// A name that is not in `taken`, which it joins: "words.txt", "words_1.txt".
std::string UniqueName(absl::string_view path, std::set<std::string>* taken) {
  const std::string base(BaseName(path));
  const size_t dot = std::min(base.rfind('.'), base.size());
  std::string name = base;
  for (int i = 1; !taken->insert(name).second; ++i) {
    name = absl::StrCat(base.substr(0, dot), "_", i, base.substr(dot));
  }
  return name;
}

std::string UniqueNodeName(const std::string& base, std::set<std::string>* taken) {
  std::string name = base;
  for (int i = 1; !taken->insert(name).second; ++i) name = absl::StrCat(base, "_", i);
  return name;
}

// The file of a node that fills a table; nullopt for other nodes.
std::optional<InputRef> FileOf(const tensorflow::NodeDef& node) {
  if (!absl::StartsWith(node.op(), "InitializeTableFromTextFile") || node.input_size() < 2) return std::nullopt;
  return ParseInputRef(node.input(1));
}

// A copy of the asset's constant, with the path in the model's folder.
void AddAssetConstant(const ModelAssetFile& asset, const std::string& name, tensorflow::GraphDef* graph) {
  tensorflow::NodeDef copy;
  for (const tensorflow::NodeDef& node : graph->node()) {
    if (node.name() == asset.node) copy = node;
  }
  copy.set_name(name);
  SetNodeAttr("value", Tensor::Scalar<tstring>(JoinPath(kFolder, asset.name)), &copy);
  *graph->add_node() = std::move(copy);
}

absl::Status CopyFile(FileSystem& from, const std::string& source, FileSystem& to, const std::string& target) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> in, from.NewReadableFile(source));
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> out, to.NewWritableFile(target));
  std::string block(1 << 20, '\0');
  for (uint64_t offset = 0;;) {
    ASSIGN_OR_RETURN(const size_t size, in->Read(offset, block.size(), block.data()));
    RETURN_IF_ERROR(out->Append(absl::string_view(block).substr(0, size)));
    offset += size;
    if (size < block.size()) break;
  }
  RETURN_IF_ERROR(out->Sync());
  return out->Close();
}

}  // namespace

std::vector<ModelAssetFile> FindAssets(const tensorflow::GraphDef& graph) {
  absl::flat_hash_map<std::string, const tensorflow::NodeDef*> constants;
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (node.op() == "Const") constants.emplace(node.name(), &node);
  }
  std::map<std::string, std::string> names;  // by path
  std::set<std::string> taken;
  std::vector<ModelAssetFile> assets;
  for (const tensorflow::NodeDef& node : graph.node()) {
    const std::optional<InputRef> file = FileOf(node);
    const auto constant = file.has_value() ? constants.find(file->node) : constants.end();
    Tensor path;
    if (constant == constants.end() || !GetNodeAttr(*constant->second, "value", &path).ok()) continue;
    if (path.dtype() != DT_STRING || path.NumElements() != 1) continue;  // an imported graph may hold anything
    const std::string text(path.data<tstring>()[0]);
    if (names.find(text) == names.end()) names[text] = UniqueName(text, &taken);
    assets.push_back({.node = constant->first, .path = text, .name = names[text]});
  }
  return assets;
}

void DescribeAssets(const std::vector<ModelAssetFile>& assets, tensorflow::MetaGraphDef* graph) {
  tensorflow::GraphDef& nodes = *graph->mutable_graph_def();
  std::set<std::string> taken;
  for (const tensorflow::NodeDef& node : nodes.node()) taken.insert(node.name());
  absl::flat_hash_map<std::string, std::string> replacements;  // by the constant
  for (const ModelAssetFile& asset : assets) {
    if (replacements.contains(asset.node)) continue;
    const std::string name = UniqueNodeName(asset.node + "/asset", &taken);
    replacements[asset.node] = name;
    AddAssetConstant(asset, name, &nodes);
    tensorflow::AssetFileDef& file = *graph->add_asset_file_def();
    file.mutable_tensor_info()->set_name(name + ":0");
    file.set_filename(asset.name);
  }
  for (tensorflow::NodeDef& node : *nodes.mutable_node()) {
    const std::optional<InputRef> file = FileOf(node);
    const auto found = file.has_value() ? replacements.find(file->node) : replacements.end();
    if (found != replacements.end()) *node.mutable_input(1) = found->second;
  }
}

absl::Status CopyAssets(const std::vector<ModelAssetFile>& assets, FileSystemRegistry* files, const std::string& dir) {
  if (assets.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(FileSystem * to, files->Find(dir));
  const std::string folder = JoinPath(dir, kFolder);
  RETURN_IF_ERROR(to->CreateDir(folder));
  std::set<std::string> copied;
  for (const ModelAssetFile& asset : assets) {
    if (!copied.insert(asset.name).second) continue;
    ASSIGN_OR_RETURN(FileSystem * from, files->Find(asset.path));
    RETURN_IF_ERROR(Annotate(CopyFile(*from, asset.path, *to, JoinPath(folder, asset.name)), "The file of a table"));
  }
  return to->SyncDir(folder);
}

}  // namespace weir
