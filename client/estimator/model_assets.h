// The files that a model needs besides its variables.
#pragma once

#include <string>
#include <vector>

#include "core/files/file_system.h"
#include "core/status.h"

namespace tensorflow {
class GraphDef;
class MetaGraphDef;
}  // namespace tensorflow

namespace weir {

struct ModelAssetFile {
  std::string node;  // the constant that holds the path
  std::string path;
  std::string name;  // in the model's folder "assets"; unique in it
};

// The text files that the graph's tables are made from. A path that is not a constant string stays as it
// is.
std::vector<ModelAssetFile> FindAssets(const tensorflow::GraphDef& graph);

// Declares the assets, and gives the tables constants with their names. Other users of a path's constant keep it.
void DescribeAssets(const std::vector<ModelAssetFile>& assets, tensorflow::MetaGraphDef* graph);

// Copies the files into the model's folder `dir`.
absl::Status CopyAssets(const std::vector<ModelAssetFile>& assets, FileSystemRegistry* files, const std::string& dir);

}  // namespace weir
