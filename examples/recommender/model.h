// Matrix factorisation: a rating is the inner product of a user's and an item's row, plus a constant. The rows are in
// two embeddings that grow with new keys, distributed over parameter servers.
#pragma once

#include <vector>

#include "weir/embedding/embedding_variable.h"
#include "weir/scope.h"
#include "weir/variables.h"

namespace weir::recommender {

struct ModelOptions {
  int workers = 0;   // one replica on each /job:worker/task:i; 0: one replica, placed by the session
  int ps = 0;        // a part of each embedding on each /job:ps/task:i
  int spare_ps = 0;  // further ps tasks, to which parts can move
  // Rows get the sum of all workers' gradients, added in the order of workers, so that equal runs end with equal rows.
  bool synchronous = false;
  int64_t width = 8;
  double learning_rate = 0.15;
};

struct Replica {
  Output users, items, ratings;  // fed
};

struct Model {
  std::vector<Replica> replicas;
  EmbeddingVariable users, items;
  Output loss;      // the mean square error over replicas
  Operation train;  // one step of all replicas
  ResourceVariable global_step;
  Replica test;
  Output test_error;  // mean square, without updating
};

Model BuildModel(const Scope& scope, const ModelOptions& options);

}  // namespace weir::recommender
