// Asks a model of ring.cc whether a point is in the ring: ask MODEL X Y
#include <cstdio>
#include <cstdlib>

#include "weir/models/saved_model_loader.h"

using namespace weir;  // NOLINT

absl::Status Ask(const std::string& dir, float x, float y) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadSavedModel(dir));
  Tensor points(DT_FLOAT, TensorShape({1, 2}));
  points.data<float>()[0] = x;
  points.data<float>()[1] = y;
  ASSIGN_OR_RETURN(const TensorMap results, model->Run("serving_default", {{"points", points}}));
  std::printf("(%g, %g) is in the ring with probability %.2f\n", x, y, results.at("inside").data<float>()[0]);
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: ask MODEL X Y\n");
    return 2;
  }
  const absl::Status status = Ask(argv[1], std::strtof(argv[2], nullptr), std::strtof(argv[3], nullptr));
  if (!status.ok()) std::fprintf(stderr, "ask: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
