// Nearest centers of points, and the choice of initial centers for k-means.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "kernels/candidate_sampling/cpu_candidate_sampling.h"
#include "kernels/clustering/family.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

constexpr int64_t kMostPointsWithoutWidth = 1 << 20;

absl::Status CheckRank(const Tensor& tensor, const char* name, int rank, const char* what) {
  if (tensor.dims() == rank) return absl::OkStatus();
  return errors::InvalidArgument("Input ", name, " should be a ", what, ".");
}

// Points without coordinates take no memory, so a client may send any number of them.
absl::Status CheckWidth(const Tensor& points) {
  if (points.dim_size(1) > 0 || points.dim_size(0) <= kMostPointsWithoutWidth) return absl::OkStatus();
  return errors::ResourceExhausted("There are ", points.dim_size(0), " points without coordinates; at most ",
                                   kMostPointsWithoutWidth, " are compared");
}

// The rows of a matrix of floats, and half the square of each row's length.
class Points {
 public:
  explicit Points(const Tensor& matrix)
      : data_(matrix.data<float>()), width_(matrix.dim_size(1)), half_squares_(matrix.dim_size(0)) {
    for (int64_t i = 0; i < size(); ++i) half_squares_[i] = Dot(row(i), row(i)) / 2;
  }
  int64_t size() const { return static_cast<int64_t>(half_squares_.size()); }
  const float* row(int64_t i) const { return data_ + i * width_; }
  float half_square(int64_t i) const { return half_squares_[i]; }
  float Dot(const float* x, const float* y) const {
    float sum = 0;
    for (int64_t k = 0; k < width_; ++k) sum += x[k] * y[k];
    return sum;
  }

 private:
  const float* const data_;
  const int64_t width_;
  std::vector<float> half_squares_;
};

class NearestNeighborsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &points = ctx.input(0), &centers = ctx.input(1);
    RETURN_IF_ERROR(CheckRank(points, "points", 2, "matrix"));
    RETURN_IF_ERROR(CheckRank(centers, "centers", 2, "matrix"));
    RETURN_IF_ERROR(CheckRank(ctx.input(2), "k", 0, "scalar"));
    if (points.dim_size(0) == 0) return errors::InvalidArgument("Expected points.rows() > 0.");
    if (points.dim_size(1) != centers.dim_size(1)) {
      return errors::InvalidArgument("Expected point_dimensions == center_dimensions: ", points.dim_size(1), " vs ",
                                     centers.dim_size(1), ".");
    }
    int64_t k = ctx.input(2).scalar<int64_t>();
    if (k < 0) return errors::InvalidArgument("Expected k >= 0.");
    k = std::min(k, centers.dim_size(0));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({points.dim_size(0), k}));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, shape));
    ASSIGN_OR_RETURN(Tensor * distances, ctx.allocate_output(1, shape));
    if (k == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CheckWidth(points));
    RETURN_IF_ERROR(CheckWidth(centers));
    const Points from(points), to(centers);
    ParallelRanges(ctx, from.size(), to.size() * (points.dim_size(1) + 10) * 500, [&](int64_t begin, int64_t end) {
      std::vector<std::pair<float, int64_t>> all(to.size());
      for (int64_t i = begin; i < end && CheckCancelled(ctx).ok(); ++i) {
        for (int64_t j = 0; j < to.size(); ++j) {
          all[j] = {to.half_square(j) - from.Dot(from.row(i), to.row(j)), j};
        }
        std::partial_sort(all.begin(), all.begin() + k, all.end(), Nearer);
        for (int64_t j = 0; j < k; ++j) {
          indices->data<int64_t>()[i * k + j] = all[j].second;
          distances->data<float>()[i * k + j] = 2 * (from.half_square(i) + all[j].first);
        }
      }
    });
    return CheckCancelled(ctx);
  }

 private:
  // NaN counts as the farthest, so that the order is total.
  static bool Nearer(const std::pair<float, int64_t>& a, const std::pair<float, int64_t>& b) {
    if (std::isnan(a.first) != std::isnan(b.first)) return std::isnan(b.first);
    if (!std::isnan(a.first) && a.first != b.first) return a.first < b.first;
    return a.second < b.second;
  }
};

// k-means++ (Arthur and Vassilvitskii, 2007): takes points with probabilities proportional to the squared distance from
// the points taken before.
class Seeding {
 public:
  Seeding(const Points& points, int64_t seed)
      : points_(points),
        draws_(Philox(static_cast<uint64_t>(seed))),
        nearest_(points.size(), std::numeric_limits<float>::infinity()),
        sums_(points.size()) {}

  // The best of `tries` points: the one that leaves the smallest sum of distances.
  absl::StatusOr<int64_t> Next(const OpKernelContext& ctx, int64_t tries) {
    if (!taken_.empty()) std::partial_sum(nearest_.begin(), nearest_.end(), sums_.begin());
    float least = std::numeric_limits<float>::infinity();
    int64_t best = 0;
    std::vector<float> best_nearest, nearest;
    for (int64_t i = 0; i < tries; ++i) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      const int64_t candidate = Draw();
      nearest = nearest_;
      for (int64_t j = 0; j < points_.size(); ++j) {
        const float distance = points_.half_square(j) - points_.Dot(points_.row(j), points_.row(candidate)) +
                               points_.half_square(candidate);
        nearest[j] = std::min(nearest[j], distance);
      }
      const float sum = std::accumulate(nearest.begin(), nearest.end(), 0.0f);
      if (i > 0 && !(sum < least)) continue;
      least = sum;
      best = candidate;
      best_nearest.swap(nearest);
    }
    nearest_.swap(best_nearest);
    taken_.insert(best);
    return best;
  }

 private:
  // A point that is not yet taken. If every draw hits a taken one, as for equal points, the next free one.
  int64_t Draw() {
    const uint64_t n = static_cast<uint64_t>(points_.size());
    if (taken_.empty()) return static_cast<int64_t>(draws_.Below(n));
    const float total = sums_.back();
    int64_t index = 0;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      if (total > 0) {
        const auto above = std::upper_bound(sums_.begin(), sums_.end(), draws_.SingleFraction() * total);
        index = std::min<int64_t>(above - sums_.begin(), points_.size() - 1);
      } else {
        index = static_cast<int64_t>(draws_.Below(n));
      }
      if (!taken_.contains(index)) return index;
    }
    while (taken_.contains(index)) index = (index + 1) % points_.size();
    return index;
  }

  static constexpr int kMostAttempts = 10'000;
  const Points& points_;
  Draws draws_;
  std::vector<float> nearest_;  // half the squared distance of each point from the nearest one taken
  std::vector<float> sums_;     // of `nearest_`, up to each point
  absl::flat_hash_set<int64_t> taken_;
};

class KmeansPlusPlusKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& matrix = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(matrix, "points", 2, "matrix"));
    RETURN_IF_ERROR(CheckRank(ctx.input(1), "num_to_sample", 0, "scalar"));
    RETURN_IF_ERROR(CheckRank(ctx.input(2), "seed", 0, "scalar"));
    RETURN_IF_ERROR(CheckRank(ctx.input(3), "num_retries_per_sample", 0, "scalar"));
    const int64_t rows = matrix.dim_size(0), width = matrix.dim_size(1), wanted = ctx.input(1).scalar<int64_t>();
    if (rows == 0) return errors::InvalidArgument("Expected points.rows() > 0.");
    if (wanted <= 0) return errors::InvalidArgument("Expected num_to_sample > 0.");
    if (wanted > rows) {
      return errors::InvalidArgument("Expected num_to_sample <= points.rows(). ", wanted, " vs ", rows, ".");
    }
    int64_t retries = ctx.input(3).scalar<int64_t>();
    if (retries < 0) retries = 2 + static_cast<int64_t>(std::log(static_cast<double>(wanted)));
    if (retries > kMostRetries) {
      return errors::InvalidArgument("num_retries_per_sample must be at most ", kMostRetries, ", got ", retries);
    }
    RETURN_IF_ERROR(CheckWidth(matrix));
    ASSIGN_OR_RETURN(Tensor * samples, ctx.allocate_output(0, TensorShape({wanted, width})));
    const Points points(matrix);
    Seeding seeding(points, ctx.input(2).scalar<int64_t>());
    for (int64_t i = 0; i < wanted; ++i) {
      ASSIGN_OR_RETURN(const int64_t chosen, seeding.Next(ctx, retries + 1));
      std::copy_n(points.row(chosen), width, samples->data<float>() + i * width);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kMostRetries = 1'000'000;
};

// K-MC2 (Bachem and others, 2016): a Markov chain that approximates the probabilities of k-means++.
class MarkovChainKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& distances = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(distances, "distances", 1, "vector"));
    RETURN_IF_ERROR(CheckRank(ctx.input(1), "seed", 0, "scalar"));
    const int64_t n = distances.NumElements();
    if (n == 0) return errors::InvalidArgument("Expected distances_tensor.size() > 0.");
    Draws draws(Philox(static_cast<uint64_t>(ctx.input(1).scalar<int64_t>())));
    const float* const distance = distances.data<float>();
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i) {
      if (distance[i] > draws.SingleFraction() * distance[at]) at = i;
    }
    ctx.set_output(0, Tensor::Scalar<int64_t>(at));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterClusterKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<NearestNeighborsKernel>(Kernel("NearestNeighbors").Cpu()));
  RETURN_IF_ERROR(kernels.Register<KmeansPlusPlusKernel>(Kernel("KmeansPlusPlusInitialization").Cpu()));
  return kernels.Register<MarkovChainKernel>(Kernel("KMC2ChainInitialization").Cpu());
}

}  // namespace weir
