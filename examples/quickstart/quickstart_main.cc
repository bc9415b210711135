#include <cstdio>

#include "weir/layers.h"
#include "weir/ops.h"
#include "weir/optimizer.h"
#include "weir/session.h"

using namespace weir;  // NOLINT

// Fits y = 2x + 1 in this process; with an argument ("grpc://host:port") on a cluster.
absl::Status Fit(int argc, char** argv) {
  Scope scope = Scope::NewRoot();
  Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT);
  Output y = ops::Placeholder(scope.WithName("y"), DT_FLOAT);
  layers::Dense line(scope.WithName("line"), /*inputs=*/1, /*outputs=*/1);
  Output loss = ops::Mean(scope, ops::SquaredDifference(scope, line(scope, x), y), Tensor::Vector<int32_t>({0, 1}));
  Operation train = GradientDescentOptimizer(0.1)->Minimize(scope, loss);

  ASSIGN_OR_RETURN(auto session, argc > 1 ? Session::Connect(argv[1], scope) : Session::Local(scope));
  RETURN_IF_ERROR(session->RunTargets({InitializeAll(scope)}));
  Tensor xs(DT_FLOAT, TensorShape({4, 1})), ys(DT_FLOAT, TensorShape({4, 1}));
  for (int i = 0; i < 4; ++i) ys.data<float>()[i] = 2 * (xs.data<float>()[i] = static_cast<float>(i)) + 1;
  for (int step = 0; step < 200; ++step) {
    RETURN_IF_ERROR(session->Run({{x, xs}, {y, ys}}, {}, {train}).status());
  }
  ASSIGN_OR_RETURN(auto values, session->Run({line.weights().value(), line.bias().value()}));
  std::printf("y = %.2f x + %.2f\n", values[0].scalar<float>(), values[1].scalar<float>());
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  absl::Status status = Fit(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
