#include "worker/device_work.h"

#include <memory>
#include <utility>

#include "absl/strings/str_join.h"
#include "core/gpu/gpu_op_kernel.h"
#include "graph/graph.h"
#include "worker/capture/captured_segment.h"

namespace weir {
namespace {

constexpr size_t kNamed = 4;

void AppendNodes(const Plan& plan, std::vector<std::string>* nodes) {
  for (const PlanNode& node : plan.nodes) {
    if (const auto* segment = dynamic_cast<const CapturedSegment*>(node.kernel)) {
      AppendNodes(segment->plan(), nodes);
    } else if (dynamic_cast<const GpuOpKernel*>(node.kernel) != nullptr) {
      nodes->push_back(absl::StrCat("{{node ", node.node->name(), "}}"));
    }
  }
}

absl::Status Failure(const GpuDevice& gpu, const Plan& plan, const absl::Status& status) {
  std::vector<std::string> nodes;
  AppendNodes(plan, &nodes);
  const size_t more = nodes.size() > kNamed ? nodes.size() - kNamed : 0;
  nodes.resize(nodes.size() - more);
  const absl::Status named(
      status.code(), absl::StrCat(status.message(), "; work on ", gpu.name(), " failed that was enqueued by the nodes ",
                                  absl::StrJoin(nodes, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  return WithOrigin(named, {.task = gpu.parsed_name().TaskName(), .device = gpu.name()});
}

// Gives the callback to the first caller.
class Once {
 public:
  explicit Once(std::function<void(absl::Status)> done) : done_(std::move(done)) {}
  std::function<void(absl::Status)> Take() {
    MutexLock lock(mu_);
    return std::exchange(done_, nullptr);
  }

 private:
  Mutex mu_;
  std::function<void(absl::Status)> done_ GUARDED_BY(mu_);
};

}  // namespace

void AwaitDeviceWork(GpuDevice& gpu, const Plan& plan, CancellationManager& cancellation,
                     std::function<void(absl::Status)> done) {
  auto once = std::make_shared<Once>(std::move(done));
  WorkQueue* const queue = gpu.work_queue();
  const auto token = cancellation.Register([once, &cancellation, queue] {
    if (auto taken = once->Take(); taken != nullptr) {
      queue->Schedule([taken = std::move(taken), status = cancellation.status()] { taken(status); });
    }
  });
  if (token == CancellationManager::kInvalidToken) return once->Take()(cancellation.status());
  gpu.completions().Then(&gpu.compute(), [once, &gpu, &plan, &cancellation, token, queue](absl::Status status) {
    auto taken = once->Take();
    if (taken == nullptr) return;  // the plan and the step may be destroyed by now
    cancellation.TryDeregister(token);
    if (!status.ok()) status = Failure(gpu, plan, status);
    queue->Schedule([taken = std::move(taken), status = std::move(status)] { taken(status); });
  });
}

}  // namespace weir
