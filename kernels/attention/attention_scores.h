// The scores of a block of queries, for attention and its gradient on CPUs.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/attention/args.h"
#include "kernels/device/float16.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {

// x = x scale + mask; `step` is 0 where one number of the mask stands for all.
void ScaleAndMask(float* x, float scale, const float* mask, int64_t step, int64_t n);

// Where a tensor's matrix of batch `item` begins.
int64_t BeginOf(int64_t item, const DimVector& batch, const DimVector& steps);

template <typename T>
class AttentionScores {
 public:
  static constexpr bool kIsFloat = std::is_same_v<T, float>;

  // `sizes` outlive it. `mask` may be null.
  AttentionScores(const AttentionSizes& sizes, bool transpose_k, float scale, Gemm gemm, const T* q, const T* k,
                  const T* mask)
      : s_(sizes), transpose_k_(transpose_k), scale_(scale), gemm_(gemm), q_(q), k_(k), mask_(mask) {
    for (const int64_t size : s_.batch) num_items_ *= size;
  }

  // Of scores, that a thread holds; rows of keys are never cut.
  static constexpr int64_t kBlockElements = 256 << 10;
  static constexpr int64_t kMostRows = 128;

  int64_t num_items() const { return num_items_; }
  // Of a block: at most.
  int64_t rows() const { return rows_; }
  // Of each item.
  int64_t num_blocks() const { return (s_.queries + rows_ - 1) / rows_; }
  const T* queries(int64_t item, int64_t first) const {
    return q_ + BeginOf(item, s_.batch, s_.q_batch) + first * s_.q_row;
  }
  const T* keys(int64_t item) const { return k_ + BeginOf(item, s_.batch, s_.k_batch); }

  // Buffers of one thread.
  struct Scratch {
    std::vector<float> scores, mask;  // scores: [rows, keys]
    std::vector<T> products;          // where they are not the scores' memory
  };

  // Of queries `first` on, with scale and mask, to scratch->scores.
  void Compute(int64_t item, int64_t first, int64_t rows, Scratch* scratch) const {
    scratch->scores.resize(static_cast<size_t>(rows_ * s_.keys));
    const T* const products = Multiply(item, first, rows, scratch);
    for (int64_t i = 0; i < rows; ++i) {
      Spread(products, i, scratch->scores.data() + i * s_.keys);
      AddMask(item, first + i, scratch->scores.data() + i * s_.keys, scratch);
    }
  }

 private:
  // q k', of as many rows and keys as there are: a single one stands for all.
  const T* Multiply(int64_t item, int64_t first, int64_t rows, Scratch* scratch) const {
    const int64_t m = s_.q_row == 0 ? 1 : rows, n = s_.k_key == 0 ? 1 : s_.keys;
    T* products = nullptr;
    if constexpr (kIsFloat) {
      if (m == rows && n == s_.keys) products = scratch->scores.data();
    }
    if (products == nullptr) {
      scratch->products.resize(static_cast<size_t>(m * n));
      products = scratch->products.data();
    }
    gemm_({.transpose_b = transpose_k_,
           .m = m,
           .n = n,
           .k = s_.depth,
           .a = queries(item, first),
           .lda = s_.depth,
           .b = keys(item),
           .ldb = transpose_k_ ? s_.depth : n,
           .c = products,
           .ldc = n});
    return products;
  }

  void Spread(const T* products, int64_t i, float* row) const {
    const int64_t at = s_.q_row == 0 ? 0 : i * (s_.k_key == 0 ? 1 : s_.keys);
    if (s_.k_key == 0) {
      std::fill_n(row, s_.keys, static_cast<float>(products[at]));
    } else if constexpr (kIsFloat) {
      if (row != products + at) std::copy_n(products + at, s_.keys, row);
    } else {
      ToFloats(products + at, row, s_.keys);
    }
  }

  void AddMask(int64_t item, int64_t query, float* row, Scratch* scratch) const {
    if (mask_ == nullptr) return ScaleAndMask(row, scale_, nullptr, 0, s_.keys);
    const T* const mask = mask_ + BeginOf(item, s_.batch, s_.mask_batch) + query * s_.mask_row;
    if constexpr (kIsFloat) {
      ScaleAndMask(row, scale_, mask, s_.mask_key, s_.keys);
    } else {
      const int64_t n = s_.mask_key == 0 ? 1 : s_.keys;
      scratch->mask.resize(static_cast<size_t>(n));
      ToFloats(mask, scratch->mask.data(), n);
      ScaleAndMask(row, scale_, scratch->mask.data(), s_.mask_key, s_.keys);
    }
  }

  const AttentionSizes& s_;
  const bool transpose_k_;
  const float scale_;
  const Gemm gemm_;
  const T *const q_, *const k_, *const mask_;
  int64_t num_items_ = 1;
  const int64_t rows_ = std::clamp<int64_t>(kBlockElements / std::max<int64_t>(s_.keys, 1), 1,
                                            std::max<int64_t>(1, std::min(kMostRows, s_.queries)));
};

}  // namespace weir
