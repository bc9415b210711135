// A small convolutional network for digits, replicated over workers, with variables on parameter servers.
#pragma once

#include <vector>

#include "weir/graph/output.h"
#include "weir/scope.h"
#include "weir/variables.h"

namespace weir::digits {

struct ModelOptions {
  int workers = 1;  // one replica on each /job:worker/task:i; 0: one replica, placed by the session
  int ps = 0;       // variables are on /job:ps/task:i, in turn
  double learning_rate = 2e-3;
  int64_t seed = 7;
  bool scale_loss = false;  // for float16
};

struct Model {
  std::vector<Output> images, labels;  // one per replica
  Output loss;                         // the mean over replicas
  Operation train;                     // one synchronous step
  ResourceVariable global_step;
  Output test_images, test_labels, accuracy;
};

Model BuildModel(const Scope& scope, const ModelOptions& options);

}  // namespace weir::digits
