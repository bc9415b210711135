// Datasets that count elements: repeat, skip, take, shard, assert_cardinality.
#include <algorithm>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// --- Repeat ---

class RepeatDataset : public UnaryDataset {
 public:
  // Negative count: endless.
  RepeatDataset(const DatasetPtr& input, int64_t count) : UnaryDataset("Repeat", input), count_(count) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t n = input()->CountElements(ctx);
    if (count_ < 0) return n == 0 ? 0 : kInfiniteCardinality;
    if (count_ == 0) return 0;
    if (n < 0) return n;
    return n > 0 && count_ > INT64_MAX / n ? INT64_MAX : n * count_;
  }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override {
    if (count_ > 0) return CheckInputsGlobalShuffle();
    return errors::FailedPrecondition("`repeat(", count_, ")` does not support random access of tf.data datasets.");
  }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    return input()->Get(ctx, index % input()->Cardinality(), element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<RepeatDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      while (dataset().count_ < 0 || round_ < dataset().count_) {
        RETURN_IF_ERROR(ctx.CheckCancelled());
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
        if (more) {
          round_is_empty_ = false;
          return true;
        }
        ++round_;
        if (dataset().count_ < 0 && round_is_empty_) return false;  // else this would never end
        if (dataset().count_ >= 0 && round_ == dataset().count_) return false;
        round_is_empty_ = true;
        ASSIGN_OR_RETURN(input_, dataset().input()->MakeIterator(ctx));
      }
      return false;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("round", round_);
      writer.Int("round_is_empty", round_is_empty_ ? 1 : 0);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(round_, reader.Int("round"));
      ASSIGN_OR_RETURN(round_is_empty_, reader.Int("round_is_empty", 0, 1));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    int64_t round_ = 0;
    bool round_is_empty_ = true;
  };

  const int64_t count_;
};

// --- Skip ---

class SkipDataset : public UnaryDataset {
 public:
  // Negative count: everything.
  SkipDataset(const DatasetPtr& input, int64_t count) : UnaryDataset("Skip", input), count_(count) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t n = input()->CountElements(ctx);
    if (n < 0) return n;
    return count_ < 0 ? 0 : std::max<int64_t>(0, n - count_);
  }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override {
    if (count_ >= 0) return CheckInputsGlobalShuffle();
    return errors::FailedPrecondition(
        "Global shuffling does not support empty dataset or skipping the entire dataset. Got skip(", count_, ").");
  }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    return input()->Get(ctx, index + count_, element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SkipDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (dataset().count_ < 0) return false;
      // After an error it skips as many once more.
      const int64_t left = dataset().count_ - skipped_;
      for (int64_t i = 0; i < left; ++i) {
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
        if (!more) return false;
      }
      skipped_ = dataset().count_;
      return input_->GetNext(ctx, element);
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("skipped", skipped_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(skipped_, reader.Int("skipped"));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    int64_t skipped_ = 0;
  };

  const int64_t count_;
};

// --- Take ---

class TakeDataset : public SameElementsDataset {
 public:
  // Negative count: everything.
  TakeDataset(const DatasetPtr& input, int64_t count) : SameElementsDataset("Take", input), count_(count) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t n = input()->CountElements(ctx);
    if (n == kUnknownCardinality) return n;
    if (n == kInfiniteCardinality) return count_ < 0 ? n : count_;
    return count_ < 0 ? n : std::min(n, count_);
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<TakeDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (dataset().count_ >= 0 && taken_ >= dataset().count_) return false;
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
      if (more) ++taken_;
      return more;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("taken", taken_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(taken_, reader.Int("taken"));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    int64_t taken_ = 0;
  };

  const int64_t count_;
};

// --- Shard ---

class ShardDataset : public UnaryDataset {
 public:
  ShardDataset(const DatasetPtr& input, int64_t shards, int64_t index, bool require_non_empty)
      : UnaryDataset("Shard", input), shards_(shards), index_(index), require_non_empty_(require_non_empty) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t n = input()->CountElements(ctx);
    return n < 0 ? n : n / shards_ + (index_ < n % shards_ ? 1 : 0);
  }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    return input()->Get(ctx, index * shards_ + index_, element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<ShardDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const int64_t wanted = dataset().index_, shards = dataset().shards_;
      for (bool found = false; !found; position_ = (position_ + 1) % shards) {
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
        if (!more) return false;
        found = position_ == wanted;
      }
      if (!first_round_ || !dataset().require_non_empty_) return true;
      // Every shard must have an element, so the first round must be complete.
      first_round_ = false;
      return CheckFirstRound(ctx);
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("position", position_);
      writer.Int("first_round", first_round_ ? 1 : 0);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(position_, reader.Int("position", 0, dataset().shards_ - 1));
      ASSIGN_OR_RETURN(first_round_, reader.Int("first_round", 0, 1));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    absl::StatusOr<bool> CheckFirstRound(IteratorContext& ctx) {
      Element other;
      for (; position_ != 0; position_ = (position_ + 1) % dataset().shards_) {
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &other));
        if (more) continue;
        return errors::InvalidArgument("Could not apply FILE based sharding: the dataset only has ", position_,
                                       " file(s), which is not enough for the required ", dataset().shards_,
                                       " shards/workers.");
      }
      return true;
    }

    int64_t position_ = 0;
    bool first_round_ = true;
  };

  const int64_t shards_, index_;
  const bool require_non_empty_;
};

// --- AssertCardinality ---

class AssertCardinalityDataset : public SameElementsDataset {
 public:
  AssertCardinalityDataset(const DatasetPtr& input, int64_t cardinality)
      : SameElementsDataset("AssertCardinality", input), cardinality_(cardinality) {}
  int64_t CountElements(IteratorContext*) const override { return cardinality_; }

 protected:
  absl::Status CheckIndex(const IteratorContext&, int64_t index) const override {
    if (index < 0) return errors::OutOfRange("Dataset index ", index, " must be non-negative");
    if (index < cardinality_) return absl::OkStatus();
    return errors::OutOfRange("Index ", index, " greater than dataset size ", cardinality_);
  }
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    const absl::Status status = input()->Get(ctx, index, element);
    if (!absl::IsOutOfRange(status)) return status;
    const std::string expected = absl::StrCat("Input dataset was expected to contain ", Elements(cardinality_));
    if (ctx.global_shuffle) return errors::FailedPrecondition(expected, ".");
    return errors::FailedPrecondition(expected, " but index ", index, " could not be retrieved: ", status.message());
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  static std::string Elements(int64_t n) {
    if (n == kInfiniteCardinality) return "an infinite number of elements";
    if (n == kUnknownCardinality) return "an unknown number of elements";
    return absl::StrCat(n, n == 1 ? " element" : " elements");
  }

  class Iterator : public UnaryIterator<AssertCardinalityDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const int64_t expected = dataset().cardinality_;
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
      if (more) ++count_;
      if (!more && count_ != expected && expected != kUnknownCardinality) {
        return errors::FailedPrecondition("Input dataset was expected to contain ", Elements(expected),
                                          " but contained only ", Elements(count_), ".");
      }
      if (more && expected >= 0 && count_ > expected) {
        return errors::FailedPrecondition("Input dataset was expected to contain ", Elements(expected),
                                          " but contained at least ", Elements(count_), ".");
      }
      return more;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("count", count_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(count_, reader.Int("count"));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    int64_t count_ = 0;
  };

  const int64_t cardinality_;
};

// Datasets that take one number.
template <typename D>
class CountKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t count, inputs.Int(inputs.Has("count") ? "count" : "cardinality"));
    return std::make_shared<D>(input, count);
  }
};

class ShardKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("require_non_empty", &require_non_empty_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t shards, inputs.Int("num_shards"));
    ASSIGN_OR_RETURN(const int64_t index, inputs.Int("index"));
    if (shards <= 0) {
      return errors::InvalidArgument("Number of shards must be greater than zero (currently num_shards = ", shards,
                                     ").");
    }
    if (index < 0 || index >= shards) {
      return errors::InvalidArgument("Index must be between 0 and ", shards - 1, " (currently index = ", index, ").");
    }
    return std::make_shared<ShardDataset>(input, shards, index, require_non_empty_);
  }

 private:
  bool require_non_empty_ = false;
};

}  // namespace

absl::Status RegisterCountingDatasetKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<CountKernel<RepeatDataset>>(Kernel("RepeatDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CountKernel<SkipDataset>>(Kernel("SkipDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CountKernel<TakeDataset>>(Kernel("TakeDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CountKernel<AssertCardinalityDataset>>(Kernel("AssertCardinalityDataset").Cpu()));
  return kernels.Register<ShardKernel>(Kernel("ShardDataset").Cpu());
}

}  // namespace weir
