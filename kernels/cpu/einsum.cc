// Einsum over one or two operands: each is brought into the order of a batched matrix product, and the product into
// that of the output.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/numeric_families.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/wide.h"

namespace weir {
namespace {

// Dimensions are named by characters; those of an ellipsis by negative numbers, counted from its end.
using Labels = std::vector<int>;
constexpr int kEllipsis = 1 << 20;  // stands for all of them in an equation

absl::StatusOr<Labels> Parse(absl::string_view term) {
  Labels labels;
  bool ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      if (term.substr(i, 3) != "..." || ellipsis) {
        return errors::InvalidArgument("Period character found outside of ellipsis, or twice, in: ", term);
      }
      ellipsis = true;
      labels.push_back(kEllipsis);
      i += 2;
    } else {
      labels.push_back(static_cast<unsigned char>(term[i]));
    }
  }
  return labels;
}

// `labels` with the ellipsis written out as `width` dimensions.
Labels Expand(const Labels& labels, int width) {
  Labels expanded;
  for (int label : labels) {
    if (label != kEllipsis) {
      expanded.push_back(label);
      continue;
    }
    for (int i = width; i > 0; --i) expanded.push_back(-i);
  }
  return expanded;
}

bool Has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

// The labels of all dimensions of input `i`.
absl::StatusOr<Labels> ExpandInput(const Labels& labels, int i, int rank) {
  const int named = static_cast<int>(labels.size());
  if (!Has(labels, kEllipsis)) {
    if (named == rank) return labels;
    return errors::InvalidArgument("Expected input ", i, " to have rank ", named, " but got: ", rank);
  }
  if (rank >= named - 1) return Expand(labels, rank - named + 1);
  return errors::InvalidArgument("Expected input ", i, " to have rank at least ", named - 1, " but got: ", rank);
}

// One operand: the step along each of its labels; a repeated label steps along a diagonal.
struct Operand {
  std::map<int, int64_t> steps, sizes;
};

absl::StatusOr<Operand> View(const Labels& labels, const TensorShape& shape) {
  Operand view;
  const DimVector steps = DenseSteps(shape.dim_sizes());
  for (size_t d = 0; d < labels.size(); ++d) {
    const int64_t size = shape.dim_size(static_cast<int>(d));
    const auto [at, fresh] = view.sizes.emplace(labels[d], size);
    if (!fresh && at->second != size) {
      return errors::InvalidArgument("Expected dimension ", at->second, " at axis ", d, " of the input shaped ",
                                     shape.ToString(), " but got dimension ", size);
    }
    view.steps[labels[d]] += steps[d];
  }
  return view;
}

class EinsumKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string equation;
    RETURN_IF_ERROR(ctx.GetAttr("equation", &equation));
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const std::vector<std::string> sides = absl::StrSplit(equation, "->");
    if (sides.size() != 2) return errors::InvalidArgument("Expecting exactly one '->' in einsum equation: ", equation);
    for (absl::string_view term : absl::StrSplit(sides[0], ',')) {
      ASSIGN_OR_RETURN(Labels labels, Parse(term));
      inputs_.push_back(std::move(labels));
    }
    ASSIGN_OR_RETURN(output_, Parse(sides[1]));
    if (inputs_.size() != ctx.input_types().size()) {
      return errors::InvalidArgument("Expected ", inputs_.size(), " inputs in equation ", equation,
                                     " but got: ", ctx.input_types().size());
    }
    if (inputs_.size() > 2) {
      return errors::InvalidArgument("Expecting 1 or 2 input subscripts in equation '", equation,
                                     "' but got: ", inputs_.size());
    }
    gemm_ = FindGemm(ctx.input_types()[0]);
    if (gemm_ != nullptr) return absl::OkStatus();
    return errors::Unimplemented("Einsum on CPU has no kernel for ", DataTypeName(ctx.input_types()[0]));
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const int n = ctx.num_inputs();
    std::vector<Labels> labels(n);
    std::vector<Operand> operands(n);
    std::map<int, int64_t> sizes;
    int width = 0;
    for (int i = 0; i < n; ++i) {
      const TensorShape& shape = ctx.input(i).shape();
      ASSIGN_OR_RETURN(labels[i], ExpandInput(inputs_[i], i, shape.dims()));
      ASSIGN_OR_RETURN(operands[i], View(labels[i], shape));
      for (const auto& [label, size] : operands[i].sizes) {
        if (label < 0) width = std::max(width, -label);
        const auto [at, fresh] = sizes.emplace(label, size);
        if (fresh || at->second == size) continue;
        if (label < 0 && (at->second == 1 || size == 1)) {
          at->second = std::max(at->second == 1 ? size : at->second, int64_t{0});
          continue;
        }
        if (label < 0) {
          return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ",
                                         ctx.input(0).shape().ToString(), " vs. ", shape.ToString());
        }
        const auto axis = std::find(labels[i].begin(), labels[i].end(), label) - labels[i].begin();
        return errors::InvalidArgument("Expected dimension ", at->second, " at axis ", axis, " of the input shaped ",
                                       shape.ToString(), " but got dimension ", size);
      }
    }
    const Labels out = Expand(output_, width);
    for (int label : out) {
      if (sizes.count(label) == 0)
        return errors::InvalidArgument("Output subscripts must appear in one of the input subscripts");
    }
    // The roles of the labels.
    Labels batch, contracted, free[2], summed[2];
    for (const auto& [label, size] : sizes) {
      const bool in[2] = {Has(labels[0], label), n == 2 && Has(labels[1], label)}, kept = Has(out, label);
      if (in[0] && in[1]) {
        (kept ? batch : contracted).push_back(label);
      } else {
        (kept ? free : summed)[in[0] ? 0 : 1].push_back(label);
      }
    }
    DimVector dims;
    for (int label : out) dims.push_back(sizes[label]);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor a, Arrange(ctx, ctx.input(0), operands[0], sizes, {batch, free[0], contracted}, summed[0]));
    const int64_t k = Count(contracted, sizes), rows = Count(free[0], sizes), batches = Count(batch, sizes);
    int64_t columns = 1;
    Tensor product = a;
    if (n == 2) {
      ASSIGN_OR_RETURN(const Tensor b,
                       Arrange(ctx, ctx.input(1), operands[1], sizes, {batch, contracted, free[1]}, summed[1]));
      columns = Count(free[1], sizes);
      ASSIGN_OR_RETURN(product, Multiply(ctx, a, b, batches, rows, columns, k));
    }
    // [batch, free of a, free of b] in the order of the output; a repeated label fills a diagonal.
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(0, shape));
    if (result->NumElements() == 0) return absl::OkStatus();
    ZeroElements(result->dtype(), result->raw_data(), result->NumElements());
    Labels order = batch;
    for (const Labels& part : free) order.insert(order.end(), part.begin(), part.end());
    const DimVector out_steps = DenseSteps(shape.dim_sizes());
    DimVector lengths, to;
    for (int label : order) {
      lengths.push_back(sizes[label]);
      int64_t step = 0;
      for (size_t d = 0; d < out.size(); ++d) step += out[d] == label ? out_steps[d] : 0;
      to.push_back(step);
    }
    StridedCopy(ctx, result->dtype(), lengths, product.raw_data(), DenseSteps(lengths), result->raw_data(), to);
    return absl::OkStatus();
  }

 private:
  static int64_t Count(const Labels& labels, std::map<int, int64_t>& sizes) {
    int64_t count = 1;
    for (int label : labels) count = MultiplyWithoutOverflow(count, sizes[label]);
    return count;
  }

  // A dense copy with dimensions in the order of `groups`, summed over `summed`.
  absl::StatusOr<Tensor> Arrange(OpKernelContext& ctx, const Tensor& input, Operand& view,
                                 std::map<int, int64_t>& sizes, const std::vector<Labels>& groups,
                                 const Labels& summed) const {
    DimVector lengths, from;
    const auto append = [&](const Labels& labels) {
      for (int label : labels) {
        lengths.push_back(sizes[label]);
        from.push_back(view.sizes[label] == 1 ? 0 : view.steps[label]);
      }
    };
    for (const Labels& group : groups) append(group);
    const int64_t added = Count(summed, sizes);
    append(summed);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(lengths));
    ASSIGN_OR_RETURN(Tensor dense, ctx.allocate_temp(input.dtype(), shape));
    if (dense.NumElements() > 0) {
      StridedCopy(ctx, input.dtype(), lengths, input.raw_data(), from, dense.raw_data(), DenseSteps(lengths));
    }
    if (summed.empty()) return dense;
    lengths.resize(lengths.size() - summed.size());
    ASSIGN_OR_RETURN(const TensorShape kept, TensorShape::Build(lengths));
    ASSIGN_OR_RETURN(Tensor one, ctx.allocate_temp(DT_DOUBLE, TensorShape({added})));
    std::fill_n(one.data<double>(), added, 1.0);
    ASSIGN_OR_RETURN(const Tensor ones, ConvertTensor(ctx, one, input.dtype()));
    ASSIGN_OR_RETURN(Tensor sums, Multiply(ctx, dense, ones, 1, kept.num_elements(), 1, added));
    return sums.Reshaped(kept);
  }

  // [batches, rows, k] times [batches, k, columns].
  absl::StatusOr<Tensor> Multiply(OpKernelContext& ctx, const Tensor& a, const Tensor& b, int64_t batches, int64_t rows,
                                  int64_t columns, int64_t k) const {
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batches, rows, columns}));
    ASSIGN_OR_RETURN(Tensor product, ctx.allocate_temp(a.dtype(), shape));
    if (product.NumElements() == 0) return product;
    if (k == 0) {
      ZeroElements(product.dtype(), product.raw_data(), product.NumElements());
      return product;
    }
    const int64_t size = static_cast<int64_t>(DataTypeSize(a.dtype()));
    // Rows are shared among threads in blocks where there are few batches.
    const int64_t block = std::max<int64_t>(1, std::min<int64_t>(rows, 64)), blocks = (rows + block - 1) / block;
    const double cost = 60.0 * static_cast<double>(block) * static_cast<double>(columns) * static_cast<double>(k);
    ParallelRanges(ctx, batches * blocks, static_cast<int64_t>(std::min(cost, 1e15)) + 1,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t item = i / blocks, first = i % blocks * block;
                       GemmArgs args;
                       args.m = std::min(block, rows - first);
                       args.n = columns;
                       args.k = k;
                       args.a = static_cast<const char*>(a.raw_data()) + (item * rows + first) * k * size;
                       args.lda = k;
                       args.b = static_cast<const char*>(b.raw_data()) + item * k * columns * size;
                       args.ldb = columns;
                       args.c = static_cast<char*>(product.raw_data()) + (item * rows + first) * columns * size;
                       args.ldc = columns;
                       gemm_(args);
                     }
                   });
    return product;
  }

  std::vector<Labels> inputs_;
  Labels output_;
  Gemm gemm_ = nullptr;
};

}  // namespace

absl::Status RegisterEinsumKernels(KernelRegistry& kernels) {
  return kernels.Register<EinsumKernel>(Kernel("Einsum").Cpu().Types(
      "T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
