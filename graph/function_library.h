// The functions of a graph, by name, with their gradients.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace tensorflow {
class FunctionDef;
class FunctionDefLibrary;
class OpDef;
}  // namespace tensorflow

namespace weir {

// A value type; copies share the definitions, so copying is cheap. An added definition never changes: a pointer to it
// stays valid as long as any library has it. Not thread-safe; concurrent reads are fine.
class FunctionLibrary {
 public:
  FunctionLibrary() = default;

  // Adding an existing definition is a no-op. InvalidArgument if a different one has that name, or if it has no name;
  // AddLibrary and Merge then change nothing.
  absl::Status Add(tensorflow::FunctionDef def);
  absl::Status AddGradient(absl::string_view function, absl::string_view gradient);
  absl::Status AddLibrary(const tensorflow::FunctionDefLibrary& library);
  absl::Status Merge(const FunctionLibrary& other);

  // nullptr if there is no such function.
  const tensorflow::FunctionDef* Find(absl::string_view name) const;
  // The function's signature as an op; nullptr if there is none.
  const tensorflow::OpDef* FindSignature(absl::string_view name) const;
  // The name of the gradient function of `name`; empty if there is none.
  std::string FindGradient(absl::string_view name) const;
  // In alphabetical order.
  std::vector<std::string> Names() const;
  size_t size() const { return functions_.size(); }
  bool empty() const { return functions_.empty(); }

  // Only the functions that `roots` call, directly or not, with their gradients.
  FunctionLibrary ReachableFrom(const std::vector<std::string>& roots) const;
  tensorflow::FunctionDefLibrary ToProto() const;

 private:
  std::map<std::string, std::shared_ptr<const tensorflow::FunctionDef>, std::less<>> functions_;
  std::map<std::string, std::string, std::less<>> gradients_;
};

}  // namespace weir
