// Levenshtein's distance between the sequences of two sparse tensors.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/device/blocking_kernel.h"
#include "kernels/device/elements.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// Entries [begin, end), which share all indices but the last.
struct Sequence {
  absl::Span<const int64_t> key;
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

std::vector<Sequence> SequencesOf(const SparseTensor& tensor) {
  std::vector<Sequence> sequences;
  const auto key = [&tensor](int64_t i) { return tensor.index(i).first(tensor.rank() - 1); };
  for (int64_t begin = 0, end; begin < tensor.entries(); begin = end) {
    end = begin + 1;
    while (end < tensor.entries() && key(end) == key(begin)) ++end;
    sequences.push_back({key(begin), begin, end});
  }
  return sequences;
}

// Cells of the table take long to fill where both sequences are long: cancellation ends that.
template <typename Equal>
absl::StatusOr<int64_t> Distance(const OpKernelContext& ctx, int64_t n, int64_t m, Equal equal) {
  std::vector<int64_t> row(m + 1);
  std::iota(row.begin(), row.end(), 0);
  for (int64_t i = 0; i < n; ++i) {
    if (i % 64 == 0) RETURN_IF_ERROR(CheckCancelled(ctx));
    int64_t diagonal = std::exchange(row[0], i + 1);
    for (int64_t j = 0; j < m; ++j) {
      const int64_t best = equal(i, j) ? diagonal : 1 + std::min({diagonal, row[j], row[j + 1]});
      diagonal = std::exchange(row[j + 1], best);
    }
  }
  return row[m];
}

// hypothesis indices, values and shape, then truth's.
class EditDistanceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("normalize", &normalize_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckShapes(ctx));
    ASSIGN_OR_RETURN(const SparseTensor hypothesis,
                     SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2),
                                        {"hypothesis_indices", "hypothesis_values", "hypothesis_shape"}));
    ASSIGN_OR_RETURN(const SparseTensor truth, SparseTensor::Read(ctx.input(3), ctx.input(4), ctx.input(5),
                                                                  {"truth_indices", "truth_values", "truth_shape"}));
    RETURN_IF_ERROR(truth.DenseShape().status());
    RETURN_IF_ERROR(hypothesis.DenseShape().status());
    DimVector sizes;
    for (int d = 0; d + 1 < truth.rank(); ++d) sizes.push_back(std::max(truth.shape()[d], hypothesis.shape()[d]));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    std::fill_n(output->data<float>(), shape.num_elements(), 0.0f);
    return Compare(ctx, hypothesis, truth, sizes, output->data<float>());
  }

 private:
  static absl::Status CheckShapes(const OpKernelContext& ctx) {
    const auto shape = [&ctx](int i) -> const TensorShape& { return ctx.input(i).shape(); };
    static constexpr const char* kOperands[] = {"hypothesis", "truth"};
    for (int part = 0; part < 3; ++part) {
      static constexpr const char* kParts[] = {"_indices", "_values", "_shape"};
      for (int i = 0; i < 2; ++i) {
        if (shape(3 * i + part).dims() == (part == 0 ? 2 : 1)) continue;
        return errors::InvalidArgument(kOperands[i], kParts[part], " should be a ", part == 0 ? "matrix" : "vector",
                                       ", but got shape: ", shape(3 * i + part).ToString());
      }
    }
    if (shape(5).dim_size(0) < 2) {
      return errors::InvalidArgument("Input SparseTensors must have rank at least 2, but truth_shape rank is: ",
                                     shape(5).dim_size(0));
    }
    for (int i = 0; i < 2; ++i) {
      const TensorShape &indices = shape(3 * i), &values = shape(3 * i + 1), &dense = shape(3 * i + 2);
      if (values.dim_size(0) != indices.dim_size(0)) {
        return errors::InvalidArgument("Expected ", kOperands[i], "_values.NumElements == #rows(", kOperands[i],
                                       "_indices), their shapes are: ", values.ToString(), " and ", indices.ToString());
      }
      if (dense.dim_size(0) != indices.dim_size(1)) {
        return errors::InvalidArgument("Expected ", kOperands[i], "_shape.NumElements == #cols(", kOperands[i],
                                       "_indices), their shapes are: ", dense.ToString(), " and ", indices.ToString());
      }
    }
    if (shape(5).dim_size(0) != shape(2).dim_size(0)) {
      return errors::InvalidArgument("Expected truth and hypothesis to have matching ranks, but their shapes are: ",
                                     shape(5).ToString(), " and ", shape(2).ToString());
    }
    return absl::OkStatus();
  }

  absl::Status Compare(OpKernelContext& ctx, const SparseTensor& hypothesis, const SparseTensor& truth,
                       const DimVector& sizes, float* out) const {
    const DimVector steps = DenseSteps(sizes);
    const std::vector<Sequence> a = SequencesOf(hypothesis), b = SequencesOf(truth);
    for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
      const int order = i == a.size() ? 1 : j == b.size() ? -1 : CompareIndices(a[i].key, b[j].key);
      const absl::Span<const int64_t> key = order <= 0 ? a[i].key : b[j].key;
      const int64_t at = std::inner_product(key.begin(), key.end(), steps.begin(), int64_t{0});
      for (size_t d = 0; d < key.size(); ++d) {
        if (key[d] >= 0 && key[d] < sizes[d]) continue;
        return errors::Internal("Got an inner product ", at,
                                " which would require writing to outside of the buffer for the output tensor (max "
                                "elements ",
                                steps.front() * sizes.front(), "); the indices are ", IndexText(key), " of ",
                                IndexText(sizes));
      }
      if (order < 0) {
        out[at] = normalize_ ? std::numeric_limits<float>::infinity() : static_cast<float>(a[i].size());
      } else if (order > 0) {
        out[at] = normalize_ ? 1.0f : static_cast<float>(b[j].size());
      } else {
        ASSIGN_OR_RETURN(const int64_t distance, DistanceOf(ctx, hypothesis.values(), a[i], truth.values(), b[j]));
        out[at] = static_cast<float>(distance) / (normalize_ ? static_cast<float>(b[j].size()) : 1.0f);
      }
      i += order <= 0;
      j += order >= 0;
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<int64_t> DistanceOf(const OpKernelContext& ctx, const Tensor& x, const Sequence& a,
                                            const Tensor& y, const Sequence& b) {
    if (x.dtype() == DT_STRING) {
      return Distance(ctx, a.size(), b.size(), [&](int64_t i, int64_t j) {
        return x.data<tstring>()[a.begin + i] == y.data<tstring>()[b.begin + j];
      });
    }
    const size_t width = DataTypeSize(x.dtype());
    const char* const from_x = static_cast<const char*>(x.raw_data()) + a.begin * width;
    const char* const from_y = static_cast<const char*>(y.raw_data()) + b.begin * width;
    return Distance(ctx, a.size(), b.size(), [&](int64_t i, int64_t j) {
      return std::memcmp(from_x + i * width, from_y + j * width, width) == 0;
    });
  }

  bool normalize_ = true;
};

}  // namespace

absl::Status RegisterEditDistanceKernels(KernelRegistry& kernels) {
  for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8,
                        DT_UINT16, DT_UINT32, DT_UINT64, DT_BOOL, DT_STRING, DT_COMPLEX64, DT_COMPLEX128}) {
    RETURN_IF_ERROR(kernels.Register<EditDistanceKernel>(Kernel("EditDistance").Cpu().Types("T", {type})));
  }
  return absl::OkStatus();
}

}  // namespace weir
