// Rows folded together by segment: sorted, unsorted and sparse.
#include <cmath>
#include <limits>

#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/device/elements.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/device/rounded_folds.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/segment/args.h"
#include "kernels/segment/family.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

enum class Average { kNone, kCount, kRootOfCount };

// A scalar of `type`, or float for the 16-bit floats, in which they are folded.
DataType FoldType(DataType type) { return type == DT_HALF || type == DT_BFLOAT16 ? DT_FLOAT : type; }

Tensor ScalarOf(DataType type, double value) {
  Tensor scalar(type, TensorShape());
  if (type == DT_DOUBLE) {
    scalar.scalar<double>() = value;
  } else {
    FindCast(DT_DOUBLE, type)(&value, scalar.raw_data(), 1);
  }
  return scalar;
}

// The neutral element of `op`. For extremes it is the least or largest finite number, or infinity if `infinite`.
Tensor Neutral(UpdateOp op, DataType type, bool infinite) {
  const bool max = op == UpdateOp::kMax, extreme = max || op == UpdateOp::kMin;
  if (extreme && !infinite && (type == DT_HALF || type == DT_BFLOAT16)) {
    const double highest = type == DT_HALF ? 65504.0 : static_cast<float>(std::numeric_limits<bfloat16>::max());
    return ScalarOf(DT_FLOAT, max ? -highest : highest);
  }
  type = FoldType(type);
  if (infinite && extreme && IsFloating(type)) {
    return ScalarOf(type, max ? -INFINITY : INFINITY);
  }
  switch (type) {
#define WEIR_EXTREMES(T)                                                                                           \
  case DataTypeOf<T>():                                                                                            \
    if (extreme) return Tensor::Scalar<T>(max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max()); \
    break;
    WEIR_FOR_INTEGERS(WEIR_EXTREMES)
    WEIR_EXTREMES(float)
    WEIR_EXTREMES(double)
#undef WEIR_EXTREMES
    default:
      break;
  }
  return ScalarOf(type, op == UpdateOp::kMul ? 1 : 0);
}

absl::StatusOr<Tensor> Converted(OpKernelContext& ctx, const Tensor& tensor, DataType type) {
  if (tensor.dtype() == type) return tensor;
  ASSIGN_OR_RETURN(Tensor converted, ctx.allocate_temp(type, tensor.shape()));
  FindCast(tensor.dtype(), type)(tensor.raw_data(), converted.raw_data(), tensor.NumElements());
  return converted;
}

// Folds n rows that lie one after the other, `stride` elements apart, in strands.
using StrandedFold = void (*)(const void* rows, int64_t n, int64_t stride, int64_t columns, void* out);

template <typename T, typename Op>
void FoldStranded(const void* rows, int64_t n, int64_t stride, int64_t columns, void* out) {
  for (int64_t c = 0; c < columns; c += kFloat16Block) {
    FoldRoundedColumns<T, Op>(At16<T>(rows, c), n, stride, std::min(kFloat16Block, columns - c), true, At16<T>(out, c));
  }
}

// nullptr for what TensorFlow folds row by row.
StrandedFold FindStrandedFold(UpdateOp op, DataType type) {
  const bool is_sum = op == UpdateOp::kAdd;
  if (!is_sum && op != UpdateOp::kMul) return nullptr;
  if (type == DT_HALF) return is_sum ? &FoldStranded<half, RoundedSum> : &FoldStranded<half, RoundedProduct>;
  if (type != DT_BFLOAT16) return nullptr;
  return is_sum ? &FoldStranded<bfloat16, RoundedSum> : &FoldStranded<bfloat16, RoundedProduct>;
}

enum class SegmentOrder { kSorted, kUnsorted, kSparse };

// Subclasses say which rows go into which segment: sorted, unsorted or sparse.
class SegmentKernel : public OpKernel {
 public:
  SegmentKernel(UpdateOp op, Average average, SegmentOrder order) : op_(op), average_(average), order_(order) {}

  absl::Status Init(OpKernelConstruction& ctx) override {
    type_ = ctx.output_types()[0];
    // TensorFlow rounds each step of 16-bit sums and products, but not of sparse ones.
    const bool is_arithmetic = op_ == UpdateOp::kAdd || op_ == UpdateOp::kMul;
    fold_type_ = is_arithmetic && order_ != SegmentOrder::kSparse ? type_ : FoldType(type_);
    if (order_ == SegmentOrder::kSorted && average_ == Average::kNone) stranded_ = FindStrandedFold(op_, type_);
    loop_ = FindUpdateLoop(op_, fold_type_);
    divide_ = FindUpdateLoop(UpdateOp::kDiv, fold_type_);
    if (loop_ == nullptr) return errors::Unimplemented(ctx.op(), " of ", DataTypeName(type_));
    neutral_ = is_arithmetic ? ScalarOf(fold_type_, op_ == UpdateOp::kMul ? 1 : 0)
                             : Neutral(op_, type_, order_ != SegmentOrder::kUnsorted);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    SegmentPlan plan;
    TensorShape row;
    RETURN_IF_ERROR(MakePlan(ctx, &plan, &row));
    TensorShape shape({plan.segments});
    RETURN_IF_ERROR(shape.Append(row));
    ASSIGN_OR_RETURN(const Tensor data, Converted(ctx, ctx.input(0), fold_type_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    Tensor folded = *output;
    if (fold_type_ != type_) {
      ASSIGN_OR_RETURN(folded, ctx.allocate_temp(fold_type_, shape));
    }
    Run(ctx, plan, data, row.num_elements(), &folded);
    if (fold_type_ != type_) {
      FindCast(fold_type_, type_)(folded.raw_data(), output->raw_data(), folded.NumElements());
    }
    return absl::OkStatus();
  }

 protected:
  // `row` is the shape of one row.
  virtual absl::Status MakePlan(OpKernelContext& ctx, SegmentPlan* plan, TensorShape* row) = 0;
  // The value of a segment without rows.
  virtual Tensor Empty() const { return neutral_; }
  const Tensor& neutral() const { return neutral_; }
  DataType fold_type() const { return fold_type_; }

 private:
  void Run(OpKernelContext& ctx, const SegmentPlan& plan, const Tensor& data, int64_t width, Tensor* output) const {
    if (output->NumElements() == 0) return;
    const int64_t size = DataTypeSize(fold_type_);
    DimVector counts(plan.segments, 0);
    for (int64_t id : plan.ids) {
      if (id >= 0) ++counts[id];
    }
    const Tensor empty = Empty();
    const char* in = static_cast<const char*>(data.raw_data());
    char* out = static_cast<char*>(output->raw_data());
    // Columns are independent; within one, rows are folded in order, or in strands as far as TensorFlow's lanes reach.
    const int64_t stranded_columns = stranded_ == nullptr ? 0 : width / kRoundedLanes * kRoundedLanes;
    const int64_t rows = plan.ids.size() + plan.segments;
    ParallelRanges(ctx, width, rows * 1000, [&](int64_t begin, int64_t end) {
      const int64_t columns = end - begin;
      for (int64_t s = 0; s < plan.segments; ++s) {
        FillElements(fold_type_, (counts[s] > 0 ? neutral_ : empty).raw_data(), out + (s * width + begin) * size,
                     columns);
      }
      for (size_t i = 0; i < plan.ids.size(); ++i) {
        const int64_t id = plan.ids[i];
        if (id < 0) continue;
        const bool is_stranded = counts[id] >= kStrandedRows && begin < stranded_columns;
        const int64_t first = is_stranded ? std::min(end, stranded_columns) : begin;
        if (is_stranded && (i == 0 || plan.ids[i - 1] != id)) {
          stranded_(in + (plan.sources[i] * width + begin) * size, counts[id], width, first - begin,
                    out + (id * width + begin) * size);
        }
        loop_(out + (id * width + first) * size, in + (plan.sources[i] * width + first) * size, 1, end - first);
      }
      if (average_ == Average::kNone) return;
      for (int64_t s = 0; s < plan.segments; ++s) {
        if (counts[s] <= 1) continue;
        const double count = static_cast<double>(counts[s]);
        const Tensor divisor = ScalarOf(fold_type_, average_ == Average::kCount ? count : std::sqrt(count));
        divide_(out + (s * width + begin) * size, divisor.raw_data(), 0, columns);
      }
    });
  }

  const UpdateOp op_;
  const Average average_;
  const SegmentOrder order_;
  DataType type_ = DT_INVALID, fold_type_ = DT_INVALID;
  UpdateLoop loop_ = nullptr, divide_ = nullptr;
  StrandedFold stranded_ = nullptr;
  Tensor neutral_;
};

TensorShape RowShape(const TensorShape& data, int leading) { return TensorShape(data.dim_sizes().subspan(leading)); }

// An empty segment between others holds 0, of products 1.
template <UpdateOp kOp, Average kAverage>
class SortedSegmentKernel : public SegmentKernel {
 public:
  SortedSegmentKernel() : SegmentKernel(kOp, kAverage, SegmentOrder::kSorted) {}

 protected:
  absl::Status MakePlan(OpKernelContext& ctx, SegmentPlan* plan, TensorShape* row) override {
    const Tensor& data = ctx.input(0);
    const Tensor& ids = ctx.input(1);
    if (data.dims() < 1) return errors::InvalidArgument("input must be at least rank 1");
    if (ids.dims() != 1) return errors::InvalidArgument("segment_ids should be a vector.");
    if (ids.NumElements() != data.dim_size(0)) {
      return errors::InvalidArgument("segment_ids should be the same size as dimension 0 of input.");
    }
    *row = RowShape(data.shape(), 1);
    ASSIGN_OR_RETURN(plan->ids, ReadIntegers(ids));
    if (!plan->ids.empty() && plan->ids[0] < 0 && plan->ids.back() >= 0) {
      return errors::InvalidArgument("Segment id ", plan->ids[0], " out of range [0, ",
                                     static_cast<uint64_t>(plan->ids.back()) + 1,
                                     "), possibly because 'segment_ids' input is not sorted.");
    }
    ASSIGN_OR_RETURN(plan->segments, CountSortedSegments(plan->ids));
    for (size_t i = 0; i < plan->ids.size(); ++i) plan->sources.push_back(i);
    return absl::OkStatus();
  }
  Tensor Empty() const override { return kOp == UpdateOp::kMul ? neutral() : ScalarOf(fold_type(), 0); }
};

template <UpdateOp kOp>
class UnsortedSegmentKernel : public SegmentKernel {
 public:
  UnsortedSegmentKernel() : SegmentKernel(kOp, Average::kNone, SegmentOrder::kUnsorted) {}

 protected:
  absl::Status MakePlan(OpKernelContext& ctx, SegmentPlan* plan, TensorShape* row) override {
    const TensorShape& data = ctx.input(0).shape();
    const TensorShape& ids = ctx.input(1).shape();
    if (ctx.input(2).dims() != 0) {
      return errors::InvalidArgument("num_segments should be a scalar, not shape ", ctx.input(2).shape().ToString());
    }
    if (data.dims() < ids.dims() || data.dim_sizes().first(ids.dims()) != ids.dim_sizes()) {
      return errors::InvalidArgument("data.shape = ", data.ToString(),
                                     " does not start with segment_ids.shape = ", ids.ToString());
    }
    ASSIGN_OR_RETURN(plan->segments, ReadInteger(ctx.input(2), "num_segments"));
    if (plan->segments < 0)
      return errors::InvalidArgument("Input num_segments == ", plan->segments, " must not be negative.");
    *row = RowShape(data, ids.dims());
    ASSIGN_OR_RETURN(plan->ids, ReadIntegers(ctx.input(1)));
    for (size_t i = 0; i < plan->ids.size(); ++i) {
      if (plan->ids[i] >= plan->segments) {
        return errors::InvalidArgument("segment_ids", ElementName(ids, i), " = ", plan->ids[i], " is out of range [0, ",
                                       plan->segments, ")");
      }
      plan->sources.push_back(i);
    }
    return absl::OkStatus();
  }
};

// data, indices, segment_ids [, num_segments]: rows of data by index, into sorted segments.
template <Average kAverage>
class SparseSegmentKernel : public SegmentKernel {
 public:
  SparseSegmentKernel() : SegmentKernel(UpdateOp::kAdd, kAverage, SegmentOrder::kSparse) {}

 protected:
  absl::Status MakePlan(OpKernelContext& ctx, SegmentPlan* plan, TensorShape* row) override {
    ASSIGN_OR_RETURN(*plan, ReadSparseSegments(ctx));
    *row = RowShape(ctx.input(0).shape(), 1);
    return absl::OkStatus();
  }
};

// grad, indices, segment_ids, output_dim0: each segment's gradient, scaled, goes to the rows that it was made of.
// Version 2 gives only the rows that occur, and which they are.
template <Average kAverage, bool kCompact>
class SparseSegmentGradKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseSegmentGradient plan, ReadSparseSegmentGradient(ctx, kCompact));
    const Tensor& grad = ctx.input(0);
    if (kCompact) {
      ASSIGN_OR_RETURN(Tensor * occurring, ctx.allocate_output(1, TensorShape({plan.rows})));
      RETURN_IF_ERROR(WriteIntegers(plan.occurring, occurring));
    }
    const TensorShape row = RowShape(grad.shape(), 1);
    TensorShape shape({plan.rows});
    RETURN_IF_ERROR(shape.Append(row));
    const DataType fold_type = FoldType(grad.dtype());
    ASSIGN_OR_RETURN(const Tensor wide, Converted(ctx, grad, fold_type));
    ASSIGN_OR_RETURN(Tensor sums, ctx.allocate_temp(fold_type, shape));
    ZeroElements(fold_type, sums.raw_data(), sums.NumElements());
    const int64_t width = row.num_elements(), bytes = width * static_cast<int64_t>(DataTypeSize(fold_type));
    const UpdateLoop add = FindUpdateLoop(UpdateOp::kAdd, fold_type),
                     divide = FindUpdateLoop(UpdateOp::kDiv, fold_type);
    ASSIGN_OR_RETURN(Tensor scaled, ctx.allocate_temp(fold_type, row));
    for (size_t i = 0; i < plan.ids.size(); ++i) {
      CopyElements(fold_type, scaled.raw_data(), static_cast<const char*>(wide.raw_data()) + plan.ids[i] * bytes,
                   width);
      if (kAverage != Average::kNone) {
        const double count = static_cast<double>(plan.counts.at(plan.ids[i]));
        const Tensor divisor = ScalarOf(fold_type, kAverage == Average::kCount ? count : std::sqrt(count));
        divide(scaled.raw_data(), divisor.raw_data(), 0, width);
      }
      add(static_cast<char*>(sums.raw_data()) + plan.places[i] * bytes, scaled.raw_data(), 1, width);
    }
    ASSIGN_OR_RETURN(Tensor output, Converted(ctx, sums, grad.dtype()));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterSegmentKernels(KernelRegistry& kernels) {
  using enum UpdateOp;
  const auto add = [&]<typename K>(const char* op, K*) { return kernels.Register<K>(Kernel(op).Cpu()); };
#define WEIR_SEGMENT(op, ...) RETURN_IF_ERROR(add(op, static_cast<__VA_ARGS__*>(nullptr)))
  WEIR_SEGMENT("SegmentSum", SortedSegmentKernel<kAdd, Average::kNone>);
  WEIR_SEGMENT("SegmentMean", SortedSegmentKernel<kAdd, Average::kCount>);
  WEIR_SEGMENT("SegmentProd", SortedSegmentKernel<kMul, Average::kNone>);
  WEIR_SEGMENT("SegmentMax", SortedSegmentKernel<kMax, Average::kNone>);
  WEIR_SEGMENT("SegmentMin", SortedSegmentKernel<kMin, Average::kNone>);
  WEIR_SEGMENT("UnsortedSegmentSum", UnsortedSegmentKernel<kAdd>);
  WEIR_SEGMENT("UnsortedSegmentProd", UnsortedSegmentKernel<kMul>);
  WEIR_SEGMENT("UnsortedSegmentMax", UnsortedSegmentKernel<kMax>);
  WEIR_SEGMENT("UnsortedSegmentMin", UnsortedSegmentKernel<kMin>);
  WEIR_SEGMENT("SparseSegmentSum", SparseSegmentKernel<Average::kNone>);
  WEIR_SEGMENT("SparseSegmentMean", SparseSegmentKernel<Average::kCount>);
  WEIR_SEGMENT("SparseSegmentSqrtN", SparseSegmentKernel<Average::kRootOfCount>);
  WEIR_SEGMENT("SparseSegmentSumWithNumSegments", SparseSegmentKernel<Average::kNone>);
  WEIR_SEGMENT("SparseSegmentMeanWithNumSegments", SparseSegmentKernel<Average::kCount>);
  WEIR_SEGMENT("SparseSegmentSqrtNWithNumSegments", SparseSegmentKernel<Average::kRootOfCount>);
  WEIR_SEGMENT("SparseSegmentSumGrad", SparseSegmentGradKernel<Average::kNone, false>);
  WEIR_SEGMENT("SparseSegmentSumGradV2", SparseSegmentGradKernel<Average::kNone, true>);
  WEIR_SEGMENT("SparseSegmentMeanGrad", SparseSegmentGradKernel<Average::kCount, false>);
  WEIR_SEGMENT("SparseSegmentMeanGradV2", SparseSegmentGradKernel<Average::kCount, true>);
  WEIR_SEGMENT("SparseSegmentSqrtNGrad", SparseSegmentGradKernel<Average::kRootOfCount, false>);
  WEIR_SEGMENT("SparseSegmentSqrtNGradV2", SparseSegmentGradKernel<Average::kRootOfCount, true>);
#undef WEIR_SEGMENT
  return absl::OkStatus();
}

}  // namespace weir
