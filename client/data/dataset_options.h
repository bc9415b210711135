// Options of datasets.
#pragma once

#include <string>
#include <vector>

#include "core/api.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_shape.h"

namespace WEIR_API weir {

// The runtime chooses the number of calls or the buffer size.
constexpr int64_t kAutotune = -1;

struct FileOptions {
  std::string compression;        // "", "GZIP" or "ZLIB"
  int64_t buffer_size = 1 << 18;  // bytes read at once
};

struct FixedLengthOptions {
  int64_t record_bytes = 0;
  int64_t header_bytes = 0, footer_bytes = 0;  // of each file, skipped
  FileOptions file;
};

struct CsvOptions {
  bool header = false;  // skip the first line of each file
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value;              // marks an empty field
  std::vector<int64_t> select_cols;  // only these, ascending; empty: all
  FileOptions file;
};

struct ParallelOptions {
  int64_t num_parallel_calls = kAutotune;
  bool deterministic = true;  // false: elements are returned in the order of completion
};

struct InterleaveOptions {
  int64_t cycle_length = 4;        // datasets open at the same time
  int64_t block_length = 1;        // consecutive elements from one dataset
  int64_t num_parallel_calls = 0;  // 0: one thread reads all
  bool deterministic = true;
};

struct BatchOptions {
  bool drop_remainder = false;     // drop a last batch that is not full
  int64_t num_parallel_calls = 0;  // 0: batches are built on request
};

struct PaddedBatchOptions {
  std::vector<PartialTensorShape> shapes;  // -1: the largest of the batch. Empty: the elements' own
  std::vector<Tensor> padding_values;      // scalars. Empty: zeros, and empty strings
  bool drop_remainder = false;
};

struct ShuffleOptions {
  int64_t seed = 0, seed2 = 0;
  bool reshuffle_each_iteration = true;
};

}  // namespace weir
