// Pooling over regions whose sizes vary so that they shrink an image by a fraction (Graham, 2014).
#include <cmath>
#include <limits>
#include <vector>

#include "core/kernel/determinism.h"
#include "core/random_bits.h"
#include "kernels/device/parallel.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/pooling/family.h"
#include "kernels/random/random_fill.h"

namespace weir {
namespace {

// Draws the bounds of `out` regions that cover `in` places.
class RegionMaker {
 public:
  RegionMaker(bool pseudo_random, int64_t seed, int64_t seed2) : pseudo_(pseudo_random) {
    if (seed == 0 && seed2 == 0) {
      seed = static_cast<int64_t>(RandomBits());
      seed2 = static_cast<int64_t>(RandomBits());
    }
    stream_ = Philox(seed, seed2);
  }

  std::vector<int64_t> Make(int64_t in, int64_t out) {
    std::vector<int64_t> sizes(out, in / out);
    if (in % out != 0) pseudo_ ? PseudoRandom(in, &sizes) : Random(in, &sizes);
    std::vector<int64_t> bounds(out + 1, 0);
    for (int64_t i = 0; i < out; ++i) bounds[i + 1] = bounds[i] + sizes[i];
    return bounds;
  }

 private:
  Philox Reserve(uint64_t groups) {
    const Philox mine = stream_;
    stream_.Skip(groups);
    return mine;
  }

  void PseudoRandom(int64_t in, std::vector<int64_t>* sizes) {
    const int64_t out = static_cast<int64_t>(sizes->size()), k = in / out;
    const double alpha = static_cast<double>(in) / static_cast<double>(out);
    const double most = std::min((static_cast<double>(k) + 2) / alpha - 1,
                                 static_cast<double>(in + 1 - k) / alpha - static_cast<double>(out - 1));
    SingleSamples words(Reserve(1));
    const uint32_t high = words.Next(), low = words.Next();
    const double u = UniformDouble(high, low) * most;
    int64_t before = 1;
    for (int64_t i = 0; i < out; ++i) {
      const int64_t next =
          i + 1 == out ? in + 1 : static_cast<int64_t>(std::ceil(alpha * (static_cast<double>(i + 1) + u)));
      (*sizes)[i] = next - before;
      before = next;
    }
  }

  void Random(int64_t in, std::vector<int64_t>* sizes) {
    const int64_t out = static_cast<int64_t>(sizes->size());
    for (int64_t i = 0; i < in % out; ++i) ++(*sizes)[i];
    SingleSamples words(Reserve((out + 3) / 4));
    for (int64_t i = 0; i + 1 < out; ++i) {
      std::swap((*sizes)[i], (*sizes)[i + words.Next() % static_cast<uint32_t>(out - i)]);
    }
  }

  const bool pseudo_;
  Philox stream_;
};

// The regions of one dimension, from a sequence of bounds over `in` places. Bounds that do not grow make empty regions;
// bounds beyond the last place are cut off there.
struct Regions {
  // `axis`: "row" or "col".
  static absl::StatusOr<Regions> Read(const Tensor& sequence, const TensorShape& gradient, int dim, int64_t in,
                                      const std::string& axis) {
    const int64_t out = gradient.dim_size(dim);
    if (sequence.NumElements() < out + 1) {
      return errors::InvalidArgument("Given out_backprop shape ", gradient.ToString(), ", ", axis,
                                     "_seq_tensor must have at least ", out + 1, " elements, but got ",
                                     sequence.NumElements());
    }
    Regions regions{std::vector<int64_t>(sequence.data<int64_t>(), sequence.data<int64_t>() + out + 1), in};
    for (int64_t& bound : regions.bounds) {
      if (bound < 0) {
        return errors::InvalidArgument(axis == "row" ? "Row" : "Column",
                                       " sequence tensor values must not be negative, got ", bound);
      }
      bound = std::min(bound, in);
    }
    return regions;
  }
  int64_t size() const { return static_cast<int64_t>(bounds.size()) - 1; }
  int64_t begin(int64_t i) const { return bounds[i]; }
  int64_t end(int64_t i, bool overlapping) const { return std::min(in, bounds[i + 1] + (overlapping ? 1 : 0)); }

  std::vector<int64_t> bounds;
  int64_t in;
};

// fn(place in the output, place in the input) of every place in every region, both without channels.
template <typename Fn>
void EachPlace(int64_t batch, const Regions& rows, const Regions& columns, bool overlapping, Fn fn) {
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < rows.size(); ++i) {
      for (int64_t j = 0; j < columns.size(); ++j) {
        for (int64_t y = rows.begin(i); y < rows.end(i, overlapping); ++y) {
          for (int64_t x = columns.begin(j); x < columns.end(j, overlapping); ++x) {
            fn((b * rows.size() + i) * columns.size() + j, (b * rows.in + y) * columns.in + x);
          }
        }
      }
    }
  }
}

template <typename T, bool kMax>
class FractionalPoolKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("pooling_ratio", &ratio_));
    RETURN_IF_ERROR(ctx.GetAttr("pseudo_random", &pseudo_random_));
    RETURN_IF_ERROR(ctx.GetAttr("overlapping", &overlapping_));
    bool deterministic;
    RETURN_IF_ERROR(ctx.GetAttr("deterministic", &deterministic));
    RETURN_IF_ERROR(ctx.GetAttr("seed", &seed_));
    RETURN_IF_ERROR(ctx.GetAttr("seed2", &seed2_));
    if (ratio_.size() != 4) return errors::InvalidArgument("pooling_ratio field must specify 4 dimensions");
    for (float ratio : ratio_) {
      if (!(ratio >= 1)) return errors::InvalidArgument("pooling_ratio cannot be smaller than 1, got: ", ratio);
    }
    if (ratio_[0] != 1 || ratio_[3] != 1) {
      return errors::Unimplemented("Fractional ", kMax ? "max" : "average",
                                   " pooling is not yet supported on the batch nor channel dimension.");
    }
    if (!deterministic && (seed_ != 0 || seed2_ != 0)) {
      return errors::InvalidArgument("Both seed and seed2 should be 0 if deterministic is false.");
    }
    RETURN_IF_ERROR(CheckSeeds(ctx.node_def(), seed_, seed2_));
    if (deterministic && seed_ == 0 && seed2_ == 0) {
      seed_ = static_cast<int64_t>(RandomBits());
      seed2_ = static_cast<int64_t>(RandomBits());
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != 4) return errors::InvalidArgument("tensor_in must be 4-dimensional");
    for (int d = 0; d < 4; ++d) {
      if (static_cast<float>(input.dim_size(d)) >= ratio_[d]) continue;
      return errors::InvalidArgument("Pooling ratio is higher than input dimension size for dimension ", d,
                                     ". Input dim size: ", input.dim_size(d), " pooling ratio: ", ratio_[d]);
    }
    int64_t out[2];
    for (int d : {0, 1}) {
      out[d] = static_cast<int64_t>(std::floor(static_cast<float>(input.dim_size(1 + d)) / ratio_[1 + d]));
    }
    RegionMaker maker(pseudo_random_, seed_, seed2_);
    const Regions rows{maker.Make(input.dim_size(1), out[0]), input.dim_size(1)};
    const Regions columns{maker.Make(input.dim_size(2), out[1]), input.dim_size(2)};
    const int64_t depth = input.dim_size(3);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({input.dim_size(0), out[0], out[1], depth})));
    ctx.set_output(1, Tensor::Vector<int64_t>(rows.bounds));
    ctx.set_output(2, Tensor::Vector<int64_t>(columns.bounds));
    T* const to = output->data<T>();
    std::fill_n(to, output->NumElements(), kMax ? std::numeric_limits<T>::lowest() : T(0));
    EachPlace(input.dim_size(0), rows, columns, overlapping_, [&](int64_t o, int64_t i) {
      const T* const from = input.data<T>() + i * depth;
      for (int64_t k = 0; k < depth; ++k) {
        T& x = to[o * depth + k];
        x = kMax ? std::max(x, from[k]) : functor::Add()(x, from[k]);
      }
    });
    if (!kMax) Divide(rows, columns, output);
    return absl::OkStatus();
  }

 private:
  void Divide(const Regions& rows, const Regions& columns, Tensor* sums) const {
    T* x = sums->data<T>();
    for (int64_t b = 0; b < sums->dim_size(0); ++b) {
      for (int64_t i = 0; i < rows.size(); ++i) {
        for (int64_t j = 0; j < columns.size(); ++j) {
          const int64_t count =
              (rows.end(i, overlapping_) - rows.begin(i)) * (columns.end(j, overlapping_) - columns.begin(j));
          for (int64_t k = 0; k < sums->dim_size(3); ++k, ++x) *x = static_cast<T>(*x / static_cast<T>(count));
        }
      }
    }
  }

  std::vector<float> ratio_;
  bool pseudo_random_ = false, overlapping_ = false;
  int64_t seed_ = 0, seed2_ = 0;
};

// FractionalMaxPoolGrad: orig_input, orig_output, out_backprop, two sequences. FractionalAvgPoolGrad: the shape of the
// input, out_backprop, two sequences.
template <typename T, bool kMax>
class FractionalPoolGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("overlapping", &overlapping_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& gradient = ctx.input(kMax ? 2 : 1);
    if (gradient.dims() != 4) {
      return errors::InvalidArgument("out_backprop must be 4-dimensional, got shape ", gradient.shape().ToString());
    }
    TensorShape shape = ctx.input(0).shape();
    if (kMax) {
      const char* const names[] = {"orig_input", "orig_output"};
      for (int i = 0; i < 2; ++i) {
        if (ctx.input(i).dims() == 4) continue;
        return errors::InvalidArgument(names[i], " should be a tensor of rank 4, got shape ",
                                       ctx.input(i).shape().ToString());
      }
      for (int i = 0; i < 2; ++i) {
        if (ctx.input(i).NumElements() > 0) continue;
        return errors::InvalidArgument(names[i],
                                       " must not be empty, got Tensor<type: ", DataTypeName(ctx.input(i).dtype()),
                                       " shape: ", ctx.input(i).shape().ToString(), " values: >");
      }
      for (int i = 0; i < 2; ++i) {
        if (ctx.input(3 + i).dims() == 1) continue;
        return errors::InvalidArgument(i == 0 ? "row" : "col", "_pooling_sequence must be a vector, received shape ",
                                       ctx.input(3 + i).shape().ToString());
      }
    } else {
      const Tensor& sizes = ctx.input(0);
      if (sizes.dims() != 1 || sizes.NumElements() != 4) {
        return errors::InvalidArgument("original input tensor shape must be1-dimensional and 4 elements, got shape ",
                                       sizes.shape().ToString());
      }
      ASSIGN_OR_RETURN(shape, TensorShape::Build(absl::MakeConstSpan(sizes.data<int64_t>(), 4)));
      for (const int64_t size : gradient.shape().dim_sizes()) {
        if (size > 0) continue;
        return errors::InvalidArgument("out_backprop must be positive for all dimension, got:", size);
      }
    }
    if (shape.dim_size(0) != gradient.dim_size(0) || shape.dim_size(3) != gradient.dim_size(3)) {
      return errors::InvalidArgument("out_backprop must have the batch and channels of the input: ",
                                     gradient.shape().ToString(), " and ", shape.ToString());
    }
    if (kMax && ctx.input(1).shape() != gradient.shape()) {
      return errors::InvalidArgument("orig_output and out_backprop must have one shape: ",
                                     ctx.input(1).shape().ToString(), " and ", gradient.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Regions rows,
                     Regions::Read(ctx.input(kMax ? 3 : 2), gradient.shape(), 1, shape.dim_size(1), "row"));
    ASSIGN_OR_RETURN(const Regions columns,
                     Regions::Read(ctx.input(kMax ? 4 : 3), gradient.shape(), 2, shape.dim_size(2), "col"));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    if (kMax) return MaxGradient(ctx.input(0), ctx.input(1), gradient, rows, columns, output);
    return AverageGradient(ctx, gradient, rows, columns, output);
  }

 private:
  // To the first of the greatest in each region.
  absl::Status MaxGradient(const Tensor& input, const Tensor& pooled, const Tensor& gradient, const Regions& rows,
                           const Regions& columns, Tensor* output) const {
    const int64_t depth = input.dim_size(3);
    std::vector<int64_t> best(gradient.NumElements(), -1);
    const T* const x = input.data<T>();
    EachPlace(input.dim_size(0), rows, columns, overlapping_, [&](int64_t o, int64_t i) {
      for (int64_t k = 0; k < depth; ++k) {
        int64_t& place = best[o * depth + k];
        if (place < 0 || x[place] < x[i * depth + k]) place = i * depth + k;
      }
    });
    T* const to = output->data<T>();
    std::fill_n(to, output->NumElements(), T(0));
    for (int64_t i = 0; i < gradient.NumElements(); ++i) {
      if (best[i] < 0 || !(x[best[i]] == pooled.data<T>()[i])) {
        return errors::InvalidArgument("tensor_out_dup is not the same as tensor_out");
      }
      to[best[i]] += gradient.data<T>()[i];
    }
    return absl::OkStatus();
  }

  absl::Status AverageGradient(OpKernelContext& ctx, const Tensor& gradient, const Regions& rows,
                               const Regions& columns, Tensor* output) const {
    const int64_t depth = gradient.dim_size(3);
    ASSIGN_OR_RETURN(Tensor sums, ctx.allocate_temp(DT_DOUBLE, output->shape()));
    double* const to = sums.data<double>();
    std::fill_n(to, sums.NumElements(), 0.0);
    EachPlace(gradient.dim_size(0), rows, columns, overlapping_, [&](int64_t o, int64_t i) {
      const int64_t row = o / columns.size() % rows.size(), column = o % columns.size();
      const int64_t count =
          (rows.end(row, overlapping_) - rows.begin(row)) * (columns.end(column, overlapping_) - columns.begin(column));
      for (int64_t k = 0; k < depth; ++k) {
        to[i * depth + k] += static_cast<double>(gradient.data<T>()[o * depth + k]) / static_cast<double>(count);
      }
    });
    for (int64_t i = 0; i < sums.NumElements(); ++i) output->data<T>()[i] = static_cast<T>(to[i]);
    return absl::OkStatus();
  }

  bool overlapping_ = false;
};

template <typename T>
absl::Status RegisterFor(KernelRegistry& kernels) {
  RETURN_IF_ERROR((kernels.Register<FractionalPoolKernel<T, true>>(Kernel("FractionalMaxPool").Cpu().Type<T>("T"))));
  RETURN_IF_ERROR((kernels.Register<FractionalPoolKernel<T, false>>(Kernel("FractionalAvgPool").Cpu().Type<T>("T"))));
  RETURN_IF_ERROR(
      (kernels.Register<FractionalPoolGradKernel<T, true>>(Kernel("FractionalMaxPoolGrad").Cpu().Type<T>("T"))));
  return kernels.Register<FractionalPoolGradKernel<T, false>>(Kernel("FractionalAvgPoolGrad").Cpu().Type<T>("T"));
}

}  // namespace

absl::Status RegisterFractionalPoolingKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterFor<float>(kernels));
  RETURN_IF_ERROR(RegisterFor<double>(kernels));
  RETURN_IF_ERROR(RegisterFor<int32_t>(kernels));
  return RegisterFor<int64_t>(kernels);
}

}  // namespace weir
