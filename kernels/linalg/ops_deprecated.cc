// The deprecated Batch* ops of TensorFlow 1, whose graphs still contain them.
#include "kernels/device/op_shapes.h"
#include "kernels/linalg/family.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// Registers `name` as a copy of the op `today`, deprecated since GraphDef version `version`. Its T allows `types` only,
// or what it allows today if `types` is empty.
absl::Status RegisterDeprecated(OpRegistry& ops, const std::string& name, const std::string& today, int version,
                                const std::string& explanation, const DataTypeVector& types) {
  const OpRegistration* const op = ops.Find(today);
  if (op == nullptr) return errors::Internal(name, " copies ", today, ", which is not registered");
  tensorflow::OpDef def = *op->op_def;
  def.set_name(name);
  def.mutable_deprecation()->set_version(version);
  def.mutable_deprecation()->set_explanation(explanation);
  for (auto& attr : *def.mutable_attr()) {
    if (attr.name() != "T" || types.empty()) continue;
    attr.mutable_allowed_values()->mutable_list()->clear_type();
    for (const DataType type : types) {
      attr.mutable_allowed_values()->mutable_list()->add_type(static_cast<tensorflow::DataType>(type));
    }
  }
  return ops.Register(def, op->shape_fn);
}

absl::Status RegisterSolvers(OpRegistry& ops) {
  const DataTypeVector real = {DT_DOUBLE, DT_FLOAT}, complex = {DT_DOUBLE, DT_FLOAT, DT_COMPLEX64, DT_COMPLEX128};
  struct Copy {
    std::string today;
    DataTypeVector types;
  };
  for (const auto& [today, types] :
       {Copy{"Cholesky", real}, Copy{"CholeskyGrad", {DT_FLOAT, DT_DOUBLE}},
        Copy{"MatrixDeterminant", {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128}}, Copy{"MatrixInverse", real},
        Copy{"MatrixSolve", real}, Copy{"MatrixSolveLs", real}, Copy{"MatrixTriangularSolve", real},
        Copy{"SelfAdjointEigV2", real}, Copy{"Svd", complex}}) {
    RETURN_IF_ERROR(RegisterDeprecated(ops, "Batch" + today, today, 13, "Use " + today + " instead.", types));
  }
  return RegisterDeprecated(ops, "BatchSelfAdjointEig", "SelfAdjointEig", 11, "Use SelfAdjointEigV2 instead.", real);
}

absl::Status RegisterDiagonals(OpRegistry& ops) {
  for (const std::string today : {"MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"}) {
    RETURN_IF_ERROR(RegisterDeprecated(ops, "Batch" + today, today, 14, "Use " + today, {}));
  }
  return ops.Register(Op("BatchMatrixBandPart")
                          .Input("input: T")
                          .Input("num_lower: int64")
                          .Input("num_upper: int64")
                          .Output("band: T")
                          .Attr("T: type")
                          .Deprecated(14, "Use MatrixBandPart")
                          .Shape(shapes::Unchanged));
}

}  // namespace

absl::Status RegisterDeprecatedOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterSolvers(ops));
  return RegisterDiagonals(ops);
}

}  // namespace weir
