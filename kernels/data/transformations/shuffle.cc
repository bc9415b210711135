// shuffle, alone and together with repeat. The order is TensorFlow's for the same seeds.
#include <deque>
#include <numeric>

#include "core/tensor/resource_handle.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"
#include "kernels/data/seed_generator.h"

namespace weir {
namespace {

// No further epochs are read while the buffer has elements of more than this many.
constexpr size_t kMaxEpochsInBuffer = 3;

class ShuffleDataset : public UnaryDataset {
 public:
  // `count` epochs, endless if it is -1; `buffer_size` of kUnknownCardinality: all of the input.
  ShuffleDataset(std::string type, const DatasetPtr& input, int64_t buffer_size, int64_t count,
                 std::shared_ptr<SeedGenerator> seeds)
      : UnaryDataset(std::move(type), input),
        buffer_size_(buffer_size == kUnknownCardinality ? INT64_MAX : buffer_size),
        count_(count),
        seeds_(std::move(seeds)) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t n = input()->CountElements(ctx);
    if (count_ == -1) return n == 0 ? 0 : kInfiniteCardinality;
    if (n < 0) return n;
    return n > 0 && count_ > INT64_MAX / n ? INT64_MAX : n * count_;
  }
  bool HasRandomAccess() const override { return true; }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    int64_t source;
    {
      MutexLock lock(mu_);
      if (order_.empty()) RETURN_IF_ERROR(MakeOrder());
      source = order_[index];
    }
    return input()->Get(ctx, source, element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator;

  absl::Status MakeOrder() const REQUIRES(mu_) {
    const int64_t size = Cardinality();
    if (size > int64_t{1} << 28) {
      return errors::ResourceExhausted("A shuffled dataset of ", size, " elements is too large for random access");
    }
    order_.resize(size);
    std::iota(order_.begin(), order_.end(), 0);
    SampleStream stream(seeds_->seeds().seed, seeds_->seeds().seed2);
    for (int64_t i = 0; i < size; ++i) std::swap(order_[i + stream.Next() % (size - i)], order_[i]);
    return absl::OkStatus();
  }

  const int64_t buffer_size_, count_;
  const std::shared_ptr<SeedGenerator> seeds_;
  mutable Mutex mu_;
  mutable std::vector<int64_t> order_ GUARDED_BY(mu_);  // for random access
};

// The buffer holds the rest of one epoch after the other; what is put out is drawn from the first of them.
class ShuffleDataset::Iterator : public UnaryIterator<ShuffleDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  absl::Status Initialize(IteratorContext&) override {
    NewSeeds();
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
    RETURN_IF_ERROR(Fill(ctx));
    if (buffer_.empty()) return false;
    while (epochs_.front() == 0) {
      epochs_.pop_front();
      NewSeeds();
    }
    ++num_samples_;
    const int64_t chosen = stream_.Next() % epochs_.front();
    *element = std::move(buffer_[chosen]);
    buffer_[chosen] = std::move(buffer_.front());
    buffer_.pop_front();
    --epochs_.front();
    limit_.Remove(*element);
    return true;
  }

  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
    writer.Int("generator_samples", dataset().seeds_->num_samples());
    writer.Int("samples", num_samples_);
    writer.Int("seed", current_.seed);
    writer.Int("seed2", current_.seed2);
    writer.Int("epoch", epoch_);
    writer.Int("has_data", has_data_ ? 1 : 0);
    writer.Tensor("epochs", Tensor::Vector<int64_t>(std::vector<int64_t>(epochs_.begin(), epochs_.end())));
    SaveElements(writer, "buffer", buffer_);
    return SaveOptional(ctx, writer, "input", input_.get());
  }

  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    ASSIGN_OR_RETURN(const int64_t generator_samples, reader.Int("generator_samples"));
    dataset().seeds_->Reset(generator_samples);
    ASSIGN_OR_RETURN(num_samples_, reader.Int("samples"));
    ASSIGN_OR_RETURN(current_.seed, reader.Int("seed", kMin));
    ASSIGN_OR_RETURN(current_.seed2, reader.Int("seed2", kMin));
    stream_ = SampleStream(current_.seed, current_.seed2);
    stream_.Skip(num_samples_);
    ASSIGN_OR_RETURN(epoch_, reader.Int("epoch"));
    ASSIGN_OR_RETURN(has_data_, reader.Int("has_data", 0, 1));
    RETURN_IF_ERROR(RestoreElements(reader, "buffer", dataset().output_types(), &buffer_));
    limit_.Clear();
    for (const Element& element : buffer_) RETURN_IF_ERROR(limit_.Add(element, "shuffle"));
    ASSIGN_OR_RETURN(const Tensor epochs, reader.Tensor("epochs"));
    RETURN_IF_ERROR(RestoreEpochs(epochs));
    return RestoreOptional(ctx, reader, "input", *dataset().input(), &input_);
  }

 private:
  absl::Status RestoreEpochs(const Tensor& sizes) {
    auto left = static_cast<int64_t>(buffer_.size());
    if (sizes.dtype() == DT_INT64) epochs_.assign(sizes.flat<int64_t>().begin(), sizes.flat<int64_t>().end());
    for (int64_t size : epochs_) {
      if (size < 0 || size > left) return errors::InvalidArgument("The saved state of a shuffle is inconsistent");
      left -= size;
    }
    if (left == 0 && sizes.dtype() == DT_INT64) return absl::OkStatus();
    return errors::InvalidArgument("The saved state of a shuffle is inconsistent");
  }

  void NewSeeds() {
    current_ = dataset().seeds_->Generate();
    stream_ = SampleStream(current_.seed, current_.seed2);
    num_samples_ = 0;
  }

  bool ShouldRead() const {
    if (input_ == nullptr && dataset().count_ != -1 && epoch_ >= dataset().count_) return false;
    if (epochs_.size() > kMaxEpochsInBuffer && !buffer_.empty()) return false;
    return static_cast<int64_t>(buffer_.size()) < dataset().buffer_size_;
  }

  absl::Status Fill(IteratorContext& ctx) {
    while (ShouldRead()) {
      RETURN_IF_ERROR(ctx.CheckCancelled());
      if (input_ == nullptr) {
        ASSIGN_OR_RETURN(input_, dataset().input()->MakeIterator(ctx));
        epochs_.push_back(0);
        ++epoch_;
      }
      Element next;
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &next));
      if (!more) {
        input_.reset();
        if (!has_data_ && dataset().count_ == -1) return absl::OkStatus();  // an empty input, endlessly
        continue;
      }
      RETURN_IF_ERROR(CheckElement(next, dataset().output_types()));
      RETURN_IF_ERROR(limit_.Add(next, "shuffle"));
      has_data_ = true;
      buffer_.push_back(std::move(next));
      ++epochs_.back();
    }
    return absl::OkStatus();
  }

  Seeds current_;
  SampleStream stream_;
  int64_t num_samples_ = 0;  // drawn from stream_
  int64_t epoch_ = 0;        // begun so far
  bool has_data_ = false;
  std::deque<Element> buffer_;
  std::deque<int64_t> epochs_;  // how many elements of the buffer belong to each, in order
  BufferLimit limit_;
};

class ShuffleKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    type_ = ctx.op().find("AndRepeat") != std::string::npos ? "ShuffleAndRepeat" : "Shuffle";
    return ctx.HasAttr("reshuffle_each_iteration") ? ctx.GetAttr("reshuffle_each_iteration", &reshuffle_)
                                                   : absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t size, inputs.Int("buffer_size"));
    if (size <= 0 && size != kUnknownCardinality) {
      return errors::InvalidArgument("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    }
    int64_t count = 1;
    if (inputs.Has("count")) {
      ASSIGN_OR_RETURN(count, inputs.Int("count"));
      if (count <= 0 && count != -1) {
        return errors::InvalidArgument("count must be greater than zero or equal to -1.");
      }
    }
    ASSIGN_OR_RETURN(std::shared_ptr<SeedGenerator> seeds, SeedGeneratorFor(inputs, reshuffle_));
    return std::make_shared<ShuffleDataset>(type_, input, size, count, std::move(seeds));
  }

 private:
  std::string type_;
  bool reshuffle_ = true;
};

// --- Random ---

class RandomDataset : public DatasetBase {
 public:
  explicit RandomDataset(std::shared_ptr<SeedGenerator> seeds)
      : DatasetBase({"Random", {DT_INT64}, {TensorShape()}, {}}), seeds_(std::move(seeds)) {}
  int64_t CountElements(IteratorContext*) const override { return kInfiniteCardinality; }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<RandomDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::Status Initialize(IteratorContext&) override {
      current_ = dataset().seeds_->Generate();
      stream_ = SampleStream(current_.seed, current_.seed2);
      return absl::OkStatus();
    }
    absl::StatusOr<bool> Next(IteratorContext&, Element* element) override {
      ++num_samples_;
      *element = {Tensor::Scalar<int64_t>(stream_.Next())};
      return true;
    }
    absl::Status SaveState(IteratorContext&, StateWriter writer) override {
      writer.Int("generator_samples", dataset().seeds_->num_samples());
      writer.Int("samples", num_samples_);
      writer.Int("seed", current_.seed);
      writer.Int("seed2", current_.seed2);
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext&, const StateReader& reader) override {
      constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
      ASSIGN_OR_RETURN(const int64_t generator_samples, reader.Int("generator_samples"));
      dataset().seeds_->Reset(generator_samples);
      ASSIGN_OR_RETURN(num_samples_, reader.Int("samples"));
      ASSIGN_OR_RETURN(current_.seed, reader.Int("seed", kMin));
      ASSIGN_OR_RETURN(current_.seed2, reader.Int("seed2", kMin));
      stream_ = SampleStream(current_.seed, current_.seed2);
      stream_.Skip(num_samples_);
      return absl::OkStatus();
    }

   private:
    Seeds current_;
    SampleStream stream_;
    int64_t num_samples_ = 0;
  };

  const std::shared_ptr<SeedGenerator> seeds_;
};

class RandomKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.HasAttr("rerandomize_each_iteration") ? ctx.GetAttr("rerandomize_each_iteration", &rerandomize_)
                                                     : absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    if (inputs.node().output_types() != DataTypeVector{DT_INT64}) {
      return errors::InvalidArgument("A random dataset has elements of type int64");
    }
    ASSIGN_OR_RETURN(std::shared_ptr<SeedGenerator> seeds, SeedGeneratorFor(inputs, rerandomize_));
    return std::make_shared<RandomDataset>(std::move(seeds));
  }

 private:
  bool rerandomize_ = false;
};

}  // namespace

absl::Status RegisterShuffleKernels(KernelRegistry& kernels) {
  for (const char* op : {"ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3", "ShuffleAndRepeatDataset",
                         "ShuffleAndRepeatDatasetV2"}) {
    RETURN_IF_ERROR(kernels.Register<ShuffleKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"RandomDataset", "RandomDatasetV2", "ExperimentalRandomDataset"}) {
    RETURN_IF_ERROR(kernels.Register<RandomKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
