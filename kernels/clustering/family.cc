#include "kernels/clustering/family.h"

namespace weir {

OpFamily ClusteringFamily() {
  return {
      .name = "clustering",
      .ops = {RegisterClusterOps},
      .kernels = {RegisterClusterKernels},
  };
}

}  // namespace weir
