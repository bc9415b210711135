// Embeddings without a vocabulary: rows that are made as keys come, spread over tasks.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"
#include "graph/gradients/gradient_registry.h"
#include "graph/output.h"

namespace weir {

// How pushes change rows.
struct EmbeddingOptimizer {
  enum class Kind { kGradientDescent, kAdagrad, kAdam, kFtrl };

  Kind kind = Kind::kAdagrad;
  double learning_rate = 0.01;
  double initial_accumulator_value = 0.1;             // Adagrad, Ftrl
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // Adam
  double l1 = 0, l2 = 0, learning_rate_power = -0.5;  // Ftrl
};

struct EmbeddingVariableOptions {
  int64_t width = 0;
  EmbeddingOptimizer optimizer;
  // Where its parts are, one on each; empty: on the scope's device.
  std::vector<std::string> devices;

  // "constant" {value}, "uniform" {from, to}, "normal" or "truncated_normal" {mean, deviation}.
  std::string initializer = "truncated_normal";
  std::vector<float> initializer_params = {0, 0.05f};
  int64_t seed = 0;

  // A key gets a row with this push of it, as an approximate counter counts, and then with this probability.
  int64_t filter_freq = 0, filter_counters = 1 << 20;
  double filter_probability = 1;
  double default_value_no_permission = 0;  // what pulls of other keys give, where there is such a filter
  // Rows that no push named for so long are evicted; at most one of the two.
  int64_t steps_to_live = 0, seconds_to_live = 0;
  // The rows of the lowest frequency are evicted beyond so many, on all devices together.
  int64_t max_element_size = 0;

  // "sum", "last_writer", or "reject": gradients of a row that changed more than `staleness_bound` versions after it
  // was pulled are dropped.
  std::string conflict_policy = "sum";
  int64_t staleness_bound = 0;
  // Above 0: the pushes of so many workers wait for each other, and the sum of one of each is applied once.
  int synchronous_workers = 0;

  // How keys, rows and gradients pass between tasks ("bf16+lz4", say; see client/wire.h); empty: as the session says.
  // Keys are compressed alone.
  std::string wire;
};

// A batch of keys and the rows that belong to them.
struct EmbeddingPull {
  std::vector<Output> keys;      // each key once, by part
  std::vector<Output> versions;  // of the parts, when they were read
  Output unique;                 // their rows, those of one part after the other: [distinct keys, width]
  Output idx;                    // of each key of the batch, in `unique`
};

// A value: copies name the same rows. They are on devices as variables are, and outlive the session.
class EmbeddingVariable {
 public:
  EmbeddingVariable() = default;
  // Adds the tables of a variable named by the scope ("embedding" by default). An error is kept by the scope.
  static EmbeddingVariable Make(const Scope& scope, EmbeddingVariableOptions options);

  const std::string& name() const { return name_; }
  const EmbeddingVariableOptions& options() const { return options_; }
  int num_parts() const { return static_cast<int>(tables_.size()); }
  Output table(int part) const { return tables_[part]; }
  // The scope of ops beside a part.
  Scope Beside(const Scope& scope, int part) const;

  // Gets the rows of `keys` (int64, of any shape): each key once, from the parts in parallel.
  EmbeddingPull Pull(const Scope& scope, const Output& keys) const;
  // The rows in the order of the batch: the shape of its keys, and then the width.
  Output Embed(const Scope& scope, const EmbeddingPull& pull) const;
  // Applies the gradient with respect to pull.unique: duplicates are added up here, each part gets its own.
  // `global_step` (int64 scalar) is what rows age by, and Adam's steps. `worker`: whose push it is, of
  // synchronous_workers.
  Operation Push(const Scope& scope, const EmbeddingPull& pull, const Gradient& gradient, const Output& global_step,
                 int worker = 0) const;
  // Removes rows that have outlived steps_to_live or seconds_to_live.
  Operation Evict(const Scope& scope, const Output& global_step) const;

  // Removes all rows.
  Operation initializer() const { return initializer_; }
  Output is_initialized() const { return is_initialized_; }
  // How many keys have rows.
  Output size() const { return size_; }

 private:
  Operation Apply(const Scope& scope, int part, const EmbeddingPull& pull, const Output& gradient,
                  const Output& global_step) const;

  std::string name_;
  EmbeddingVariableOptions options_;
  std::vector<Output> tables_;
  Operation initializer_;
  Output is_initialized_, size_;
};

}  // namespace weir
