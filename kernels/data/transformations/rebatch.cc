// rebatch: batches of other sizes, of the rows of the input's batches.
#include <deque>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

int64_t Rows(const Element& batch) { return batch[0].dim_size(0); }

absl::Status CheckBatch(const Element& batch, const DataTypeVector& types) {
  RETURN_IF_ERROR(CheckElement(batch, types));
  for (const Tensor& tensor : batch) {
    if (tensor.dims() == 0) {
      return errors::InvalidArgument(
          "Cannot use rebatching fallback when input dataset has components that are "
          "scalars.");
    }
    if (tensor.dim_size(0) != Rows(batch)) {
      return errors::InvalidArgument("Input element must have the same batch size in each component.");
    }
  }
  return absl::OkStatus();
}

Element Part(const Element& batch, int64_t from, int64_t to) {
  Element part;
  for (const Tensor& tensor : batch) part.push_back(tensor.Slice(from, to));
  return part;
}

// Row by row of equal shapes; a copy, as parts of buffers are not aligned.
absl::StatusOr<Element> Join(IteratorContext& ctx, const std::vector<Element>& parts) {
  Element joined;
  for (size_t c = 0; c < parts[0].size(); ++c) {
    TensorShape shape = parts[0][c].shape();
    int64_t rows = 0;
    for (const Element& part : parts) {
      TensorShape other = part[c].shape();
      rows += other.dim_size(0);
      RETURN_IF_ERROR(other.SetDim(0, shape.dim_size(0)));
      if (other != shape) {
        return errors::InvalidArgument("Cannot concatenate slices of shapes ", shape.ToString(), " and ",
                                       part[c].shape().ToString(), " in component ", c);
      }
    }
    RETURN_IF_ERROR(shape.SetDim(0, rows));
    ASSIGN_OR_RETURN(Tensor whole, Tensor::Allocate(ctx.allocator(), parts[0][c].dtype(), shape));
    int64_t at = 0;
    for (const Element& part : parts) {
      CopyElements(part[c], whole, at);
      at += part[c].NumElements();
    }
    joined.push_back(std::move(whole));
  }
  return joined;
}

// Splits each batch of the input into `replicas` parts, of which the last ones may be smaller, or empty.
class SplitBatchDataset : public UnaryDataset {
 public:
  SplitBatchDataset(const DatasetPtr& input, const NodeArguments& node, int64_t replicas)
      : UnaryDataset("Rebatch", input, node.output_types(), node.output_shapes()), replicas_(replicas) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SplitBatchDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (batch_.empty() || part_ == dataset().replicas_) {
        batch_.clear();
        at_ = part_ = 0;
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &batch_));
        if (!more) return false;
        RETURN_IF_ERROR(CheckBatch(batch_, dataset().output_types()));
      }
      const int64_t rows = Rows(batch_), replicas = dataset().replicas_;
      const int64_t size = rows / replicas + (rows % replicas != 0 ? 1 : 0);
      const int64_t end = std::min(rows, at_ + size);
      ASSIGN_OR_RETURN(*element, Join(ctx, {Part(batch_, at_, end)}));
      at_ = end;
      ++part_;
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("at", at_);
      writer.Int("part", part_);
      writer.Int("has_batch", batch_.empty() ? 0 : 1);
      if (!batch_.empty()) writer.Tensors("batch", batch_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      batch_.clear();
      ASSIGN_OR_RETURN(at_, reader.Int("at"));
      ASSIGN_OR_RETURN(part_, reader.Int("part", 0, dataset().replicas_));
      ASSIGN_OR_RETURN(const int64_t has_batch, reader.Int("has_batch", 0, 1));
      if (has_batch != 0) {
        ASSIGN_OR_RETURN(batch_, reader.Tensors("batch", dataset().output_types()));
        RETURN_IF_ERROR(CheckBatch(batch_, dataset().output_types()));
        if (at_ < 0 || at_ > Rows(batch_)) return errors::InvalidArgument("A saved rebatch is beyond its batch");
      }
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    Element batch_;
    int64_t at_ = 0, part_ = 0;
  };

  const int64_t replicas_;
};

// Batches of given sizes, one after the other and again from the first.
class RebatchDataset : public UnaryDataset {
 public:
  RebatchDataset(const DatasetPtr& input, const NodeArguments& node, std::vector<int64_t> sizes, bool drop_remainder)
      : UnaryDataset("RebatchV2", input, node.output_types(), node.output_shapes()),
        sizes_(std::move(sizes)),
        drop_remainder_(drop_remainder) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<RebatchDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const int64_t wanted = dataset().sizes_[next_size_];
      std::vector<Element> parts;
      BufferLimit limit;
      int64_t rows = 0;
      while (rows < wanted || parts.empty()) {
        if (batch_.empty() || at_ >= Rows(batch_)) {
          batch_.clear();
          at_ = 0;
          ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &batch_));
          if (!more) break;
          RETURN_IF_ERROR(CheckBatch(batch_, dataset().output_types()));
          if (Rows(batch_) == 0) continue;
        }
        const int64_t end = at_ + std::min(Rows(batch_) - at_, wanted - rows);
        rows += end - at_;
        parts.push_back(Part(batch_, at_, end));
        RETURN_IF_ERROR(limit.Add(parts.back(), "rebatch"));
        at_ = end;
      }
      if (parts.empty() || (dataset().drop_remainder_ && rows < wanted)) return false;
      next_size_ = (next_size_ + 1) % static_cast<int64_t>(dataset().sizes_.size());
      ASSIGN_OR_RETURN(*element, Join(ctx, parts));
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("at", at_);
      writer.Int("next_size", next_size_);
      writer.Int("has_batch", batch_.empty() ? 0 : 1);
      if (!batch_.empty()) writer.Tensors("batch", batch_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      batch_.clear();
      ASSIGN_OR_RETURN(at_, reader.Int("at"));
      ASSIGN_OR_RETURN(next_size_, reader.Int("next_size", 0, static_cast<int64_t>(dataset().sizes_.size()) - 1));
      ASSIGN_OR_RETURN(const int64_t has_batch, reader.Int("has_batch", 0, 1));
      if (has_batch != 0) {
        ASSIGN_OR_RETURN(batch_, reader.Tensors("batch", dataset().output_types()));
        RETURN_IF_ERROR(CheckBatch(batch_, dataset().output_types()));
      }
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    Element batch_;
    int64_t at_ = 0, next_size_ = 0;
  };

  const std::vector<int64_t> sizes_;
  const bool drop_remainder_;
};

class SplitBatchKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t replicas, inputs.Int("num_replicas"));
    if (replicas <= 0) return errors::InvalidArgument("num_replicas must be greater than zero.");
    if (input->output_types().empty()) return errors::InvalidArgument("The input of rebatch has no components");
    return std::make_shared<SplitBatchDataset>(input, inputs.node(), replicas);
  }
};

class RebatchKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(std::vector<int64_t> sizes, inputs.Ints("batch_sizes"));
    ASSIGN_OR_RETURN(const bool drop_remainder, inputs.Bool("drop_remainder"));
    if (sizes.empty()) return errors::InvalidArgument("batch_sizes must not be empty");
    bool any = false;
    for (int64_t size : sizes) {
      if (size < 0) return errors::InvalidArgument("Batch sizes must be non-negative, got ", size);
      any = any || size > 0;
    }
    if (!any) return errors::InvalidArgument("One of batch_sizes must be greater than zero");
    if (input->output_types().empty()) return errors::InvalidArgument("The input of rebatch has no components");
    return std::make_shared<RebatchDataset>(input, inputs.node(), std::move(sizes), drop_remainder);
  }
};

}  // namespace

absl::Status RegisterRebatchKernels(KernelRegistry& kernels) {
  for (const char* op : {"RebatchDataset", "ExperimentalRebatchDataset"}) {
    RETURN_IF_ERROR(kernels.Register<SplitBatchKernel>(Kernel(op).Cpu()));
  }
  return kernels.Register<RebatchKernel>(Kernel("RebatchDatasetV2").Cpu());
}

}  // namespace weir
