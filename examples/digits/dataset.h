// The UCI optical digits: 1,797 images of 8x8 pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/core/status.h"
#include "weir/core/tensor/tensor.h"

namespace weir::digits {

constexpr int kPixels = 64;
constexpr int kClasses = 10;

struct Batch {
  Tensor images;  // float [n, 64], in [0, 1]
  Tensor labels;  // int32 [n]
};

// Split once, by a fixed shuffle: four fifths for training, one fifth for testing.
class Dataset {
 public:
  // Reads lines "p0,…,p63,label". DataLoss names file and line if one is malformed.
  static absl::StatusOr<Dataset> Load(const std::string& path);

  // `size` training examples for `replica` of `replicas` in step `step`. Depends only on its arguments: each epoch is a
  // new shuffle, and a step's replicas get disjoint examples.
  Batch TrainingBatch(int64_t step, int replica, int replicas, int size) const;
  Batch TestSet() const { return Gather(test_); }
  int64_t num_training() const { return static_cast<int64_t>(train_.size()); }

 private:
  Batch Gather(const std::vector<int>& rows) const;

  std::vector<float> pixels_;
  std::vector<int32_t> labels_;
  std::vector<int> train_, test_;
};

}  // namespace weir::digits
