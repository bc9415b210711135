// generate_ops HEADER SOURCE…: writes the wrappers of all ops, with the definitions distributed over the sources.

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "client/gen/op_wrapper_writer.h"
#include "core/op/op_registry.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace {

bool Write(const char* path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "generate_ops: cannot write %s\n", path);
  return static_cast<bool>(out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: generate_ops HEADER SOURCE...\n");
    return 2;
  }
  weir::OpRegistry registry;
  if (absl::Status status = weir::RegisterAllOps(registry); !status.ok()) {
    std::fprintf(stderr, "generate_ops: %s\n", status.ToString().c_str());
    return 1;
  }
  std::vector<const tensorflow::OpDef*> ops;
  for (const auto* registration : registry.All()) {
    if (weir::HasWrapper(*registration->op_def)) ops.push_back(registration->op_def.get());
  }
  if (!Write(argv[1], weir::WrapperHeader(ops))) return 1;
  const int num_sources = argc - 2;
  for (int i = 0; i < num_sources; ++i) {
    const size_t begin = ops.size() * i / num_sources, end = ops.size() * (i + 1) / num_sources;
    if (!Write(argv[2 + i], weir::WrapperSource({ops.begin() + begin, ops.begin() + end}))) return 1;
  }
  return 0;
}
