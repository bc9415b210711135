// Argument checks of the MatrixDiag family for all devices, with TensorFlow's messages.
#pragma once

#include "core/kernel/op_kernel.h"
#include "kernels/array/diagonal/diagonal_band.h"

namespace weir {

// Attribute `align`, which the second versions lack.
absl::Status ReadAlignment(OpKernelConstruction& ctx, DiagonalBand* band);

// MatrixDiagV2 and V3 (diagonal, k, num_rows, num_cols, padding_value): fills in `band`, whose alignment is set, and
// returns the output's shape.
absl::StatusOr<TensorShape> ReadDiagonalsToPlace(OpKernelContext& ctx, DiagonalBand* band);
// MatrixDiagPartV2 and V3 (input, k, padding_value).
absl::StatusOr<TensorShape> ReadDiagonalsToTake(OpKernelContext& ctx, DiagonalBand* band);
// MatrixSetDiagV2 and V3 (input, diagonal, k). The output has the input's shape.
absl::Status ReadDiagonalsToSet(OpKernelContext& ctx, DiagonalBand* band);

// The number of matrices in a batch of `shape`: the product of all but the last two dimensions.
int64_t CountMatrices(const TensorShape& shape);
// Checks input 0 of MatrixDiagPart and returns the output's shape.
absl::StatusOr<TensorShape> MainDiagonalShape(const TensorShape& matrices);
// Inputs 0 and 1 of MatrixSetDiag.
absl::Status CheckMainDiagonal(const TensorShape& matrices, const TensorShape& diagonal);
// Checks input 0 of DiagPart and returns the output's shape.
absl::StatusOr<TensorShape> DiagonalOfTensorShape(const TensorShape& tensor);
// The bounds of MatrixBandPart's band; a negative one keeps all diagonals on its side.
struct BandPart {
  int64_t lower = 0, upper = 0;
};
absl::StatusOr<BandPart> ReadBandPart(OpKernelContext& ctx);

}  // namespace weir
