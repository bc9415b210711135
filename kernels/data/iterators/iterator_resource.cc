#include "kernels/data/iterators/iterator_resource.h"

#include <utility>

#include "core/memory/out_of_memory.h"
#include "kernels/data/asserted_chain.h"

namespace weir {
namespace {

absl::Status NotInitialized(absl::string_view what, absl::string_view doing) {
  return errors::FailedPrecondition(what,
                                    "() failed because the iterator has not been initialized. Ensure that you have run "
                                    "the initializer operation for this iterator before ",
                                    doing, ".");
}

}  // namespace

IteratorResource::Pass::~Pass() {
  if (root != nullptr) root->cancellation().StartCancel(errors::Cancelled("The iterator was given up"));
  iterator.reset();
}

IteratorResource::~IteratorResource() {
  if (pass_ == nullptr) return;
  if (!work_queue_->InComputeThread()) return;
  // The end of a pass waits for calls that may need this very thread.
  work_queue_->ScheduleBlocking([pass = std::shared_ptr<Pass>(std::move(pass_))]() mutable { pass.reset(); });
}

absl::Status IteratorResource::CheckMatches(const DataTypeVector& types,
                                            const std::vector<PartialTensorShape>& shapes) const {
  if (types.empty() || types_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckTypesMatch(types, types_));
  return shapes.empty() || shapes_.empty() ? absl::OkStatus() : CheckShapesCompatible(shapes, shapes_);
}

IteratorContext IteratorResource::Context(const Request& request, const std::shared_ptr<IteratorRoot>& root) const {
  return IteratorContext{root, request.cancellation.get(), request.call_depth};
}

void IteratorResource::Add(const StepContext& step, std::function<absl::Status(const Request&)> work,
                           DoneCallback done) {
  auto cancellation = std::make_shared<CancellationManager>();
  Request request;
  request.work = std::move(work);
  request.done = std::move(done);
  request.cancellation = cancellation;
  request.step_cancellation = step.cancellation;
  request.call_depth = step.call_depth;
  request.session_handle = step.session_handle;
  {
    MutexLock lock(mu_);
    request.id = next_id_++;
  }
  if (CancellationManager* const caller = step.cancellation; caller != nullptr) {
    request.token = caller->Register([weak = weak_from_this(), caller, cancellation, id = request.id] {
      cancellation->StartCancel(caller->status());
      if (auto self = weak.lock()) self->Drop(id);
    });
    if (request.token == CancellationManager::kInvalidToken) return request.done(caller->status());
  }
  {
    MutexLock lock(mu_);
    requests_.push_back(std::move(request));
    if (is_running_) return;
    is_running_ = true;
  }
  device_->work_queue()->ScheduleBlocking([self = shared_from_this()]() mutable { RunAll(std::move(self)); });
}

// A request that waits for its turn. One that is served finds out by itself; so does one that is cancelled while it is
// being added.
void IteratorResource::Drop(int64_t id) {
  Request dropped;
  {
    MutexLock lock(mu_);
    auto it = requests_.begin();
    while (it != requests_.end() && it->id != id) ++it;
    if (it == requests_.end()) return;
    dropped = std::move(*it);
    requests_.erase(it);
  }
  dropped.done(dropped.cancellation->status());
}

bool IteratorResource::TakeRequest(Request* request) {
  MutexLock lock(mu_);
  if (requests_.empty()) {
    is_running_ = false;
    return false;
  }
  *request = std::move(requests_.front());
  requests_.pop_front();
  return true;
}

// The last `done` is called once the iterator is released: the device may go with the step.
void IteratorResource::RunAll(std::shared_ptr<IteratorResource> self) {
  Request request;
  for (bool more = self->TakeRequest(&request); more;) {
    absl::Status status = request.cancellation->status();
    if (status.ok()) status = OrOutOfMemory([&] { return request.work(request); });
    if (request.step_cancellation != nullptr) request.step_cancellation->TryDeregister(request.token);
    DoneCallback done = std::move(request.done);
    request = Request();
    more = self->TakeRequest(&request);
    if (!more) self.reset();
    done(std::move(status));
  }
}

absl::StatusOr<std::unique_ptr<IteratorResource::Pass>> IteratorResource::Begin(const Request& request,
                                                                                const MakeDataset& make) {
  auto pass = std::make_unique<Pass>();
  pass->root = std::make_shared<IteratorRoot>(device_, request.session_handle);
  IteratorContext ctx = Context(request, pass->root);
  ASSIGN_OR_RETURN(pass->dataset, make(ctx));
  if (!types_.empty()) {
    RETURN_IF_ERROR(CheckTypesMatch(types_, pass->dataset->output_types()));
    RETURN_IF_ERROR(CheckShapesCompatible(shapes_, pass->dataset->output_shapes()));
  }
  RETURN_IF_ERROR(CheckAssertedNext(*pass->dataset));
  ASSIGN_OR_RETURN(pass->iterator, pass->dataset->MakeIterator(ctx));
  return pass;
}

void IteratorResource::SetDataset(const StepContext& step, DatasetPtr dataset, DoneCallback done) {
  Add(
      step,
      [this, dataset = std::move(dataset)](const Request& request) -> absl::Status {
        ASSIGN_OR_RETURN(pass_, Begin(request, [&dataset](IteratorContext&) { return dataset; }));
        return absl::OkStatus();
      },
      std::move(done));
}

void IteratorResource::SetDatasetOnce(const StepContext& step, MakeDataset make, DoneCallback done) {
  Add(
      step,
      [this, make = std::move(make)](const Request& request) -> absl::Status {
        if (pass_ != nullptr) return absl::OkStatus();
        ASSIGN_OR_RETURN(pass_, Begin(request, make));
        return absl::OkStatus();
      },
      std::move(done));
}

void IteratorResource::GetNext(const StepContext& step, std::function<void(absl::StatusOr<Result>)> done) {
  auto result = std::make_shared<Result>();
  Add(
      step,
      [this, result](const Request& request) -> absl::Status {
        if (pass_ == nullptr) return NotInitialized("GetNext", "getting the next element");
        IteratorContext ctx = Context(request, pass_->root);
        ASSIGN_OR_RETURN(result->has_element, pass_->iterator->GetNext(ctx, &result->element));
        return absl::OkStatus();
      },
      [result, done = std::move(done)](absl::Status status) {
        if (!status.ok()) return done(std::move(status));
        done(std::move(*result));
      });
}

void IteratorResource::Save(const StepContext& step, ExternalStatePolicy policy,
                            std::function<void(absl::StatusOr<std::shared_ptr<IteratorState>>)> done) {
  auto state = std::make_shared<IteratorState>();
  Add(
      step,
      [this, policy, state](const Request& request) -> absl::Status {
        if (pass_ == nullptr) return NotInitialized("Save", "saving it");
        RETURN_IF_ERROR(CheckExternalState(*pass_->dataset, policy));
        IteratorContext ctx = Context(request, pass_->root);
        return pass_->iterator->Save(ctx, StateWriter(state.get()));
      },
      [state, done = std::move(done)](absl::Status status) {
        if (!status.ok()) return done(std::move(status));
        done(state);
      });
}

void IteratorResource::Restore(const StepContext& step, std::shared_ptr<const IteratorState> state, DoneCallback done) {
  Add(
      step,
      [this, state = std::move(state)](const Request& request) -> absl::Status {
        if (pass_ == nullptr) return NotInitialized("Restore", "restoring it");
        ASSIGN_OR_RETURN(std::unique_ptr<Pass> pass,
                         Begin(request, [this](IteratorContext&) { return pass_->dataset; }));
        IteratorContext ctx = Context(request, pass->root);
        RETURN_IF_ERROR(pass->iterator->Restore(ctx, StateReader(state.get())));
        pass_ = std::move(pass);
        return absl::OkStatus();
      },
      std::move(done));
}

}  // namespace weir
