// Sets of values along the last dimension: their sizes, differences, intersections and unions.
#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// One set: where it stands (all indices but the last), and its values, ascending. V is int64_t or a string.
template <typename V>
struct SetOf {
  DimVector key;
  std::vector<V> values;
};

template <typename V>
void MakeSet(std::vector<V>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// Integers of any width as int64.
absl::StatusOr<Tensor> Widened(OpKernelContext& ctx, const Tensor& values) {
  if (values.dtype() == DT_STRING || values.dtype() == DT_INT64) return values;
  ASSIGN_OR_RETURN(Tensor wide, ctx.allocate_temp(DT_INT64, values.shape()));
  FindCast(values.dtype(), DT_INT64)(values.raw_data(), wide.raw_data(), values.NumElements());
  return wide;
}

absl::Status CheckRank(absl::Span<const int64_t> shape) {
  if (shape.size() >= 2) return absl::OkStatus();
  return errors::InvalidArgument("Shape ", IndexText(shape), " has rank ", shape.size(), " < 2");
}

// The sets of an operand that are not empty, in its order, and its shape.
template <typename V>
struct Operand {
  std::vector<SetOf<V>> sets;
  DimVector shape;
};

template <typename V>
absl::StatusOr<Operand<V>> DenseOperand(OpKernelContext& ctx, const Tensor& tensor) {
  Operand<V> result;
  result.shape.assign(tensor.shape().dim_sizes().begin(), tensor.shape().dim_sizes().end());
  RETURN_IF_ERROR(CheckRank(result.shape));
  ASSIGN_OR_RETURN(const Tensor wide, Widened(ctx, tensor));
  const int64_t width = result.shape.back();
  DimVector key(result.shape.size() - 1, 0);
  for (int64_t at = 0; at < wide.NumElements(); at += width) {
    SetOf<V> set{key, std::vector<V>(wide.data<V>() + at, wide.data<V>() + at + width)};
    MakeSet(&set.values);
    result.sets.push_back(std::move(set));
    for (int d = static_cast<int>(key.size()) - 1; d >= 0 && ++key[d] == result.shape[d]; --d) key[d] = 0;
  }
  return result;
}

// Inputs first, first + 1 and first + 2. Entries of one set lie one after another.
template <typename V>
absl::StatusOr<Operand<V>> SparseOperand(OpKernelContext& ctx, int first, bool validate) {
  if (ctx.input(first + 2).dims() != 1) return errors::InvalidArgument("Shape must be a 1D tensor.");
  ASSIGN_OR_RETURN(const DimVector sizes, ReadIntegers(ctx.input(first + 2)));
  if (sizes.size() < 2) return errors::InvalidArgument("Invalid rank ", sizes.size(), ".");
  ASSIGN_OR_RETURN(const SparseTensor sparse,
                   SparseTensor::Read(ctx.input(first), ctx.input(first + 1), ctx.input(first + 2),
                                      {"indices", "values", "shape", SparseTensor::Wording::kParts}));
  RETURN_IF_ERROR(sparse.DenseShape().status());
  RETURN_IF_ERROR(validate ? sparse.CheckOrdered() : sparse.CheckBounds());
  ASSIGN_OR_RETURN(const Tensor wide, Widened(ctx, sparse.values()));
  Operand<V> result;
  result.shape.assign(sparse.shape().begin(), sparse.shape().end());
  const auto key = [&sparse](int64_t i) { return sparse.index(i).first(sparse.rank() - 1); };
  for (int64_t begin = 0, end; begin < sparse.entries(); begin = end) {
    end = begin + 1;
    while (end < sparse.entries() && key(end) == key(begin)) ++end;
    SetOf<V> set{DimVector(key(begin).begin(), key(begin).end()),
                 std::vector<V>(wide.data<V>() + begin, wide.data<V>() + end)};
    MakeSet(&set.values);
    result.sets.push_back(std::move(set));
  }
  return result;
}

enum class SetOperation { kAMinusB, kBMinusA, kIntersection, kUnion };

absl::StatusOr<SetOperation> ParseOperation(std::string name) {
  absl::AsciiStrToLower(&name);
  if (name == "a-b") return SetOperation::kAMinusB;
  if (name == "b-a") return SetOperation::kBMinusA;
  if (name == "intersection") return SetOperation::kIntersection;
  if (name == "union") return SetOperation::kUnion;
  return errors::InvalidArgument("Invalid set_operation ", name, ".");
}

template <typename V>
std::vector<V> Combine(SetOperation operation, const std::vector<V>& a, const std::vector<V>& b) {
  std::vector<V> result;
  auto out = std::back_inserter(result);
  switch (operation) {
    case SetOperation::kAMinusB:
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), out);
      break;
    case SetOperation::kBMinusA:
      std::set_difference(b.begin(), b.end(), a.begin(), a.end(), out);
      break;
    case SetOperation::kIntersection:
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), out);
      break;
    case SetOperation::kUnion:
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), out);
      break;
  }
  return result;
}

template <typename V>
std::vector<SetOf<V>> CombineAll(SetOperation operation, const Operand<V>& a, const Operand<V>& b) {
  const std::vector<V> none;
  std::vector<SetOf<V>> result;
  for (size_t i = 0, j = 0; i < a.sets.size() || j < b.sets.size();) {
    const int order = i == a.sets.size() ? 1 : j == b.sets.size() ? -1 : CompareIndices(a.sets[i].key, b.sets[j].key);
    SetOf<V> set{order <= 0 ? a.sets[i].key : b.sets[j].key,
                 Combine(operation, order <= 0 ? a.sets[i].values : none, order >= 0 ? b.sets[j].values : none)};
    if (!set.values.empty()) result.push_back(std::move(set));
    i += order <= 0;
    j += order >= 0;
  }
  return result;
}

template <typename V>
absl::Status Emit(OpKernelContext& ctx, const std::vector<SetOf<V>>& sets, DimVector shape) {
  const DataType type = ctx.expected_output_dtype(1);
  const int64_t rank = shape.size();
  int64_t entries = 0, longest = 0;
  for (const SetOf<V>& set : sets) {
    entries += set.values.size();
    longest = std::max<int64_t>(longest, set.values.size());
  }
  shape.back() = longest;
  RETURN_IF_ERROR(TensorShape::Build(shape).status());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, rank})));
  ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(DataTypeOf<V>(), TensorShape({entries})));
  int64_t* index = indices->data<int64_t>();
  V* value = values.data<V>();
  for (const SetOf<V>& set : sets) {
    for (size_t i = 0; i < set.values.size(); ++i) {
      index = std::copy(set.key.begin(), set.key.end(), index);
      *index++ = i;
      *value++ = set.values[i];
    }
  }
  if (type != values.dtype()) {
    ASSIGN_OR_RETURN(Tensor narrow, ctx.allocate_temp(type, values.shape()));
    FindCast(values.dtype(), type)(values.raw_data(), narrow.raw_data(), entries);
    values = std::move(narrow);
  }
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, ShapeTensor(shape));
  return absl::OkStatus();
}

class SetKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &type_));
    return ctx.GetAttr("validate_indices", &validate_);
  }
  absl::Status Compute(OpKernelContext& ctx) final {
    return type_ == DT_STRING ? ComputeStrings(ctx) : ComputeIntegers(ctx);
  }

 protected:
  virtual absl::Status ComputeStrings(OpKernelContext& ctx) = 0;
  virtual absl::Status ComputeIntegers(OpKernelContext& ctx) = 0;
  bool validate() const { return validate_; }

 private:
  DataType type_ = DT_INVALID;
  bool validate_ = true;
};

template <bool kSparseA, bool kSparseB>
class SetOperationKernel : public SetKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string name;
    RETURN_IF_ERROR(ctx.GetAttr("set_operation", &name));
    ASSIGN_OR_RETURN(operation_, ParseOperation(name));
    return SetKernel::Init(ctx);
  }

 protected:
  absl::Status ComputeStrings(OpKernelContext& ctx) override { return Run<tstring>(ctx); }
  absl::Status ComputeIntegers(OpKernelContext& ctx) override { return Run<int64_t>(ctx); }

 private:
  template <typename V>
  absl::Status Run(OpKernelContext& ctx) const {
    constexpr int kSecond = kSparseA ? 3 : 1;
    ASSIGN_OR_RETURN(const Operand<V> a,
                     kSparseA ? SparseOperand<V>(ctx, 0, validate()) : DenseOperand<V>(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const Operand<V> b,
                     kSparseB ? SparseOperand<V>(ctx, kSecond, validate()) : DenseOperand<V>(ctx, ctx.input(kSecond)));
    const auto groups = [](const DimVector& shape) { return absl::MakeConstSpan(shape).first(shape.size() - 1); };
    if (groups(a.shape) != groups(b.shape)) {
      return errors::InvalidArgument("Mismatched shapes ", IndexText(groups(a.shape)), " vs ",
                                     IndexText(groups(b.shape)));
    }
    return Emit(ctx, CombineAll(operation_, a, b), a.shape);
  }

  SetOperation operation_ = SetOperation::kUnion;
};

class SetSizeKernel : public SetKernel {
 protected:
  absl::Status ComputeStrings(OpKernelContext& ctx) override { return Run<tstring>(ctx); }
  absl::Status ComputeIntegers(OpKernelContext& ctx) override { return Run<int64_t>(ctx); }

 private:
  template <typename V>
  absl::Status Run(OpKernelContext& ctx) const {
    ASSIGN_OR_RETURN(const Operand<V> operand, SparseOperand<V>(ctx, 0, validate()));
    const absl::Span<const int64_t> groups = absl::MakeConstSpan(operand.shape).first(operand.shape.size() - 1);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(groups));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    std::fill_n(output->data<int32_t>(), shape.num_elements(), 0);
    const DimVector steps = DenseSteps(groups);
    for (const SetOf<V>& set : operand.sets) {
      int64_t at = 0;
      for (size_t d = 0; d < steps.size(); ++d) at += set.key[d] * steps[d];
      output->data<int32_t>()[at] = static_cast<int32_t>(set.values.size());
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterSetKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR((kernels.Register<SetOperationKernel<false, false>>(Kernel("DenseToDenseSetOperation").Cpu())));
  RETURN_IF_ERROR((kernels.Register<SetOperationKernel<false, true>>(Kernel("DenseToSparseSetOperation").Cpu())));
  RETURN_IF_ERROR((kernels.Register<SetOperationKernel<true, true>>(Kernel("SparseToSparseSetOperation").Cpu())));
  return kernels.Register<SetSizeKernel>(Kernel("SetSize").Cpu());
}

}  // namespace weir
