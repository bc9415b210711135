// Rows and columns of a checkpoint's matrix, loaded in the order of a new vocabulary.
#include "kernels/io/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using sparse_shapes::WithRanks;

absl::Status LoadAndRemapMatrixShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {0, 0, 1, 1, 1}));
  int64_t rows, columns;
  RETURN_IF_ERROR(c.GetAttr("num_rows", &rows));
  RETURN_IF_ERROR(c.GetAttr("num_cols", &columns));
  c.set_output(0, c.Matrix(rows, columns));
  return absl::OkStatus();
}

absl::Status GenerateVocabRemappingShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {0, 0}));
  int64_t words;
  RETURN_IF_ERROR(c.GetAttr("num_new_vocab", &words));
  c.set_output(0, c.Vector(words));
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRemappingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("LoadAndRemapMatrix")
                                   .Input("ckpt_path: string")
                                   .Input("old_tensor_name: string")
                                   .Input("row_remapping: int64")
                                   .Input("col_remapping: int64")
                                   .Input("initializing_values: float")
                                   .Output("output_matrix: float")
                                   .Attr("num_rows: int >= 0")
                                   .Attr("num_cols: int >= 1")
                                   .Attr("max_rows_in_memory: int = -1")
                                   .Stateful()
                                   .Shape(LoadAndRemapMatrixShape)));
  RETURN_IF_ERROR(ops.Register(Op("GenerateVocabRemapping")
                                   .Input("new_vocab_file: string")
                                   .Input("old_vocab_file: string")
                                   .Output("remapping: int64")
                                   .Output("num_present: int32")
                                   .Attr("new_vocab_offset: int >= 0")
                                   .Attr("num_new_vocab: int >= 0")
                                   .Attr("old_vocab_size: int >= -1 = -1")
                                   .Shape(GenerateVocabRemappingShape)));
  return absl::OkStatus();
}

}  // namespace weir
