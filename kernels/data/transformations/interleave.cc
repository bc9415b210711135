// flat_map and interleave in all their forms.
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <optional>

#include "core/kernel/determinism.h"
#include "core/logging.h"
#include "kernels/data/buffered_iterator.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/stateful_functions.h"

namespace weir {
namespace {

// More slots than this are opened only as the rotation comes to them.
constexpr int64_t kMaxOpenAhead = 64;
constexpr int64_t kCycleIfDeterministic = 8;

class InterleaveDataset : public UnaryDataset {
 public:
  struct Options {
    CapturedFunction function;  // makes a dataset of an element
    int64_t cycle_length = 1, block_length = 1;
    int64_t open_ahead = 0;  // slots whose elements are read before their turn; 0: none
    int64_t buffer_size = 1;
    bool is_legacy = false;  // the first form of parallel interleave
  };
  InterleaveDataset(std::string type, const DatasetPtr& input, const NodeArguments& node, Options options)
      : UnaryDataset(std::move(type), input, node.output_types(), node.output_shapes()), options_(std::move(options)) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    const bool follows_input = options_.open_ahead > 0 && !options_.is_legacy;
    return follows_input && input()->CountElements(ctx) == kInfiniteCardinality ? kInfiniteCardinality
                                                                                : kUnknownCardinality;
  }

 protected:
  const Options& options() const { return options_; }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator;
  const Options options_;
};

// One dataset after the other. They are counted by making them all.
class FlatMapDataset : public InterleaveDataset {
 public:
  FlatMapDataset(const DatasetPtr& input, const NodeArguments& node, Options options)
      : InterleaveDataset("FlatMap", input, node, std::move(options)) {}
  int64_t CountElements(IteratorContext* ctx) const override {
    int64_t count = count_.load(std::memory_order_relaxed);
    // Datasets of an infinite input cannot all be made.
    if (count != kUnknownCardinality || ctx == nullptr || input()->Cardinality() == kInfiniteCardinality) return count;
    const absl::StatusOr<int64_t> sum = Sum(*ctx);
    if (!sum.ok()) {
      WEIR_LOG(WARNING) << "Cannot count the elements of " << DebugString() << ": " << sum.status().message();
      return kUnknownCardinality;
    }
    count_.store(*sum, std::memory_order_relaxed);
    return *sum;
  }
  absl::Status CheckGlobalShuffle() const override {
    return errors::Unimplemented(
        "Please consider applying maps on each dataset, concatenating them into one dataset and apply global shuffle "
        "dataset op onto the dataset to achieve the same result as flat map with global shuffling.");
  }

 private:
  // An error counts even after a dataset of unknown or infinite size.
  absl::StatusOr<int64_t> Sum(IteratorContext& ctx) const {
    ASSIGN_OR_RETURN(const IteratorPtr elements, input()->MakeIterator(ctx));
    for (int64_t sum = 0;;) {
      Element args;
      ASSIGN_OR_RETURN(const bool more, elements->GetNext(ctx, &args));
      if (!more) return sum;
      ASSIGN_OR_RETURN(const DatasetPtr made, options().function.CallForDataset(ctx, std::move(args)));
      if (sum < 0) continue;
      const int64_t n = made->Cardinality();
      sum = n < 0 ? n : n > INT64_MAX - sum ? INT64_MAX : sum + n;
    }
  }

  mutable std::atomic<int64_t> count_{kUnknownCardinality};  // once it was asked for
};

// Goes round over slots, each of which holds the dataset of one element of the input, and takes `block_length` elements
// at each. An empty slot gets the next element of the input when its turn comes. Since slots become empty in the order
// of their turns, they may be filled early, first come first served, without a change in what is put out.
class InterleaveDataset::Iterator : public UnaryIterator<InterleaveDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
    const Options& options = dataset().options_;
    for (;;) {
      RETURN_IF_ERROR(ctx.CheckCancelled());
      RETURN_IF_ERROR(OpenAhead(ctx));
      auto found = slots_.find(turn_);
      if (found == slots_.end()) {
        if (input_at_end_ && slots_.empty()) return false;
        if (!input_at_end_) {
          RETURN_IF_ERROR(Open(ctx));
        } else {
          NextTurn();
        }
        continue;
      }
      const absl::StatusOr<bool> more = found->second->GetNext(ctx, element);
      if (more.ok() && !*more) {
        slots_.erase(found);
        emptied_.push_back(turn_);
        RETURN_IF_ERROR(LeaveEmptySlot(ctx));
        continue;
      }
      RETURN_IF_ERROR(ctx.CheckCancelled());
      // An element that failed counts where it was read ahead.
      if (more.ok() || options.open_ahead > 0) Count();
      RETURN_IF_ERROR(more.status());
      RETURN_IF_ERROR(CheckElement(*element, dataset().output_types()));
      return true;
    }
  }

  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
    writer.Int("turn", turn_);
    writer.Int("taken", taken_);
    writer.Int("opened", opened_);
    writer.Int("input_at_end", input_at_end_ ? 1 : 0);
    writer.Tensor("emptied", Tensor::Vector<int64_t>(std::vector<int64_t>(emptied_.begin(), emptied_.end())));
    writer.Int("slots", static_cast<int64_t>(slots_.size()));
    int64_t i = 0;
    for (auto& [index, slot] : slots_) {
      const StateWriter scope = writer.Scope("slot", i++);
      StateWriter(scope).Int("index", index);
      StateWriter(scope).Tensors("args", slot->args);
      if (slot->args.empty()) StateWriter(scope).Status("failure", slot->failure);
      RETURN_IF_ERROR(slot->Save(ctx, scope.Scope("input")));
    }
    return UnaryIterator::SaveState(ctx, writer);
  }

  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    const int64_t last = dataset().options_.cycle_length - 1;
    ASSIGN_OR_RETURN(turn_, reader.Int("turn", 0, last));
    ASSIGN_OR_RETURN(taken_, reader.Int("taken"));
    ASSIGN_OR_RETURN(opened_, reader.Int("opened", 0, last + 1));
    ASSIGN_OR_RETURN(input_at_end_, reader.Int("input_at_end", 0, 1));
    ASSIGN_OR_RETURN(const Tensor emptied, reader.Tensor("emptied"));
    if (emptied.dtype() != DT_INT64) return errors::InvalidArgument("The saved state has bad slots");
    emptied_.assign(emptied.flat<int64_t>().begin(), emptied.flat<int64_t>().end());
    for (int64_t index : emptied_) {
      if (index < 0 || index > last) return errors::InvalidArgument("The saved state has bad slots");
    }
    ASSIGN_OR_RETURN(const int64_t slots, reader.Int("slots", 0, reader.size()));
    slots_.clear();
    for (int64_t i = 0; i < slots; ++i) {
      const StateReader scope = reader.Scope("slot", i);
      ASSIGN_OR_RETURN(const int64_t index, scope.Int("index", 0, last));
      if (scope.Has("failure_code")) {
        absl::Status failure;
        RETURN_IF_ERROR(scope.Status("failure", &failure));
        slots_[index] = FailedSlot(std::move(failure));
        continue;
      }
      ASSIGN_OR_RETURN(Element args, scope.Tensors("args", dataset().input()->output_types()));
      ASSIGN_OR_RETURN(slots_[index], NewSlot(ctx, std::move(args)));
      RETURN_IF_ERROR(slots_[index]->Restore(ctx, scope.Scope("input")));
    }
    return UnaryIterator::RestoreState(ctx, reader);
  }

 private:
  struct Slot {
    absl::StatusOr<bool> GetNext(IteratorContext& ctx, Element* element) {
      if (iterator == nullptr && !ahead) {
        if (!failure.ok()) return std::exchange(failure, absl::OkStatus());
        return false;
      }
      return ahead ? ahead->GetNext(ctx, element) : iterator->GetNext(ctx, element);
    }
    absl::Status Save(IteratorContext& ctx, StateWriter writer) {
      if (iterator == nullptr && !ahead) return absl::OkStatus();
      return ahead ? ahead->Save(ctx, writer) : iterator->Save(ctx, writer);
    }
    absl::Status Restore(IteratorContext& ctx, const StateReader& reader) {
      if (iterator == nullptr && !ahead) return absl::OkStatus();
      return ahead ? ahead->Restore(ctx, reader) : iterator->Restore(ctx, reader);
    }

    // Of the function that made the dataset: a restored iterator makes it again. Empty if the input failed.
    Element args;
    IteratorPtr iterator;
    std::optional<BufferedIterator> ahead;
    absl::Status failure;  // with neither of them: the reason, reported when the slot's turn comes
  };

  void NextTurn() { turn_ = (turn_ + 1) % dataset().options_.cycle_length; }

  void Count() {
    if (++taken_ < dataset().options_.block_length) return;
    taken_ = 0;
    NextTurn();
  }

  // In the legacy form the next slot goes on with the block, unless the empty one is filled again.
  absl::Status LeaveEmptySlot(IteratorContext& ctx) {
    const int64_t taken = std::exchange(taken_, 0);
    NextTurn();
    if (!dataset().options_.is_legacy) return absl::OkStatus();
    if (!input_at_end_) RETURN_IF_ERROR(Open(ctx));
    if (input_at_end_) taken_ = taken;
    return absl::OkStatus();
  }

  static std::unique_ptr<Slot> FailedSlot(absl::Status failure) {
    auto slot = std::make_unique<Slot>();
    slot->failure = std::move(failure);
    return slot;
  }

  absl::StatusOr<std::unique_ptr<Slot>> NewSlot(IteratorContext& ctx, Element args) {
    const Options& options = dataset().options_;
    auto slot = std::make_unique<Slot>();
    slot->args = std::move(args);
    absl::Status status = OpenSlot(ctx, *slot);
    if (status.ok()) return slot;
    if (options.open_ahead == 0) return status;
    RETURN_IF_ERROR(ctx.CheckCancelled());
    slot->failure = std::move(status);
    return slot;
  }

  absl::Status OpenSlot(IteratorContext& ctx, Slot& slot) {
    const Options& options = dataset().options_;
    ASSIGN_OR_RETURN(const DatasetPtr made, InFunctionOf(dataset(), options.function.CallForDataset(ctx, slot.args)));
    ASSIGN_OR_RETURN(IteratorPtr iterator, made->MakeIterator(ctx));
    if (options.open_ahead > 0) {
      slot.ahead.emplace(ctx, std::move(iterator), options.buffer_size, made->output_types());
    } else {
      slot.iterator = std::move(iterator);
    }
    return absl::OkStatus();
  }

  // Fills the slot that has been empty for longest.
  absl::Status Open(IteratorContext& ctx) {
    Element args;
    const absl::StatusOr<bool> more = input_->GetNext(ctx, &args);
    if (!more.ok() && dataset().options_.open_ahead == 0) return more.status();
    RETURN_IF_ERROR(ctx.CheckCancelled());
    if (more.ok() && !*more) {
      input_at_end_ = true;
      return absl::OkStatus();
    }
    int64_t index = opened_;
    if (opened_ < dataset().options_.cycle_length) {
      ++opened_;
    } else {
      index = emptied_.front();
      emptied_.pop_front();
    }
    absl::StatusOr<std::unique_ptr<Slot>> slot = more.ok() ? NewSlot(ctx, std::move(args)) : FailedSlot(more.status());
    if (!slot.ok()) {
      // The element is lost, the slot stays free: it is the first to be filled.
      if (index + 1 == opened_ && emptied_.empty()) {
        --opened_;
      } else {
        emptied_.push_front(index);
      }
      return slot.status();
    }
    if ((*slot)->ahead) (*slot)->ahead->Start();
    slots_[index] = *std::move(slot);
    return absl::OkStatus();
  }

  absl::Status OpenAhead(IteratorContext& ctx) {
    const int64_t wanted = std::min(dataset().options_.cycle_length, dataset().options_.open_ahead);
    while (!input_at_end_ && static_cast<int64_t>(slots_.size()) < wanted) RETURN_IF_ERROR(Open(ctx));
    return absl::OkStatus();
  }

  std::map<int64_t, std::unique_ptr<Slot>> slots_;
  std::deque<int64_t> emptied_;  // slots to be filled again, in order
  int64_t opened_ = 0;           // slots that were filled once; they come before all others
  int64_t turn_ = 0;
  int64_t taken_ = 0;  // of the current block
  bool input_at_end_ = false;
};

class FlatMapKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    InterleaveDataset::Options options;
    options.function = inputs.Function("f", "other_arguments");
    return std::make_shared<FlatMapDataset>(input, inputs.node(), std::move(options));
  }
};

class InterleaveKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    sequential_ = ctx.op() == "InterleaveDataset";
    deterministic_ = IsDeterministic(ctx.node_def());
    bool ignored;  // the order that is kept is one of those that need not be kept
    return ReadDeterminism(ctx, &ignored);
  }

  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    InterleaveDataset::Options options;
    options.function = inputs.Function("f", "other_arguments");
    ASSIGN_OR_RETURN(options.cycle_length, inputs.Int("cycle_length"));
    const bool fixed_cycle = options.cycle_length != -1;
    // The order of the elements follows from the length of the cycle.
    if (!fixed_cycle) {
      options.cycle_length = deterministic_ ? kCycleIfDeterministic : inputs.ctx().work_queue()->num_threads();
    }
    RETURN_IF_ERROR(CheckPositive("cycle_length", options.cycle_length));
    ASSIGN_OR_RETURN(options.block_length, inputs.Int("block_length"));
    RETURN_IF_ERROR(CheckPositive("block_length", options.block_length));
    options.buffer_size = std::min<int64_t>(options.block_length, kMaxOpenAhead);
    RETURN_IF_ERROR(ReadParallelism(inputs, fixed_cycle, &options));
    if (CallsInOrder(inputs)) options.open_ahead = 0;
    return std::make_shared<InterleaveDataset>(options.open_ahead > 0 ? "ParallelInterleave" : "Interleave", input,
                                               inputs.node(), std::move(options));
  }

 private:
  absl::Status CheckPositive(const char* name, int64_t value) const {
    if (value > 0) return absl::OkStatus();
    return sequential_ ? errors::InvalidArgument(name, " must be greater than zero.")
                       : errors::InvalidArgument("`", name, "` must be > 0");
  }
  static absl::Status ReadParallelism(const NodeInputs& inputs, bool fixed_cycle, InterleaveDataset::Options* options) {
    for (const char* name : {"buffer_output_elements", "prefetch_input_elements"}) {
      if (!inputs.Has(name)) continue;
      ASSIGN_OR_RETURN(const int64_t value, inputs.Int(name));
      if (value < -1) return errors::InvalidArgument("`", name, "` must be >= 0 or -1 but is ", value);
      if (value > 0 && name[0] == 'b') options->buffer_size = value;
      options->open_ahead = std::min(options->cycle_length, kMaxOpenAhead);
    }
    if (!inputs.Has("num_parallel_calls")) {
      options->is_legacy = inputs.Has("buffer_output_elements");
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const int64_t calls, inputs.Int("num_parallel_calls"));
    if (calls < 1 && calls != -1) return errors::InvalidArgument("num_parallel_calls must be greater than zero.");
    if (fixed_cycle && calls > options->cycle_length) {
      return errors::InvalidArgument(
          "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be either `tf.data.AUTOTUNE` or a "
          "value ",
          "less than or equal to `cycle_length`. However, `num_parallel_calls` is ", calls, " and `cycle_length` is ",
          options->cycle_length);
    }
    options->open_ahead = std::min({calls == -1 ? kMaxOpenAhead : calls, options->cycle_length, kMaxOpenAhead});
    return absl::OkStatus();
  }

  bool sequential_ = false, deterministic_ = false;
};

}  // namespace

absl::Status RegisterInterleaveKernels(KernelRegistry& kernels) {
  for (const char* op : {"InterleaveDataset", "ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset",
                         "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3", "ParallelInterleaveDatasetV4",
                         "LegacyParallelInterleaveDatasetV2"}) {
    RETURN_IF_ERROR(kernels.Register<InterleaveKernel>(Kernel(op).Cpu()));
  }
  return kernels.Register<FlatMapKernel>(Kernel("FlatMapDataset").Cpu());
}

}  // namespace weir
