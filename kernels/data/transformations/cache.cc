// cache: keeps what the first pass yields, in memory or in files, for the passes after it.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/files/file_system.h"
#include "kernels/data/anonymous.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// --- In memory ---

// What all iterators of a dataset, or of all datasets with one cache, share. Thread-safe.
class MemoryCache : public Resource {
 public:
  static constexpr char kTypeName[] = "MemoryCache";
  using Elements = std::shared_ptr<const std::deque<Element>>;

  // Null until a pass was complete.
  Elements elements() const {
    MutexLock lock(mu_);
    return elements_;
  }
  // The first complete pass stays.
  void Complete(std::deque<Element> elements) {
    MutexLock lock(mu_);
    if (elements_ == nullptr) elements_ = std::make_shared<const std::deque<Element>>(std::move(elements));
  }
  // For random access: elements that were asked for.
  std::optional<Element> Find(int64_t index) const {
    MutexLock lock(mu_);
    auto found = by_index_.find(index);
    return found == by_index_.end() ? std::nullopt : std::optional<Element>(found->second);
  }
  absl::Status Add(int64_t index, const Element& element) {
    MutexLock lock(mu_);
    if (!by_index_.try_emplace(index, element).second) return absl::OkStatus();
    return limit_.Add(element, "cache");
  }
  std::string DebugString() const override { return "MemoryCache"; }

 private:
  mutable Mutex mu_;
  Elements elements_ GUARDED_BY(mu_);
  std::map<int64_t, Element> by_index_ GUARDED_BY(mu_);
  BufferLimit limit_ GUARDED_BY(mu_);
};

class MemoryCacheDataset : public UnaryDataset {
 public:
  MemoryCacheDataset(const DatasetPtr& input, std::shared_ptr<MemoryCache> cache)
      : UnaryDataset("Cache", input), cache_(std::move(cache)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    if (MemoryCache::Elements elements = cache_->elements()) {
      if (index >= static_cast<int64_t>(elements->size())) return errors::OutOfRange("Index out of range: ", index);
      *element = (*elements)[index];
      return CheckElement(*element, output_types());
    }
    if (std::optional<Element> found = cache_->Find(index)) {
      *element = *std::move(found);
      return CheckElement(*element, output_types());
    }
    RETURN_IF_ERROR(input()->Get(ctx, index, element));
    return cache_->Add(index, *element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<MemoryCacheDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      complete_ = dataset().cache_->elements();
      return complete_ != nullptr ? absl::OkStatus() : UnaryIterator::Initialize(ctx);
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (complete_ != nullptr) {
        if (next_ >= static_cast<int64_t>(complete_->size())) return false;
        *element = (*complete_)[next_++];
        RETURN_IF_ERROR(CheckElement(*element, dataset().output_types()));
        return true;
      }
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
      if (!more) {
        dataset().cache_->Complete(std::move(seen_));
        return false;
      }
      RETURN_IF_ERROR(limit_.Add(*element, "cache"));
      seen_.push_back(*element);
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("complete", complete_ != nullptr ? 1 : 0);
      SaveElements(writer, "elements", complete_ != nullptr ? *complete_ : seen_);
      if (complete_ == nullptr) return UnaryIterator::SaveState(ctx, writer);
      writer.Int("next", next_);
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(const bool complete, reader.Int("complete", 0, 1));
      std::deque<Element> elements;
      RETURN_IF_ERROR(RestoreElements(reader, "elements", dataset().output_types(), &elements));
      if (complete) {
        ASSIGN_OR_RETURN(next_, reader.Int("next", 0, static_cast<int64_t>(elements.size())));
        dataset().cache_->Complete(elements);
        complete_ = std::make_shared<const std::deque<Element>>(std::move(elements));
        return absl::OkStatus();
      }
      complete_ = nullptr;
      if (input_ == nullptr) RETURN_IF_ERROR(UnaryIterator::Initialize(ctx));
      seen_ = std::move(elements);
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    MemoryCache::Elements complete_;  // what this pass reads; null where it fills
    int64_t next_ = 0;
    std::deque<Element> seen_;
    BufferLimit limit_;
  };

  const std::shared_ptr<MemoryCache> cache_;
};

// --- In files ---

// A checkpoint with tensors "element_component", as TensorFlow writes them.
class FileCacheDataset : public UnaryDataset {
 public:
  FileCacheDataset(const DatasetPtr& input, FileSystem* files, std::string path)
      : UnaryDataset("Cache", input), files_(files), path_(std::move(path)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator;
  std::string TensorName(int64_t element, size_t component) const {
    const int width = static_cast<int>(absl::StrCat(std::max<size_t>(output_types().size(), 1) - 1).size());
    return absl::StrFormat("%7d_%*d", element, width, component);
  }
  bool IsComplete() const { return files_->Exists(path_ + ".index"); }

  FileSystem* const files_;
  const std::string path_;
};

// Reads when the files are there, else writes them as it passes its input on.
class FileCacheDataset::Iterator : public UnaryIterator<FileCacheDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  ~Iterator() override { Unlock(); }

  absl::Status Initialize(IteratorContext& ctx) override {
    if (dataset().IsComplete()) return OpenReader();
    return UnaryIterator::Initialize(ctx);
  }

  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
    if (reader_ != nullptr) return Read(element);
    if (!only_passes_on_ && writer_ == nullptr) RETURN_IF_ERROR(OpenWriter());
    ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
    if (writer_ == nullptr) return more;
    if (!more) {
      RETURN_IF_ERROR(writer_->Finish());
      writer_.reset();
      only_passes_on_ = true;
      Unlock();
      return false;
    }
    for (size_t i = 0; i < element->size(); ++i) {
      RETURN_IF_ERROR(writer_->Add(dataset().TensorName(next_, i), (*element)[i]));
    }
    ++next_;
    return true;
  }

  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
    writer.Int("next", next_);
    return SaveOptional(ctx, writer, "input", input_.get());
  }

  // A pass that was filling the cache goes on without: what was written of it may be gone.
  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    ASSIGN_OR_RETURN(next_, reader.Int("next"));
    RETURN_IF_ERROR(RestoreOptional(ctx, reader, "input", *dataset().input(), &input_));
    reader_.reset();
    only_passes_on_ = next_ > 0;
    return input_ == nullptr ? OpenReader() : absl::OkStatus();
  }

 private:
  absl::Status OpenReader() {
    ASSIGN_OR_RETURN(reader_, BundleReader::Open(dataset().files_, dataset().path_));
    if (reader_->Contains(dataset().TensorName(0, 0)) || reader_->List().empty()) return absl::OkStatus();
    return errors::FailedPrecondition("The files ", dataset().path_,
                                      "* are not a cache of this dataset: they have no '", dataset().TensorName(0, 0),
                                      "'. Delete them, or give the cache another filename.");
  }

  absl::StatusOr<bool> Read(Element* element) {
    if (!reader_->Contains(dataset().TensorName(next_, 0))) return false;
    element->clear();
    for (size_t i = 0; i < dataset().output_types().size(); ++i) {
      ASSIGN_OR_RETURN(element->emplace_back(), reader_->Read(dataset().TensorName(next_, i)));
    }
    RETURN_IF_ERROR(CheckElement(*element, dataset().output_types()));
    ++next_;
    return true;
  }

  absl::Status OpenWriter() {
    const std::string lock = dataset().path_ + "_0.lockfile";
    FileSystem& files = *dataset().files_;
    ASSIGN_OR_RETURN(const bool is_locked, files.CheckExists(lock));
    if (is_locked) {
      return errors::AlreadyExists(
          "There appears to be a concurrent caching iterator running - cache lockfile already ", "exists ('", lock,
          "'). If you are sure no other running TF computations are using ",
          "this cache prefix, delete the lockfile and re-initialize the iterator.");
    }
    ASSIGN_OR_RETURN(writer_, BundleWriter::Create(&files, dataset().path_));
    RETURN_IF_ERROR(WriteStringToFile(&files, lock, "Created by Weir"));
    lock_ = lock;
    return absl::OkStatus();
  }

  void Unlock() {
    if (!lock_.empty()) dataset().files_->DeleteFile(lock_).IgnoreError();
    lock_.clear();
  }

  std::unique_ptr<BundleReader> reader_;
  std::unique_ptr<BundleWriter> writer_;
  std::string lock_;  // the file that keeps others from writing; empty: there is none
  bool only_passes_on_ = false;
  int64_t next_ = 0;
};

class CacheKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(std::string path, inputs.String("filename"));
    if (!path.empty()) {
      ASSIGN_OR_RETURN(FileSystem * files, inputs.ctx().device()->file_systems()->Find(path));
      return std::make_shared<FileCacheDataset>(input, files, std::move(path));
    }
    std::shared_ptr<MemoryCache> cache;
    if (inputs.Has("cache")) {
      ASSIGN_OR_RETURN(cache, FindAnonymous<MemoryCache>(inputs.ctx(), inputs.Get("cache")));
    }
    if (cache == nullptr) cache = std::make_shared<MemoryCache>();
    return std::make_shared<MemoryCacheDataset>(input, std::move(cache));
  }
};

class MemoryCacheKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    SetAnonymous(ctx, std::make_shared<MemoryCache>());
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

}  // namespace

absl::Status RegisterCacheKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<CacheKernel>(Kernel("CacheDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CacheKernel>(Kernel("CacheDatasetV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DummyHandleKernel>(Kernel("DummyMemoryCache").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MemoryCacheKernel>(Kernel("AnonymousMemoryCache").Cpu()));
  return kernels.Register<DeleteAnonymousKernel>(Kernel("DeleteMemoryCache").Cpu());
}

}  // namespace weir
