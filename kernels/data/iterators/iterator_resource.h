// The object behind iterator ops.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "core/device/resource_manager.h"
#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "kernels/data/dataset.h"
#include "kernels/data/dataset_graph.h"

namespace weir {

// An iterator that steps of one or many sessions share. Thread-safe. What is asked of it is done in the order of
// asking, one at a time, on a thread that may block; callers never block. A request ends early when its step is
// cancelled; the iterator stays as it is.
class IteratorResource : public Resource, public std::enable_shared_from_this<IteratorResource> {
 public:
  static constexpr char kTypeName[] = "tensorflow::data::IteratorResource";
  using DoneCallback = std::function<void(absl::Status)>;

  // Types and shapes that datasets must have; no types: any.
  IteratorResource(Device* device, DataTypeVector types, std::vector<PartialTensorShape> shapes)
      : device_(device), work_queue_(device->work_queue()), types_(std::move(types)), shapes_(std::move(shapes)) {}
  // Ends what the iterator does in the background.
  ~IteratorResource() override;

  std::string DebugString() const override { return "Iterator"; }
  // InvalidArgument unless an iterator for these can stand for this one.
  absl::Status CheckMatches(const DataTypeVector& types, const std::vector<PartialTensorShape>& shapes) const;

  // The element, or none at the end.
  struct Result {
    bool has_element = false;
    Element element;
  };
  // `done` runs once, with no lock held, and may run before the call returns. `step` lives until then.
  void GetNext(const StepContext& step, std::function<void(absl::StatusOr<Result>)> done);
  // Begins a pass over `dataset`, in place of the one before.
  void SetDataset(const StepContext& step, DatasetPtr dataset, DoneCallback done);
  // The same with a dataset that `make` gives, unless there is one already.
  using MakeDataset = std::function<absl::StatusOr<DatasetPtr>(IteratorContext&)>;
  void SetDatasetOnce(const StepContext& step, MakeDataset make, DoneCallback done);
  void Save(const StepContext& step, ExternalStatePolicy policy,
            std::function<void(absl::StatusOr<std::shared_ptr<IteratorState>>)> done);
  void Restore(const StepContext& step, std::shared_ptr<const IteratorState> state, DoneCallback done);

 private:
  // A pass over a dataset. Destroying it ends what it does in the background.
  struct Pass {
    ~Pass();
    std::shared_ptr<IteratorRoot> root;
    DatasetPtr dataset;
    IteratorPtr iterator;
  };
  struct Request {
    int64_t id = 0;
    std::function<absl::Status(const Request&)> work;
    DoneCallback done;
    std::shared_ptr<CancellationManager> cancellation;
    CancellationManager* step_cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    int call_depth = 0;
    std::string session_handle;
  };

  void Add(const StepContext& step, std::function<absl::Status(const Request&)> work, DoneCallback done);
  void Drop(int64_t id);
  static void RunAll(std::shared_ptr<IteratorResource> self);
  bool TakeRequest(Request* request);
  absl::StatusOr<std::unique_ptr<Pass>> Begin(const Request& request, const MakeDataset& make);
  IteratorContext Context(const Request& request, const std::shared_ptr<IteratorRoot>& root) const;

  Device* const device_;
  WorkQueue* const work_queue_;  // may outlive the device: what reads ahead lets go of its iterator last
  const DataTypeVector types_;
  const std::vector<PartialTensorShape> shapes_;
  std::unique_ptr<Pass> pass_;  // only the request that is served touches it

  Mutex mu_;
  std::deque<Request> requests_ GUARDED_BY(mu_);
  int64_t next_id_ GUARDED_BY(mu_) = 0;
  bool is_running_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
