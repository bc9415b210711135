// Embeddings without a vocabulary: rows are created as keys arrive, distributed over tasks.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"
#include "core/api.h"
#include "graph/gradients/gradient.h"
#include "graph/output.h"

namespace WEIR_API weir {

// The update rule of pushes.
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
  // One part on each; empty: on the scope's device.
  std::vector<std::string> devices;

  // Above 0: keys are divided into this many parts, which can move between devices during training (see
  // embedding_parts.h).
  // - The devices must be distinct; some may have no parts yet. Initially the parts are on the first `initial_devices`
  //   of them (0: all).
  // - The map of the parts is on `map_device` (empty: the first device); every pull reads it.
  int64_t parts = 0;
  int initial_devices = 0;
  std::string map_device;

  // "constant" {value}, "uniform" {from, to}, "normal" or "truncated_normal" {mean, deviation}.
  std::string initializer = "truncated_normal";
  std::vector<float> initializer_params = {0, 0.05f};
  int64_t seed = 0;

  // A key gets a row with its `filter_freq`-th push, counted approximately, and then with this probability.
  int64_t filter_freq = 0, filter_counters = 1 << 20;
  double filter_probability = 1;
  double default_value_no_permission = 0;  // the result of pulls of filtered keys
  // Evict rows that were not pushed for this long; at most one of the two.
  int64_t steps_to_live = 0, seconds_to_live = 0;
  // Evict the least frequently used rows beyond this number, over all devices.
  int64_t max_element_size = 0;

  // How the values of rows are stored: DT_FLOAT, DT_BFLOAT16, or DT_INT8 with a scale for each row. Pulls give float;
  // pushes compute in float and round at random, so that small updates count.
  DataType value_dtype = DT_FLOAT;
  // Above 0: each device's table takes at most this much memory, with the index of all its rows, and the rows that are
  // used least are in a file in the folder `storage_path` of the device's machine. The file ends with the process.
  int64_t memory_limit_bytes = 0;
  std::string storage_path;

  // "sum", "last_writer", or "reject": drop gradients of a row that changed more than `staleness_bound` versions after
  // it was pulled.
  std::string conflict_policy = "sum";
  int64_t staleness_bound = 0;
  // Above 0: the pushes of this many workers wait for each other, and their sum is applied once.
  int synchronous_workers = 0;

  // The wire format of keys, rows and gradients ("bf16+lz4", say; see client/wire.h); empty: the session's. Keys are
  // only compressed.
  std::string wire;
};

// The device of each part, spread evenly over `count` of them. Keys with adjacent hashes are on the same device.
std::vector<int32_t> EvenOwners(int64_t parts, int count);

// A batch of keys and their rows.
struct EmbeddingPull {
  std::vector<Output> keys;      // distinct keys, by part
  std::vector<Output> versions;  // of the parts, when they were read
  Output unique;                 // their rows, ordered by part: [distinct keys, width]
  Output idx;                    // for each key of the batch, its index in `unique`

  // Set only for an embedding with movable parts.
  Output map, epoch;               // used to divide the keys
  std::vector<std::string> tasks;  // known to the graph
  Operation arrived;               // on the map's device, when the rows have arrived: no part moves until it runs
};

// A value type; copies refer to the same rows. They are on devices like variables, and outlive the session.
class EmbeddingVariable {
 public:
  EmbeddingVariable() = default;
  // Adds the tables of an embedding named by the scope ("embedding" by default). An error is recorded in the scope.
  static EmbeddingVariable Make(const Scope& scope, EmbeddingVariableOptions options);

  const std::string& name() const { return name_; }
  const EmbeddingVariableOptions& options() const { return options_; }
  int num_parts() const { return static_cast<int>(tables_.size()); }
  Output table(int part) const { return tables_[part]; }
  // Whether its parts can move; then also the map, and the devices' names in it.
  bool moves() const { return options_.parts > 0; }
  Output map() const { return map_; }
  const std::vector<std::string>& tasks() const { return tasks_; }
  // A scope on the device of a part.
  Scope Beside(const Scope& scope, int part) const;

  // Pulls the rows of `keys` (int64, any shape): each distinct key once, from the parts in parallel. A step that pulls
  // without pushing is ABORTED if a part moves away during the step.
  EmbeddingPull Pull(const Scope& scope, const Output& keys) const;
  // The rows in the order of the batch: the shape of its keys, followed by the width.
  Output Embed(const Scope& scope, const EmbeddingPull& pull) const;
  // Applies the gradient with respect to pull.unique. Duplicates are summed here, and each part receives its own rows.
  // `global_step` (int64 scalar) determines the age of rows and Adam's step. `worker` is the pushing one of
  // synchronous_workers.
  Operation Push(const Scope& scope, const EmbeddingPull& pull, const Gradient& gradient, const Output& global_step,
                 int worker = 0) const;
  // Removes rows older than steps_to_live or seconds_to_live.
  Operation Evict(const Scope& scope, const Output& global_step) const;

  // Removes all rows.
  Operation initializer() const { return initializer_; }
  Output is_initialized() const { return is_initialized_; }
  // The number of rows.
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
