// Loads the plug-in beside this program, and prints 2 x^3 and its gradient for x = 1, 2, 3: here, or on the cluster
// whose server ("grpc://host:port", the second argument) has loaded it too.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weir/custom_op.h"
#include "weir/gradients.h"
#include "weir/kernels/plugin.h"
#include "weir/ops.h"
#include "weir/session.h"

using namespace weir;  // NOLINT

absl::Status Run(int argc, char** argv) {
  if (argc < 2) return errors::InvalidArgument("usage: cube_main PLUGIN [grpc://HOST:PORT]");
  const std::string plugin = argv[1];
  RETURN_IF_ERROR(LoadPlugin(plugin, {.folders = {std::filesystem::absolute(plugin).parent_path()}}));

  const Scope scope = Scope::NewRoot();
  const Output x = scope.Constant(Tensor::Vector<float>({1, 2, 3}));
  const Output y(CustomOp(scope, "MyCube", {{x}}, {{"scale", 2.0f}}), 0);
  const std::vector<Gradient> gradients = Gradients(scope, {y}, {x});
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   argc > 2 ? Session::Connect(argv[2], scope) : Session::Local(scope));
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, session->Run({y, gradients[0].values}));
  std::printf("%s\n%s\n", values[0].DebugString().c_str(), values[1].DebugString().c_str());
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  const absl::Status status = Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
