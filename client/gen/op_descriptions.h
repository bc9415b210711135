// Descriptions of ops in words: the files kernels/*/ops.txt.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/status.h"

namespace weir {

// The lines of an op's description, by the op's name.
using OpDescriptions = absl::flat_hash_map<std::string, std::vector<std::string>>;

// Adds the descriptions in `text`, the content of `file`: a line with an op's name, then lines that begin with two
// spaces. InvalidArgument names file and line of an op that is described twice or not at all, or of a malformed line.
absl::Status AddOpDescriptions(const std::string& file, const std::string& text, OpDescriptions* descriptions);

}  // namespace weir
