// Options of an embedding table.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor/types.h"

namespace weir {

// The rule by which pushes change rows; it sets the number of slots of a row.
enum class EmbeddingRule { kNone, kGradientDescent, kAdagrad, kAdam, kFtrl };

enum class EmbeddingInitializer { kConstant, kUniform, kNormal, kTruncatedNormal };

struct EmbeddingOptions {
  std::string name;
  int64_t width = 0;
  EmbeddingRule rule = EmbeddingRule::kGradientDescent;
  float initial_accumulator_value = 0;  // of Adagrad's and Ftrl's accumulators

  // A constant (a), uniform in [a, b), or normal with mean a and deviation b. A key's values depend on the seed and the
  // key alone.
  EmbeddingInitializer initializer = EmbeddingInitializer::kConstant;
  float a = 0, b = 0;
  int64_t seed = 0;

  // A key gets a row with its push number `filter_freq`, as an approximate counter counts them, and then with
  // `filter_probability`. Pulls of keys without a row give `default_value_no_permission` where there is such a filter,
  // else the initial values.
  int64_t filter_freq = 0, filter_counters = 0;
  float filter_probability = 1, default_value_no_permission = 0;

  // Rows that no push named for longer are evicted; 0: never. At most one of the two is set.
  int64_t steps_to_live = 0, seconds_to_live = 0;
  // The rows of the lowest frequency are evicted before there are more than this; 0: no bound.
  int64_t max_element_size = 0;

  // Above 0: keys are divided into so many parts, of which this table holds those assigned to it.
  static constexpr int64_t kMaxParts = 4096;
  int64_t parts = 0;

  // How values are stored: DT_FLOAT, DT_BFLOAT16, or DT_INT8 with a scale for each row. Slots are float.
  DataType value_dtype = DT_FLOAT;

  // Above 0: rows beyond so many bytes of memory, with the index of all rows, are in a file in the folder
  // `storage_path`.
  static constexpr int64_t kLeastMemoryLimit = 64 << 10;
  int64_t memory_limit_bytes = 0;
  std::string storage_path;

  int slots() const {
    switch (rule) {
      case EmbeddingRule::kAdagrad:
        return 1;
      case EmbeddingRule::kAdam:
      case EmbeddingRule::kFtrl:
        return 2;
      default:
        return 0;
    }
  }
  bool filters() const { return filter_freq > 1 || filter_probability < 1; }
  bool expires() const { return steps_to_live > 0 || seconds_to_live > 0; }

  friend bool operator==(const EmbeddingOptions&, const EmbeddingOptions&) = default;
};

}  // namespace weir
