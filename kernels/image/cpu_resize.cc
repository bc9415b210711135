// Resizing batches of images [batch, rows, columns, channels], and the gradients of that.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/image/args_resize.h"
#include "kernels/image/family.h"
#include "kernels/image/resize_grid.h"

namespace weir {
namespace {

// What one output row or column takes from the input: up to four places with weights.
struct Taps {
  int count = 0;
  std::array<int64_t, 4> place{};
  std::array<float, 4> weight{};
  void Add(int64_t at, float w) {
    place[count] = at;
    weight[count++] = w;
  }
};

using Grid = ResizeGrid;
using MakeTaps = Taps (*)(const Grid&, int64_t);

Taps BilinearTaps(const Grid& grid, int64_t i) {
  const Grid::Between between = grid.Linear(i);
  Taps taps;
  taps.Add(between.low, 1 - between.share);
  taps.Add(between.high, between.share);
  return taps;
}

Taps NearestTaps(const Grid& grid, int64_t i) {
  Taps taps;
  taps.Add(grid.Nearest(i), 1);
  return taps;
}

// Keys's cubic kernel, tabulated at 1024 places. Half-pixel centers leave out what lies beyond the edge.
class CubicTable {
 public:
  static constexpr int64_t kSize = 1024;
  explicit CubicTable(double a) {
    for (int64_t i = 0; i <= kSize; ++i) {
      float x = static_cast<float>(i) * 1.0f / kSize;
      near_[i] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
      x += 1.0f;
      far_[i] = static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
    }
  }
  std::array<float, 4> Weights(int64_t offset) const {
    return {far_[offset], near_[offset], near_[kSize - offset], far_[kSize - offset]};
  }

 private:
  float near_[kSize + 1], far_[kSize + 1];
};

Taps BicubicTaps(const Grid& grid, int64_t i) {
  static const CubicTable* const legacy = new CubicTable(-0.75);
  static const CubicTable* const keys = new CubicTable(-0.5);
  const float at = grid.At(i), floor = std::floor(at);
  const int64_t first = static_cast<int64_t>(floor) - 1;
  const auto weights = (grid.centers ? keys : legacy)->Weights(std::lrint((at - floor) * CubicTable::kSize));
  Taps taps;
  float sum = 0;
  for (int j = 0; j < 4; ++j) {
    const int64_t place = grid.Clamp(first + j);
    const float weight = grid.centers && place != first + j ? 0.0f : weights[j];
    taps.Add(place, weight);
    sum += weight;
  }
  if (grid.centers && std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
    for (float& weight : taps.weight) weight /= sum;
  }
  return taps;
}

std::vector<Taps> AllTaps(const Grid& grid, MakeTaps make) {
  std::vector<Taps> all(grid.out);
  for (int64_t i = 0; i < grid.out; ++i) all[i] = make(grid, i);
  return all;
}

// ResizeBilinear and ResizeBicubic: separable, in float.
template <MakeTaps kTaps>
class InterpolateKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& in = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckResized(in));
    ASSIGN_OR_RETURN(const auto size, ReadImageSize(ctx.input(1)));
    const int64_t batch = in.dim_size(0), c = in.dim_size(3);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batch, size.first, size.second, c}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, ctx.input(0), DT_FLOAT));
    const auto rows = AllTaps(Grid::Of(in.dim_size(1), size.first, attrs_.corners, attrs_.centers), kTaps);
    const auto columns = AllTaps(Grid::Of(in.dim_size(2), size.second, attrs_.corners, attrs_.centers), kTaps);
    const int64_t in_row = in.dim_size(2) * c, out_row = size.second * c;
    const int64_t cost = kTaps == &BilinearTaps ? 500 + 5'000 / c : 20'000;
    ParallelRanges(ctx, batch * size.first, out_row * cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Taps& row = rows[i % size.first];
        const float* const plane = image.data<float>() + i / size.first * in.dim_size(1) * in_row;
        for (int64_t x = 0; x < size.second; ++x) {
          Pixel(plane, row, columns[x], in_row, c, output->data<float>() + i * out_row + x * c);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static void Pixel(const float* plane, const Taps& row, const Taps& column, int64_t in_row, int64_t c, float* out) {
    const auto at = [&](int y, int x) { return plane + row.place[y] * in_row + column.place[x] * c; };
    if constexpr (kTaps == &BilinearTaps) {
      const float *const top_left = at(0, 0), *const top_right = at(0, 1);
      const float *const bottom_left = at(1, 0), *const bottom_right = at(1, 1);
      const float right = column.weight[1], down = row.weight[1];
      WEIR_INDEPENDENT_ITERATIONS
      for (int64_t k = 0; k < c; ++k) {
        const float top = top_left[k] + (top_right[k] - top_left[k]) * right;
        const float bottom = bottom_left[k] + (bottom_right[k] - bottom_left[k]) * right;
        out[k] = top + (bottom - top) * down;
      }
    } else {
      for (int64_t k = 0; k < c; ++k) {
        float sum = 0;
        for (int x = 0; x < 4; ++x) {
          float vertical = 0;
          for (int y = 0; y < 4; ++y) vertical += at(y, x)[k] * row.weight[y];
          sum += vertical * column.weight[x];
        }
        out[k] = sum;
      }
    }
  }

  ResizeAttrs attrs_;
};

// Copies elements of any plain type.
class NearestKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    const TensorShape& in = image.shape();
    RETURN_IF_ERROR(CheckResized(in));
    ASSIGN_OR_RETURN(const auto size, ReadImageSize(ctx.input(1)));
    const int64_t batch = in.dim_size(0);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batch, size.first, size.second, in.dim_size(3)}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const auto rows = AllTaps(Grid::Of(in.dim_size(1), size.first, attrs_.corners, attrs_.centers), NearestTaps);
    const auto columns = AllTaps(Grid::Of(in.dim_size(2), size.second, attrs_.corners, attrs_.centers), NearestTaps);
    const int64_t pixel = in.dim_size(3) * static_cast<int64_t>(DataTypeSize(image.dtype()));
    const char* const from = static_cast<const char*>(image.raw_data());
    char* const to = static_cast<char*>(output->raw_data());
    ParallelRanges(ctx, batch * size.first, size.second * (2'000 + pixel * 100), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / size.first * in.dim_size(1) + rows[i % size.first].place[0];
        for (int64_t x = 0; x < size.second; ++x) {
          std::copy_n(from + (row * in.dim_size(2) + columns[x].place[0]) * pixel, pixel,
                      to + (i * size.second + x) * pixel);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  ResizeAttrs attrs_;
};

// Each gradient goes to the places that its pixel was made from, with their weights. Input 1: the original image, or
// its size.
template <MakeTaps kTaps>
class ResizeGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& grads = ctx.input(0).shape();
    ASSIGN_OR_RETURN(const TensorShape shape,
                     kTaps == &NearestTaps ? OriginalOfSize(grads, ctx.input(1)) : OriginalOf(grads, ctx.input(1)));
    ASSIGN_OR_RETURN(const Tensor gradient, ConvertTensor(ctx, ctx.input(0), DT_DOUBLE));
    ASSIGN_OR_RETURN(Tensor sums, ctx.allocate_temp(DT_DOUBLE, shape));
    std::fill_n(sums.data<double>(), sums.NumElements(), 0.0);
    const auto rows = AllTaps(Grid::Of(shape.dim_size(1), grads.dim_size(1), attrs_.corners, attrs_.centers), kTaps);
    const auto columns = AllTaps(Grid::Of(shape.dim_size(2), grads.dim_size(2), attrs_.corners, attrs_.centers), kTaps);
    const int64_t c = shape.dim_size(3);
    for (int64_t i = 0; i < gradient.NumElements() / c; ++i) {
      const int64_t b = i / (grads.dim_size(1) * grads.dim_size(2));
      const Taps& row = rows[i / grads.dim_size(2) % grads.dim_size(1)];
      const Taps& column = columns[i % grads.dim_size(2)];
      const double* const g = gradient.data<double>() + i * c;
      for (int y = 0; y < row.count; ++y) {
        for (int x = 0; x < column.count; ++x) {
          const double weight = static_cast<double>(row.weight[y]) * column.weight[x];
          double* const to =
              sums.data<double>() + ((b * shape.dim_size(1) + row.place[y]) * shape.dim_size(2) + column.place[x]) * c;
          for (int64_t k = 0; k < c; ++k) to[k] += weight * g[k];
        }
      }
    }
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, sums, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(narrow));
    return absl::OkStatus();
  }

 private:
  ResizeAttrs attrs_;
};

// The mean over the part of the input that a pixel covers; edges count by their share.
class AreaKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& in = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckResized(in));
    ASSIGN_OR_RETURN(const auto size, ReadImageSize(ctx.input(1)));
    const int64_t c = in.dim_size(3);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({in.dim_size(0), size.first, size.second, c}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, ctx.input(0), DT_FLOAT));
    const Grid rows = Grid::Of(in.dim_size(1), size.first, attrs_.corners, false),
               columns = Grid::Of(in.dim_size(2), size.second, attrs_.corners, false);
    const float whole = 1.0f / (rows.scale * columns.scale);
    const double covered = (rows.scale + 2.0) * (columns.scale + 2.0);
    ParallelRanges(ctx, in.dim_size(0) * size.first,
                   static_cast<int64_t>(std::min(1e15, covered * 2'000 * static_cast<double>(size.second * c))),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const float* const plane =
                           image.data<float>() + i / size.first * in.dim_size(1) * in.dim_size(2) * c;
                       for (int64_t x = 0; x < size.second; ++x) {
                         float* const out = output->data<float>() + (i * size.second + x) * c;
                         std::fill_n(out, c, 0.0f);
                         Cover(rows, i % size.first, [&](int64_t row, float row_weight) {
                           Cover(columns, x, [&](int64_t column, float weight) {
                             const float* const from = plane + (row * in.dim_size(2) + column) * c;
                             for (int64_t k = 0; k < c; ++k) out[k] += from[k] * row_weight * weight * whole;
                           });
                         });
                       }
                     }
                   });
    return absl::OkStatus();
  }

 private:
  template <typename Fn>
  static void Cover(const Grid& grid, int64_t i, Fn fn) {
    const float from = static_cast<float>(i) * grid.scale, to = static_cast<float>(i + 1) * grid.scale;
    for (int64_t at = static_cast<int64_t>(std::floor(from)); at < static_cast<int64_t>(std::ceil(to)); ++at) {
      const float low = static_cast<float>(at), high = low + 1;
      fn(grid.Clamp(at), std::min(high, to) - std::max(low, from));
    }
  }

  ResizeAttrs attrs_;
};

}  // namespace

absl::Status RegisterImageResizeKernels(KernelRegistry& kernels) {
  const DataTypeVector reals = {DT_FLOAT, DT_DOUBLE, DT_HALF,  DT_BFLOAT16, DT_INT8,
                                DT_INT16, DT_INT32,  DT_INT64, DT_UINT8,    DT_UINT16};
  const auto of = [&](const char* op) { return Kernel(op).Cpu().Types("T", reals).HostMemory("size"); };
  RETURN_IF_ERROR(kernels.Register<InterpolateKernel<&BilinearTaps>>(of("ResizeBilinear")));
  RETURN_IF_ERROR(kernels.Register<InterpolateKernel<&BicubicTaps>>(of("ResizeBicubic")));
  RETURN_IF_ERROR(kernels.Register<NearestKernel>(of("ResizeNearestNeighbor")));
  RETURN_IF_ERROR(kernels.Register<AreaKernel>(of("ResizeArea")));
  RETURN_IF_ERROR(kernels.Register<ResizeGradKernel<&BilinearTaps>>(Kernel("ResizeBilinearGrad").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ResizeGradKernel<&BicubicTaps>>(Kernel("ResizeBicubicGrad").Cpu()));
  return kernels.Register<ResizeGradKernel<&NearestTaps>>(Kernel("ResizeNearestNeighborGrad").Cpu().HostMemory("size"));
}

}  // namespace weir
