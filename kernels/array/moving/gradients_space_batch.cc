// Gradients of blocks of space in the batch or the channels: each moves elements back.
#include "graph/gradients/gradient_context.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

template <const char* kBack>
absl::Status BlocksBack(G& g) {
  g.set_grad(0, g.Call(kBack, {g.dy(), g.input(1), g.input(2)}));
  return absl::OkStatus();
}
template <const char* kBack>
absl::Status BlocksBackV1(G& g) {
  g.set_grad(0, g.Call(kBack, {g.dy(), g.input(1)}, {G::Set("block_size", g.Attr<int64_t>("block_size"))}));
  return absl::OkStatus();
}
template <const char* kBack>
absl::Status DepthBack(G& g) {
  g.set_grad(0, g.Call(kBack, {g.dy()},
                       {G::Set("block_size", g.Attr<int64_t>("block_size")),
                        G::Set("data_format", g.Attr<std::string>("data_format"))}));
  return absl::OkStatus();
}
constexpr char kSpaceToBatchNd[] = "SpaceToBatchND", kBatchToSpaceNd[] = "BatchToSpaceND",
               kSpaceToBatch[] = "SpaceToBatch", kBatchToSpace[] = "BatchToSpace", kSpaceToDepth[] = "SpaceToDepth",
               kDepthToSpace[] = "DepthToSpace";

}  // namespace

absl::Status RegisterSpaceBatchGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"SpaceToBatchND", BlocksBack<kBatchToSpaceNd>}, {"BatchToSpaceND", BlocksBack<kSpaceToBatchNd>},
      {"SpaceToBatch", BlocksBackV1<kBatchToSpace>},   {"BatchToSpace", BlocksBackV1<kSpaceToBatch>},
      {"SpaceToDepth", DepthBack<kDepthToSpace>},      {"DepthToSpace", DepthBack<kSpaceToDepth>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
