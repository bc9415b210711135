// Gradients of reductions by segment.

#include "graph/gradients/gradient_context.h"
#include "kernels/segment/family.h"

namespace weir {
namespace {

using G = GradientContext;

// Rows dy[ids]; zeros where the id is negative, for such rows were dropped.
Output GatherDropNegative(G& g, const Output& dy, const Output& ids) {
  const Output zero = g.Call("ZerosLike", {ids});
  const Output gathered = g.Call("GatherV2", {dy, g.Call("Maximum", {ids, zero}), 0});
  const Output kept = g.Call("GreaterEqual", {ids, zero});
  // The mask gets the trailing dimensions of the data by a reshape to [ids' shape, 1, …].
  const Output extra = g.Call("Sub", {g.Call("Rank", {gathered}), g.Call("Rank", {ids})});
  const Output ones = g.Call("Fill", {g.Call("ExpandDims", {extra, 0}), 1});
  const Output shape = g.CallWithLists("ConcatV2", {{g.Call("Shape", {ids}), ones}, {Tensor::Scalar<int32_t>(0)}});
  const Output mask = g.Call("Reshape", {kept, shape});
  return g.Call("SelectV2", {mask, gathered, g.Call("ZerosLike", {gathered})});
}

Output CastLike(G& g, const Output& x, const Output& like) {
  return g.Call("Cast", {x}, {G::Set("DstT", like.type())});
}

absl::Status SegmentSum(G& g) {
  g.set_grad(0, g.Call("GatherV2", {g.dy(), g.input(1), 0}));
  return absl::OkStatus();
}

// How many rows each segment has, shaped to divide dy: [segments, 1, …].
absl::Status SegmentMean(G& g) {
  const Output rank = g.Call("Rank", {g.input(0)});
  const Output ones_shape = g.Call("Fill", {g.Call("ExpandDims", {g.Call("Sub", {rank, 1}), 0}), 1});
  const Output rows = g.Call("Shape", {g.input(1)});
  const Output shape = g.CallWithLists("ConcatV2", {{rows, ones_shape}, {Tensor::Scalar<int32_t>(0)}});
  const Output one = g.Call("Cast", {Tensor::Scalar<int32_t>(1)}, {G::Set("DstT", g.input(0).type())});
  const Output counts = g.Call("SegmentSum", {g.Call("Fill", {shape, one}), g.input(1)});
  g.set_grad(0, g.Call("GatherV2", {g.Call("DivNoNan", {g.dy(), counts}), g.input(1), 0}));
  return absl::OkStatus();
}

// Shared evenly among the rows that equal their segment's extremum.
absl::Status SegmentMinOrMax(G& g) {
  const Output ids = g.input(1);
  const Output chosen =
      CastLike(g, g.Call("Equal", {g.input(0), g.Call("GatherV2", {g.output(0), ids, 0})}), g.input(0));
  const Output share = g.Call("DivNoNan", {g.dy(), g.Call("SegmentSum", {chosen, ids})});
  g.set_grad(0, g.Call("Mul", {chosen, g.Call("GatherV2", {share, ids, 0})}));
  return absl::OkStatus();
}

absl::Status UnsortedSegmentSum(G& g) {
  g.set_grad(0, GatherDropNegative(g, g.dy(), g.input(1)));
  return absl::OkStatus();
}

absl::Status UnsortedSegmentMinOrMax(G& g) {
  const Output ids = g.input(1);
  // A dropped row may equal the zeros that stand in for its segment; its count and its share are dropped too.
  const Output extremum = GatherDropNegative(g, g.output(0), ids);
  const Output chosen = CastLike(g, g.Call("Equal", {g.input(0), extremum}), g.input(0));
  const Output count = g.Call("UnsortedSegmentSum", {chosen, ids, g.input(2)});
  const Output share = GatherDropNegative(g, g.Call("DivNoNan", {g.dy(), count}), ids);
  g.set_grad(0, g.Call("Mul", {chosen, share}));
  return absl::OkStatus();
}

Output Conj(G& g, const Output& x) { return IsComplex(x.type()) ? g.Call("Conj", {x}) : x; }

// Parts of a segment product: where elements are zero, each segment's product of its nonzero elements, and whether a
// segment has at most one zero.
struct Factors {
  Factors(G& g, const char* sum, const char* product) {
    const Output x = g.input(0);
    is_zero = g.Call("Equal", {x, g.Call("ZerosLike", {x})});
    const Output without = g.Call("SelectV2", {is_zero, g.Call("OnesLike", {x}), x});
    const Output zeros = g.Call("Cast", {is_zero}, {G::Set("DstT", DT_INT32)});
    const bool counted = g.num_inputs() > 2;  // the number of segments
    const Output zero_count = counted ? g.Call(sum, {zeros, g.input(1), g.input(2)}) : g.Call(sum, {zeros, g.input(1)});
    nonzero_product =
        counted ? g.Call(product, {without, g.input(1), g.input(2)}) : g.Call(product, {without, g.input(1)});
    single = g.Call("LessEqual", {zero_count, g.Call("OnesLike", {zero_count})});
  }
  Output is_zero, nonzero_product, single;
};

// The product of the others: by division where nothing is zero; where one element of a segment is, only that one has a
// gradient, the product of the others.
template <bool kSorted>
absl::Status SegmentProd(G& g) {
  const Output x = g.input(0), ids = g.input(1), dy = g.dy();
  const Factors factors(g, kSorted ? "SegmentSum" : "UnsortedSegmentSum",
                        kSorted ? "SegmentProd" : "UnsortedSegmentProd");
  const Output of_zero = g.Call("Mul", {dy, Conj(g, factors.nonzero_product)});
  const Output zero_dy = g.Call("SelectV2", {factors.single, of_zero, g.Call("ZerosLike", {dy})});
  const Output at_zeros = GatherDropNegative(g, zero_dy, ids);
  const Output whole = GatherDropNegative(g, g.Call("Mul", {dy, Conj(g, g.output(0))}), ids);
  g.set_grad(0, g.Call("SelectV2", {factors.is_zero, at_zeros, g.Call("DivNoNan", {whole, Conj(g, x)})}));
  return absl::OkStatus();
}

Output RowsOf(G& g, const Output& x) {
  return g.Call(
      "StridedSlice",
      {g.Call("Shape", {x}), Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({1})},
      {G::Set("shrink_axis_mask", int64_t{1})});
}

// By index, for the rows that occur.
absl::Status OnlyRowsThatOccur(G& g, const char* op) {
  const Output grads = g.Call(op, {g.dy(), g.input(1), g.input(2), RowsOf(g, g.input(0))});
  g.set_grad(0, Gradient(grads, Output(grads.op(), 1), g.Call("Shape", {g.input(0)})));
  return absl::OkStatus();
}

// data[indices] summed by segment.
absl::Status SparseSegmentSum(G& g) {
  if (g.Attr<bool>("sparse_gradient")) return OnlyRowsThatOccur(g, "SparseSegmentSumGradV2");
  const Output rows = g.Call("GatherV2", {g.dy(), g.input(2), 0});
  g.set_grad(0, g.Call("UnsortedSegmentSum", {rows, g.input(1), RowsOf(g, g.input(0))}));
  return absl::OkStatus();
}
template <const char* kOp, const char* kSparseOp>
absl::Status SparseSegment(G& g) {
  if (g.Attr<bool>("sparse_gradient")) return OnlyRowsThatOccur(g, kSparseOp);
  g.set_grad(0, g.Call(kOp, {g.dy(), g.input(1), g.input(2), RowsOf(g, g.input(0))}));
  return absl::OkStatus();
}
constexpr char kMeanGrad[] = "SparseSegmentMeanGrad", kSqrtNGrad[] = "SparseSegmentSqrtNGrad",
               kMeanGradV2[] = "SparseSegmentMeanGradV2", kSqrtNGradV2[] = "SparseSegmentSqrtNGradV2";

}  // namespace

absl::Status RegisterSegmentGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"SegmentSum", SegmentSum},
      {"SegmentMean", SegmentMean},
      {"SegmentMin", SegmentMinOrMax},
      {"SegmentMax", SegmentMinOrMax},
      {"UnsortedSegmentSum", UnsortedSegmentSum},
      {"UnsortedSegmentMin", UnsortedSegmentMinOrMax},
      {"UnsortedSegmentMax", UnsortedSegmentMinOrMax},
      {"SegmentProd", SegmentProd<true>},
      {"UnsortedSegmentProd", SegmentProd<false>},
      {"SparseSegmentSum", SparseSegmentSum},
      {"SparseSegmentSumWithNumSegments", SparseSegmentSum},
      {"SparseSegmentMean", SparseSegment<kMeanGrad, kMeanGradV2>},
      {"SparseSegmentMeanWithNumSegments", SparseSegment<kMeanGrad, kMeanGradV2>},
      {"SparseSegmentSqrtN", SparseSegment<kSqrtNGrad, kSqrtNGradV2>},
      {"SparseSegmentSqrtNWithNumSegments", SparseSegment<kSqrtNGrad, kSqrtNGradV2>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
