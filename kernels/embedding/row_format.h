// The numbers of an embedding's row in memory and on disk.
#pragma once

#include <cstdint>

#include "core/tensor/types.h"
#include "kernels/embedding/embedding_options.h"

namespace weir {

// Values as float, bfloat16, or int8 with one scale for the row, and then the slots as float. A value type. What Write
// stored and Read returned is stored by WriteNearest without change, so that checkpoints keep the bits.
class RowFormat {
 public:
  explicit RowFormat(const EmbeddingOptions& options);

  int64_t width() const { return width_; }
  int64_t value_bytes() const { return value_bytes_; }  // with the scale
  int64_t slot_floats() const { return slot_floats_; }
  int64_t bytes() const { return bytes_; }
  // Whether values are float, so that they may be changed in place.
  bool is_float() const { return dtype_ == DT_FLOAT; }

  // Sets `values`, [width].
  void Read(const char* row, float* values) const;
  // Rounds up or down at random, so that the mean of many roundings is the number: small updates count. The same seed,
  // key and version give the same bits. int8: a row with a number that is not finite becomes NaN.
  void Write(const float* values, int64_t key, uint64_t version, char* row) const;
  // Rounds to the nearest.
  void WriteNearest(const float* values, char* row) const;

  float* slots(char* row) const { return reinterpret_cast<float*>(row + slot_offset_); }
  const float* slots(const char* row) const { return reinterpret_cast<const float*>(row + slot_offset_); }

 private:
  DataType dtype_;
  uint64_t seed_;
  int64_t width_, value_bytes_, slot_offset_, slot_floats_, bytes_;
};

}  // namespace weir
