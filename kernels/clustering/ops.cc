// Nearest centers, and initial centers for k-means.
#include "kernels/clustering/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {

absl::Status RegisterClusterOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("NearestNeighbors")
                                   .Input("points: float")
                                   .Input("centers: float")
                                   .Input("k: int64")
                                   .Output("nearest_center_indices: int64")
                                   .Output("nearest_center_distances: float")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("KmeansPlusPlusInitialization")
                                   .Input("points: float")
                                   .Input("num_to_sample: int64")
                                   .Input("seed: int64")
                                   .Input("num_retries_per_sample: int64")
                                   .Output("samples: float")
                                   .Shape(shapes::Unknown)));
  return ops.Register(Op("KMC2ChainInitialization")
                          .Input("distances: float")
                          .Input("seed: int64")
                          .Output("index: int64")
                          .Shape(shapes::Scalar));
}

}  // namespace weir
