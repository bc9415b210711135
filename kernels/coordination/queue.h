// The object behind the queue ops: tuples of tensors between producers and consumers of one or many steps.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/resource_manager.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"
#include "kernels/random/random_fill.h"

namespace weir {

// [[2,3], []] and the like, for messages.
std::string ShapeListName(absl::Span<const PartialTensorShape> shapes);

// Thread-safe. Requests of each direction are served in their order. Nothing blocks: a request that has to wait is
// kept, and its callback runs, with no lock held, on the thread that makes it possible, closes the queue or cancels.
class Queue : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  using Tuple = std::vector<Tensor>;
  using DoneCallback = std::function<void(absl::Status)>;
  using DequeueCallback = std::function<void(absl::StatusOr<std::vector<Tuple>>)>;

  // kPriority: the smallest first component, an integer, comes first; equal ones in the order that they came.
  enum class Order { kFirstInFirstOut, kShuffled, kPriority };
  struct Options {
    std::string kind;  // "FIFOQueue" and so on, for messages
    std::string name;
    DataTypeVector types;
    std::vector<PartialTensorShape> shapes;  // none, or one a component
    int64_t capacity = -1;                   // negative: none
    Order order = Order::kFirstInFirstOut;
    bool padded = false;            // elements of a batch are padded with zeros where their shapes differ
    int64_t min_after_dequeue = 0;  // shuffling only
    int64_t seed = 0, seed2 = 0;    // both zero: by chance
  };

  explicit Queue(Options options);
  std::string DebugString() const override;
  const Options& options() const { return options_; }
  // InvalidArgument unless a queue with these options, which a node of that op makes, can stand for this one.
  absl::Status CheckMatches(const Options& other, absl::string_view op) const;
  // InvalidArgument unless the tensors are what one element (or, with `many`, a batch of them) has.
  absl::Status CheckTuple(const Tuple& tuple, bool many) const;

  // Components of several elements, each stacked (and padded, where this queue does that) to one tensor.
  absl::StatusOr<Tuple> Stack(const OpKernelContext& ctx, const std::vector<Tuple>& tuples) const;

  // Done when all are in. Cancelled when the queue is closed first.
  void Enqueue(std::vector<Tuple> tuples, CancellationManager* cancellation, DoneCallback done);
  // Done with `count` elements; with `up_to`, with fewer but at least one when the queue is closed. OutOfRange when it
  // is closed and has too few.
  void Dequeue(int64_t count, bool up_to, CancellationManager* cancellation, DequeueCallback done);
  // Takes its turn behind waiting enqueues, or fails them.
  void Close(bool cancel_pending_enqueues, CancellationManager* cancellation, DoneCallback done);
  int64_t size() const;
  bool is_closed() const;

 private:
  struct Request {
    int64_t id = 0;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    std::deque<Tuple> tuples;  // yet to go in, or taken so far
    int64_t count = 0;
    bool up_to = false, close = false;
    DoneCallback done;
    DequeueCallback dequeued;
  };
  using Finished = std::vector<std::function<void()>>;

  void Add(std::deque<Request>& requests, Request request, const char* what);
  void Cancel(bool enqueue, int64_t id, CancellationManager* cancellation);
  void Advance(Finished* finished) REQUIRES(mu_);
  bool AdvanceEnqueue(Request& request, Finished* finished) REQUIRES(mu_);
  bool AdvanceDequeue(Request& request, Finished* finished) REQUIRES(mu_);
  int64_t Count() const REQUIRES(mu_);
  void Put(Tuple tuple) REQUIRES(mu_);
  Tuple TakeOne() REQUIRES(mu_);
  void Return(Request& request) REQUIRES(mu_);
  static void Finish(Request& request, absl::Status status, Finished* finished);

  const Options options_;
  mutable Mutex mu_;
  std::deque<Tuple> elements_ GUARDED_BY(mu_);
  std::multimap<int64_t, Tuple> by_priority_ GUARDED_BY(mu_);  // instead of elements_
  std::deque<Request> enqueues_ GUARDED_BY(mu_), dequeues_ GUARDED_BY(mu_);
  bool closed_ GUARDED_BY(mu_) = false;
  int64_t next_id_ GUARDED_BY(mu_) = 0;
  SingleSamples random_ GUARDED_BY(mu_);
};

class KernelRegistry;
// The part of RegisterQueueKernels that makes queues.

}  // namespace weir
