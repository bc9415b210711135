// generate_ops HEADER SOURCE… --descriptions FILE…: writes the wrappers of all ops, with the definitions distributed
// over the sources, and the descriptions of the files kernels/*/ops.txt in the header.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "client/gen/op_descriptions.h"
#include "client/gen/op_wrapper_writer.h"
#include "core/op/op_registry.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace {

// Leaves a file alone that has this text, so that what includes it is not compiled again.
absl::Status Write(const std::string& path, const std::string& text) {
  std::ifstream in(path);
  if (in && std::string(std::istreambuf_iterator<char>(in), {}) == text) return absl::OkStatus();
  std::ofstream out(path);
  out << text;
  out.close();
  return out ? absl::OkStatus() : weir::errors::Unavailable("cannot write ", path);
}

absl::Status ReadDescriptions(const std::vector<std::string>& files, weir::OpDescriptions* descriptions) {
  for (const std::string& file : files) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in) return weir::errors::NotFound("cannot read ", file);
    RETURN_IF_ERROR(weir::AddOpDescriptions(file, text, descriptions));
  }
  return absl::OkStatus();
}

absl::Status Generate(const std::vector<std::string>& outputs, const std::vector<std::string>& files) {
  weir::OpDescriptions descriptions;
  RETURN_IF_ERROR(ReadDescriptions(files, &descriptions));
  weir::OpRegistry registry;
  RETURN_IF_ERROR(weir::RegisterAllOps(registry));
  std::vector<const tensorflow::OpDef*> ops;
  for (const auto* registration : registry.All()) {
    if (weir::HasWrapper(*registration->op_def)) ops.push_back(registration->op_def.get());
  }
  RETURN_IF_ERROR(Write(outputs[0], weir::WrapperHeader(ops, descriptions)));
  const size_t num_sources = outputs.size() - 1;
  for (size_t i = 0; i < num_sources; ++i) {
    const size_t begin = ops.size() * i / num_sources, end = ops.size() * (i + 1) / num_sources;
    RETURN_IF_ERROR(Write(outputs[1 + i], weir::WrapperSource({ops.begin() + begin, ops.begin() + end})));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> outputs(argv + 1, argv + argc), files;
  if (const auto mark = std::find(outputs.begin(), outputs.end(), "--descriptions"); mark != outputs.end()) {
    files.assign(mark + 1, outputs.end());
    outputs.erase(mark, outputs.end());
  }
  if (outputs.size() < 2) {
    std::fprintf(stderr, "usage: generate_ops HEADER SOURCE... [--descriptions FILE...]\n");
    return 2;
  }
  const absl::Status status = Generate(outputs, files);
  if (!status.ok()) std::fprintf(stderr, "generate_ops: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
