// Embeddings without a vocabulary: rows that are made as keys come, spread over tasks.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"
#include "graph/gradients/gradient_context.h"
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

  // Above 0: the keys are divided into so many parts, which can move between the devices while a training goes on (see
  // embedding_parts.h). The devices then are distinct; a program may name some that have none yet. At first the parts
  // are spread over the first `initial_devices` of them (0: all). The map of the parts is on `map_device` (empty: the
  // first one), from which every pull asks it.
  int64_t parts = 0;
  int initial_devices = 0;
  std::string map_device;

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

// Which of the devices has each part, where `count` of them have equally many. Keys that are close by hash are
// together.
std::vector<int32_t> EvenOwners(int64_t parts, int count);

// A batch of keys and the rows that belong to them.
struct EmbeddingPull {
  std::vector<Output> keys;      // each key once, by part
  std::vector<Output> versions;  // of the parts, when they were read
  Output unique;                 // their rows, those of one part after the other: [distinct keys, width]
  Output idx;                    // of each key of the batch, in `unique`

  // Of an embedding whose parts can move; not set for others.
  Output map, epoch;               // by which the keys were divided
  std::vector<std::string> tasks;  // that the graph knows
  Operation arrived;               // beside the map, when the rows are there: until it is run, no part moves
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
  // Whether its parts can move, and then: the map of them, and the names that the devices have in it.
  bool moves() const { return options_.parts > 0; }
  Output map() const { return map_; }
  const std::vector<std::string>& tasks() const { return tasks_; }
  // The scope of ops beside a part.
  Scope Beside(const Scope& scope, int part) const;

  // Gets the rows of `keys` (int64, of any shape): each key once, from the parts in parallel. A step that pulls and
  // does not push is ABORTED where a part moves away under it.
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
  struct Divided {
    OutputList parts;
    Output idx;
  };
  Divided Divide(const Scope& scope, const Output& keys, EmbeddingPull* pull) const;
  void MakeMap(const Scope& scope, const std::vector<Operation>& table_initializers, InputList* flags);
  Operation Apply(const Scope& scope, int part, const EmbeddingPull& pull, const Output& gradient,
                  const Output& global_step) const;

  std::string name_;
  EmbeddingVariableOptions options_;
  std::vector<Output> tables_;
  Output map_;
  std::vector<std::string> tasks_;
  Operation initializer_;
  Output is_initialized_, size_;
};

}  // namespace weir
