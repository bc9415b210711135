// The arguments of the MatrixDiag family, on whatever device: checked in TensorFlow's words.
#pragma once

#include "core/op_kernel.h"
#include "kernels/array/diagonal/diagonal_band.h"

namespace weir {

// Attribute `align`, which the second versions lack.
absl::Status ReadAlignment(OpKernelConstruction& ctx, DiagonalBand* band);

// Of MatrixDiagV2 and V3 (diagonal, k, num_rows, num_cols, padding_value): completes `band`, which has its alignment,
// and gives the output's shape.
absl::StatusOr<TensorShape> ReadDiagonalsToPlace(OpKernelContext& ctx, DiagonalBand* band);
// Of MatrixDiagPartV2 and V3 (input, k, padding_value).
absl::StatusOr<TensorShape> ReadDiagonalsToTake(OpKernelContext& ctx, DiagonalBand* band);
// Of MatrixSetDiagV2 and V3 (input, diagonal, k). The output has the input's shape.
absl::Status ReadDiagonalsToSet(OpKernelContext& ctx, DiagonalBand* band);

// Matrices before the last two dimensions of `shape`.
int64_t CountMatrices(const TensorShape& shape);
// Input 0 of MatrixDiagPart, and what it gives.
absl::StatusOr<TensorShape> MainDiagonalShape(const TensorShape& matrices);
// Inputs 0 and 1 of MatrixSetDiag.
absl::Status CheckMainDiagonal(const TensorShape& matrices, const TensorShape& diagonal);
// Input 0 of DiagPart, and what it gives.
absl::StatusOr<TensorShape> DiagonalOfTensorShape(const TensorShape& tensor);
// MatrixBandPart's inputs: the band's bounds, negative where they keep all.
struct BandPart {
  int64_t lower = 0, upper = 0;
};
absl::StatusOr<BandPart> ReadBandPart(OpKernelContext& ctx);

}  // namespace weir
