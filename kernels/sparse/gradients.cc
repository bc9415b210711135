// Gradients of sparse tensors: of their values, for indices and shapes have none.

#include "graph/gradients/gradient_context.h"
#include "kernels/sparse/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output Cast(G& g, const Input& x, DataType type) { return g.Call("Cast", {x}, {G::Set("DstT", type)}); }
Output Concat(G& g, const InputList& parts) {
  return g.CallWithLists("ConcatV2", {parts, {Tensor::Scalar<int32_t>(0)}});
}
Input Ints(std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Output SumAll(G& g, const Output& x) { return g.Call("Sum", {g.Call("Reshape", {x, Ints({-1})}), Ints({0})}); }

absl::Status SparseToDense(G& g) {
  // One index as a row of a matrix, however the indices came.
  const Output rows = g.CallWithLists("Pack", {{-1, g.Call("Size", {g.input(1)})}});
  const Output taken = g.Call("GatherNd", {g.dy(), g.Call("Reshape", {g.input(0), rows})});
  // A scalar went everywhere: reshaped to a row for each value, the gradients are summed by row.
  const Output shape = g.Call("Shape", {g.input(2)});
  const Output by_value = g.Call("Reshape", {taken, g.CallWithLists("Pack", {{g.Call("Size", {g.input(2)}), -1}})});
  g.set_grad(2, g.Call("Reshape", {g.Call("Sum", {by_value, Ints({1})}), shape}));
  g.set_grad(3, g.Call("Sub", {SumAll(g, g.dy()), SumAll(g, taken)}));
  return absl::OkStatus();
}

absl::Status SparseReorder(G& g) {
  const Output count = g.Call("Size", {g.input(1)});
  const Output entries = g.Call("Range", {0, count, 1}, {G::Set("Tidx", DT_INT32)});
  const Output ordered = g.Call("SparseReorder", {g.input(0), entries, g.input(2)});
  g.set_grad(1, g.Call("GatherV2", {g.dy(1), g.Call("InvertPermutation", {Output(ordered.op(), 1)}), 0}));
  return absl::OkStatus();
}

absl::Status SparseSlice(G& g) {
  g.set_grad(1, g.Call("SparseSliceGrad", {g.dy(1), g.input(0), g.input(3), g.output(0)}));
  return absl::OkStatus();
}

absl::Status SparseAdd(G& g) {
  const Output grads = g.Call("SparseAddGrad", {g.dy(1), g.input(0), g.input(3), g.output(0)});
  g.set_grad(1, Output(grads.op(), 0));
  g.set_grad(4, Output(grads.op(), 1));
  return absl::OkStatus();
}

absl::Status SparseTensorDenseAdd(G& g) {
  g.set_grad(1, g.Call("GatherNd", {g.dy(), g.input(0)}));
  g.set_grad(3, g.dy());
  return absl::OkStatus();
}

absl::Status SparseFillEmptyRows(G& g) {
  const Output grads = g.Call("SparseFillEmptyRowsGrad", {g.output(3), g.dy(1)});
  g.set_grad(1, Output(grads.op(), 0));
  g.set_grad(3, Output(grads.op(), 1));
  return absl::OkStatus();
}

absl::Status SparseReduceSum(G& g) {
  const Output shape = g.input(2), rank = g.Call("Size", {shape});
  const Output all = g.Call("Range", {0, rank, 1}, {G::Set("Tidx", DT_INT32)});
  const Output axes = g.Call("Reshape", {g.Call("FloorMod", {g.Call("AddV2", {g.input(3), rank}), rank}), Ints({-1})});
  const Output ones = Cast(g, g.Call("OnesLike", {axes}), DT_INT64);
  const Output kept = g.CallWithLists("DynamicStitch", {{all, axes}, {shape, ones}});
  // An index along a reduced axis becomes 0, another stays.
  const Output scale = g.Call("FloorDiv", {shape, g.Call("Maximum", {kept, g.Call("OnesLike", {kept})})});
  const Output index = g.Call("FloorDiv", {g.input(0), g.Call("Maximum", {scale, g.Call("OnesLike", {scale})})});
  g.set_grad(1, g.Call("GatherNd", {g.Call("Reshape", {g.dy(), kept}), index}));
  return absl::OkStatus();
}

Output Conjugate(G& g, const Output& x) { return IsComplex(x.type()) ? g.Call("Conj", {x}) : x; }

Output Adjoint(G& g, const Output& x) { return g.Call("ConjugateTranspose", {x, Ints({1, 0})}); }

Output Column(G& g, const Output& matrix, int32_t column) {
  return g.Call("GatherV2", {matrix, Tensor::Scalar<int32_t>(column), 1});
}

absl::Status SparseTensorDenseMatMul(G& g) {
  const bool adjoint_a = g.Attr<bool>("adjoint_a"), adjoint_b = g.Attr<bool>("adjoint_b");
  const Output b = g.input(3), dy = g.dy();
  const Output db = g.Call("SparseTensorDenseMatMul", {g.input(0), g.input(1), g.input(2), dy},
                           {G::Set("adjoint_a", !adjoint_a), G::Set("adjoint_b", false)});
  g.set_grad(3, adjoint_b ? Adjoint(g, db) : db);
  const Output rows = Column(g, g.input(0), adjoint_a ? 1 : 0), columns = Column(g, g.input(0), adjoint_a ? 0 : 1);
  const Output of_dy = g.Call("GatherV2", {dy, rows, 0});
  const Output of_b = g.Call("GatherV2", {adjoint_b ? Adjoint(g, b) : b, columns, 0});
  const Output products =
      adjoint_a ? g.Call("Mul", {of_b, Conjugate(g, of_dy)}) : g.Call("Mul", {of_dy, Conjugate(g, of_b)});
  g.set_grad(1, g.Call("Sum", {products, Ints({1})}));
  return absl::OkStatus();
}

// y = sparse * dense or sparse / dense, where the dense tensor is broadcast.
template <bool kMultiply>
absl::Status SparseDenseCwise(G& g) {
  const Output indices = g.input(0), values = g.input(1), shape = g.input(2), dense = g.input(3), dy = g.dy();
  const Output dense_shape = g.Call("Shape", {dense}, {G::Set("out_type", DT_INT64)});
  const Output added =
      g.Call("ExpandDims", {g.Call("Sub", {g.Call("Size", {shape}), g.Call("Size", {dense_shape})}), 0});
  const Output lead = g.Call("Fill", {added, Tensor::Scalar<int64_t>(1)});
  const Output full = Concat(g, {lead, dense_shape});
  const Output scale = g.Call("FloorDiv", {shape, g.Call("Maximum", {full, g.Call("OnesLike", {full})})});
  const Output index = g.Call("FloorDiv", {indices, g.Call("Maximum", {scale, g.Call("OnesLike", {scale})})});
  const Output dense_index = g.Call("Slice", {index, Concat(g, {Ints({0}), added}), Ints({-1, -1})});
  const Output others = g.Call("GatherNd", {dense, dense_index});
  Output d_others;
  if (kMultiply) {
    g.set_grad(1, g.Call("Mul", {dy, others}));
    d_others = g.Call("Mul", {dy, values});
  } else {
    g.set_grad(1, g.Call("RealDiv", {dy, others}));
    d_others = g.Call("Mul", {dy, g.Call("RealDiv", {g.Call("Neg", {values}), g.Call("Square", {others})})});
  }
  // Indices may repeat: they are added.
  g.set_grad(3, g.Call("SparseTensorDenseAdd", {dense_index, d_others, dense_shape, g.Call("ZerosLike", {dense})}));
  return absl::OkStatus();
}

absl::Status SparseSoftmax(G& g) {
  const Output indices = g.input(0), shape = g.input(2), y = g.output(0), dy = g.dy();
  const Output sums =
      g.Call("SparseReduceSum", {indices, g.Call("Mul", {y, dy}), shape, Ints({-1})}, {G::Set("keep_dims", true)});
  const Output centred = g.Call("SparseDenseCwiseAdd", {indices, dy, shape, g.Call("Neg", {sums})});
  g.set_grad(1, g.Call("Mul", {centred, y}));
  return absl::OkStatus();
}

// As MatMul's, with hints as to which operand holds many zeros.
absl::Status SparseMatMul(G& g) {
  const bool ta = g.Attr<bool>("transpose_a"), tb = g.Attr<bool>("transpose_b");
  const bool a_sparse = g.Attr<bool>("a_is_sparse"), b_sparse = g.Attr<bool>("b_is_sparse");
  struct Operand {
    Output value;
    bool sparse;
  };
  const Operand a{g.input(0), a_sparse}, b{g.input(1), b_sparse}, dy{g.dy(), false};
  const auto multiply = [&g](const Operand& x, const Operand& y, bool tx, bool ty, DataType type) {
    const Output product = g.Call("SparseMatMul", {x.value, y.value},
                                  {G::Set("transpose_a", tx), G::Set("transpose_b", ty),
                                   G::Set("a_is_sparse", x.sparse), G::Set("b_is_sparse", y.sparse)});
    return product.type() == type ? product : Cast(g, product, type);
  };
  g.set_grad(0, ta ? multiply(b, dy, tb, true, a.value.type()) : multiply(dy, b, false, !tb, a.value.type()));
  g.set_grad(1, tb ? multiply(dy, a, true, ta, b.value.type()) : multiply(a, dy, !ta, false, b.value.type()));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSparseGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"SparseToDense", SparseToDense},
      {"SparseReorder", SparseReorder},
      {"SparseSlice", SparseSlice},
      {"SparseAdd", SparseAdd},
      {"SparseTensorDenseAdd", SparseTensorDenseAdd},
      {"SparseFillEmptyRows", SparseFillEmptyRows},
      {"SparseReduceSum", SparseReduceSum},
      {"SparseTensorDenseMatMul", SparseTensorDenseMatMul},
      {"SparseDenseCwiseMul", SparseDenseCwise<true>},
      {"SparseDenseCwiseDiv", SparseDenseCwise<false>},
      {"SparseSoftmax", SparseSoftmax},
      {"SparseMatMul", SparseMatMul},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
