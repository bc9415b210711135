// An accumulator of gradients that are rows of a tensor. Both sides of an addition are taken to be in the order of
// their rows; the mean of a row is over the gradients that have it.
#include "kernels/coordination/accumulator.h"
#include "kernels/device/elements.h"
#include "kernels/state/update_loops.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

template <typename... Args>
absl::Status Mismatch(const Args&... args) {
  return errors::InvalidArgument("Shape mismatch: ", args...);
}

class SparseAccumulator : public ConditionalAccumulator {
 public:
  using ConditionalAccumulator::ConditionalAccumulator;

 protected:
  absl::Status Check(const Gradient& gradient) const override {
    const Tensor& values = gradient.values;
    if (values.dims() < 1) return errors::InvalidArgument("Values cannot be 0-dimensional.");
    if (static_cast<int64_t>(gradient.rows.size()) != values.dim_size(0)) {
      return errors::InvalidArgument("Expected gradient_indices and gradient_values to have as many rows, got ",
                                     gradient.rows.size(), " and ", values.dim_size(0));
    }
    RETURN_IF_ERROR(CheckShapeAndRows(gradient));
    const bool started = count_ > 0;
    const PartialTensorShape expected = started ? PartialTensorShape(sum_.values.shape()) : options_.shape;
    if (started && expected.dims() != values.dims()) {
      return Mismatch("expected values rank ", expected.dims(), ", got ", values.dims());
    }
    if (expected.dims() > values.dims()) {
      return Mismatch("expected values rank at least ", expected.dims(), ", got ", values.dims());
    }
    for (int i = 1; i < expected.dims(); ++i) {
      if (expected.dim_size(i) >= 0 && expected.dim_size(i) != values.dim_size(i)) {
        return Mismatch("expected values dim ", i, " to be ", expected.dim_size(i), ", got ", values.dim_size(i));
      }
    }
    return absl::OkStatus();
  }

  void Start(Gradient gradient) override {
    counts_.assign(gradient.rows.size(), 1);
    ConditionalAccumulator::Start(std::move(gradient));
  }

  absl::Status Add(OpKernelContext& ctx, Gradient gradient) override {
    struct Source {
      int64_t here = -1, there = -1;
    };
    const std::vector<int64_t>& here = sum_.rows;
    const std::vector<int64_t>& there = gradient.rows;
    std::vector<Source> sources;
    for (size_t i = 0, j = 0; i < here.size() || j < there.size();) {
      const bool from_here = i < here.size() && (j == there.size() || here[i] <= there[j]);
      const bool from_there = j < there.size() && (i == here.size() || there[j] <= here[i]);
      Source source;
      if (from_here) source.here = static_cast<int64_t>(i++);
      if (from_there) source.there = static_cast<int64_t>(j++);
      sources.push_back(source);
    }
    TensorShape shape = gradient.values.shape();
    RETURN_IF_ERROR(shape.SetDim(0, static_cast<int64_t>(sources.size())));
    Gradient sum;
    ASSIGN_OR_RETURN(sum.values, ctx.allocate_temp(options_.dtype, shape));
    std::vector<int64_t> counts;
    const int64_t width = Width(shape), bytes = width * static_cast<int64_t>(DataTypeSize(options_.dtype));
    const UpdateLoop add = FindUpdateLoop(UpdateOp::kAdd, options_.dtype);
    const auto at = [bytes](const Tensor& t, int64_t row) { return static_cast<char*>(t.raw_data()) + row * bytes; };
    for (const Source& source : sources) {
      char* const to = at(sum.values, static_cast<int64_t>(counts.size()));
      const bool both = source.here >= 0 && source.there >= 0;
      if (source.here >= 0) {
        CopyElements(options_.dtype, to, at(sum_.values, source.here), width);
        if (both) add(to, at(gradient.values, source.there), 1, width);
        sum.rows.push_back(here[source.here]);
        counts.push_back(counts_[source.here] + (both ? 1 : 0));
      } else {
        CopyElements(options_.dtype, to, at(gradient.values, source.there), width);
        sum.rows.push_back(there[source.there]);
        counts.push_back(1);
      }
    }
    sum_ = std::move(sum);
    counts_ = std::move(counts);
    return absl::OkStatus();
  }

  absl::Status Divide(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(EnsureExclusive(sum_.values, ctx.allocator()));
    const int64_t width = Width(sum_.values.shape()),
                  bytes = width * static_cast<int64_t>(DataTypeSize(options_.dtype));
    for (size_t i = 0; i < counts_.size(); ++i) {
      char* const row = static_cast<char*>(sum_.values.raw_data()) + static_cast<int64_t>(i) * bytes;
      DivideElements(options_.dtype, row, width, counts_[i]);
    }
    return absl::OkStatus();
  }

  void Complete() override {
    sum_.shape = {options_.shape.dims() > 0 ? options_.shape.dim_size(0) : -1};
    for (int i = 1; i < sum_.values.dims(); ++i) sum_.shape.push_back(sum_.values.dim_size(i));
    counts_.clear();
  }

 private:
  absl::Status CheckShapeAndRows(const Gradient& gradient) const {
    const PartialTensorShape& shape = options_.shape;
    const int rank = std::max(shape.dims(), 0);
    if (gradient.has_shape) {
      if (rank > static_cast<int>(gradient.shape.size())) {
        return Mismatch("expected shape rank at least ", rank, ", got ", gradient.shape.size());
      }
      for (int i = 0; i < rank; ++i) {
        if (shape.dim_size(i) >= 0 && shape.dim_size(i) != gradient.shape[i]) {
          return Mismatch("expected shape dim ", i, " to be ", shape.dim_size(i), ", got ", gradient.shape[i]);
        }
      }
    }
    if (rank == 0 || shape.dim_size(0) < 0) return absl::OkStatus();
    for (size_t i = 0; i < gradient.rows.size(); ++i) {
      if (gradient.rows[i] >= shape.dim_size(0)) {
        return Mismatch("index of slice ", i, " exceeded limits of shape; index is ", gradient.rows[i], " exceeded ",
                        shape.dim_size(0));
      }
    }
    return absl::OkStatus();
  }

  static int64_t Width(const TensorShape& values) {
    return values.dim_size(0) == 0 ? 0 : values.num_elements() / values.dim_size(0);
  }

  std::vector<int64_t> counts_;  // of gradients that have each row
};

}  // namespace

std::shared_ptr<ConditionalAccumulator> NewSparseAccumulator(ConditionalAccumulator::Options options) {
  return std::make_shared<SparseAccumulator>(std::move(options));
}

}  // namespace weir
