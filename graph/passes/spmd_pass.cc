#include "graph/passes/pass_manager.h"
#include "graph/spmd/partitioner.h"

namespace weir {
namespace {

class SpmdPass : public Pass {
 public:
  absl::string_view name() const override { return "spmd"; }
  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Graph> result, PartitionSpmd(context, *graph));
    if (result == nullptr) return absl::OkStatus();
    *changes += result->num_nodes();
    *graph = std::move(*result);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeSpmdPass() { return std::make_unique<SpmdPass>(); }

}  // namespace weir
