// Applies a function to the elements of an iterator, several at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/data/background.h"
#include "kernels/data/map_function.h"

namespace weir {

// Reads its input on a blocking thread and calls the function on the compute threads, in at most `parallelism` chains:
// one call after the other, as long as there are some to make, so that threads need not wake each other for each. Keeps
// at most `parallelism` calls and results, and some more where what they hold is small. Results come in the order of
// the input, or, where that is not asked for, as they are ready. Used by one thread at a time, as iterators are.
class ParallelMapper {
 public:
  struct Options {
    const MapFunction* map = nullptr;  // lives as long as the mapper
    int64_t parallelism = 1;
    bool deterministic = true;
    bool is_filter = false;                // the function is a predicate; elements for which it holds are the results
    DataTypeVector types;                  // of results
    const DatasetBase* dataset = nullptr;  // whose function it is, for errors; lives as long as the mapper
  };
  ParallelMapper(const IteratorContext& ctx, IteratorPtr input, Options options);
  // Cancels calls and waits for them.
  ~ParallelMapper();

  absl::StatusOr<bool> GetNext(IteratorContext& ctx, Element* element);
  // What is being computed is waited for and saved.
  absl::Status Save(IteratorContext& ctx, StateWriter writer);
  absl::Status Restore(IteratorContext& ctx, const StateReader& reader);

 private:
  struct Call {
    bool is_done = false, is_end = false, is_dropped = false;
    absl::Status status;
    Element args;
    Element element;
    int64_t bytes = 0;  // what it holds or, before it is done, will hold if its result is like the last
  };
  struct Calls : Monitor {
    std::deque<std::shared_ptr<Call>> list GUARDED_BY(mu);     // in the order of the input
    std::deque<std::shared_ptr<Call>> waiting GUARDED_BY(mu);  // those of the list that were not yet made
    int64_t chains GUARDED_BY(mu) = 0;                         // that make calls; none: all that were made are done
    int64_t bytes GUARDED_BY(mu) = 0;                          // of all calls of the list
    int64_t result_bytes GUARDED_BY(mu) = int64_t{1} << 40;    // of the last result; unknown at first
    bool at_end GUARDED_BY(mu) = false;
  };

  // Reads what one call is for; false when there is nothing more to do for now.
  bool Read();
  // Makes calls until none is waiting. Ends, or goes on elsewhere, when a call does.
  void RunChain();
  void Finish(const std::shared_ptr<Call>& call, absl::StatusOr<Element> result);
  // Both under the lock of the calls.
  int64_t MostCalls() const;
  void Count(Call* call, int64_t bytes);
  // The element that the call was for, or none, as the predicate's result says.
  absl::StatusOr<bool> Filter(absl::StatusOr<Element> result, Call* call) const;
  // The call whose turn it is; null when there is none yet.
  std::shared_ptr<Call> TakeReady();
  absl::Status WaitForCalls(const IteratorContext& ctx);

  const Options options_;
  const std::shared_ptr<IteratorRoot> root_;
  CancellationManager cancellation_;  // of calls and of what is read
  IteratorContext context_;
  const IteratorPtr input_;
  const std::shared_ptr<Calls> calls_;
  std::unique_ptr<BackgroundLoop> loop_;
};

// An iterator of a dataset D that a mapper makes, as D::mapper_options() says.
template <typename D>
class ParallelMapperIterator : public DatasetIterator<D> {
 public:
  using DatasetIterator<D>::DatasetIterator;
  absl::Status Initialize(IteratorContext& ctx) override {
    ASSIGN_OR_RETURN(IteratorPtr input, this->dataset().input()->MakeIterator(ctx));
    mapper_.emplace(ctx, std::move(input), this->dataset().mapper_options());
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override { return mapper_->GetNext(ctx, element); }
  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override { return mapper_->Save(ctx, writer); }
  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    return mapper_->Restore(ctx, reader);
  }

 private:
  std::optional<ParallelMapper> mapper_;
};

}  // namespace weir
