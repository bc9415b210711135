// sliding_window_batch: batches of the elements that a window sees as it moves over its input.
#include <deque>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/rare_families.h"

namespace weir {
namespace {

class SlidingWindowDataset : public UnaryDataset {
 public:
  struct Options {
    int64_t size = 1, shift = 1, stride = 1;
    bool drop_remainder = true;
    int64_t span = 1;  // (size - 1) * stride + 1
  };
  SlidingWindowDataset(const DatasetPtr& input, const NodeArguments& node, const Options& options)
      : UnaryDataset("SlidingWindow", input, node.output_types(), node.output_shapes()), options_(options) {}

  int64_t Cardinality() const override {
    const int64_t n = input()->Cardinality();
    if (n < 0) return n;
    if (options_.drop_remainder) return n < options_.span ? 0 : (n - options_.span) / options_.shift + 1;
    return n / options_.shift + (n % options_.shift != 0 ? 1 : 0);
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SlidingWindowDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const Options& options = dataset().options_;
      while (static_cast<int64_t>(buffer_.size()) < options.span) {
        Element next;
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &next));
        if (!more) break;
        RETURN_IF_ERROR(CheckElement(next, dataset().input()->output_types()));
        RETURN_IF_ERROR(limit_.Add(next, "a window"));
        buffer_.push_back(std::move(next));
      }
      const auto held = static_cast<int64_t>(buffer_.size());
      if (held == 0 || (options.drop_remainder && held < options.span)) return false;
      std::vector<Element> seen;
      for (int64_t i = 0; i < held; i += options.stride) seen.push_back(buffer_[i]);
      for (int64_t i = 0; i < std::min(options.shift, held); ++i) {
        limit_.Remove(buffer_.front());
        buffer_.pop_front();
      }
      for (int64_t i = held; i < options.shift; ++i) {
        Element skipped;
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &skipped));
        if (!more) break;
      }
      ASSIGN_OR_RETURN(*element, StackElements(ctx, seen));
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      SaveElements(writer, "buffer", buffer_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      RETURN_IF_ERROR(RestoreElements(reader, "buffer", dataset().input()->output_types(), &buffer_));
      limit_.Clear();
      for (const Element& element : buffer_) RETURN_IF_ERROR(limit_.Add(element, "a window"));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    std::deque<Element> buffer_;
    BufferLimit limit_;
  };

  const Options options_;
};

class SlidingWindowKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.HasAttr("drop_remainder") ? ctx.GetAttr("drop_remainder", &drop_remainder_) : absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    SlidingWindowDataset::Options options;
    options.drop_remainder = drop_remainder_;
    ASSIGN_OR_RETURN(options.size, inputs.Int("window_size"));
    ASSIGN_OR_RETURN(options.shift, inputs.Int("window_shift"));
    ASSIGN_OR_RETURN(options.stride, inputs.Int("window_stride"));
    if (options.size <= 0) return errors::InvalidArgument("Window size must be greater than zero.");
    if (options.shift <= 0) return errors::InvalidArgument("Window shift must be greater than zero.");
    if (options.stride <= 0) return errors::InvalidArgument("window_stride must be greater than zero.");
    options.span = MultiplyWithoutOverflow(options.size - 1, options.stride);
    if (options.span < 0 || options.span == std::numeric_limits<int64_t>::max()) {
      return errors::InvalidArgument("A window of size ", options.size, " and stride ", options.stride,
                                     " is too large");
    }
    ++options.span;
    return std::make_shared<SlidingWindowDataset>(input, inputs.node(), options);
  }

 private:
  bool drop_remainder_ = true;
};

}  // namespace

absl::Status RegisterSlidingWindowKernels(KernelRegistry& kernels) {
  for (const char* op : {"SlidingWindowDataset", "ExperimentalSlidingWindowDataset"}) {
    RETURN_IF_ERROR(kernels.Register<SlidingWindowKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
