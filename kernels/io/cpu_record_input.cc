// RecordInput: batches of records of many files, in an order that is random but for its seed, again and again.
#include <algorithm>
#include <random>
#include <vector>

#include "core/device/device.h"
#include "core/files/file_system.h"
#include "core/mutex.h"
#include "kernels/data/sources/record_stream.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

class RecordInputKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    int64_t seed;
    std::string compression;
    RETURN_IF_ERROR(ctx.GetAttr("file_pattern", &pattern_));
    RETURN_IF_ERROR(ctx.GetAttr("file_random_seed", &seed));
    RETURN_IF_ERROR(ctx.GetAttr("file_shuffle_shift_ratio", &shift_));
    RETURN_IF_ERROR(ctx.GetAttr("file_buffer_size", &buffer_size_));
    RETURN_IF_ERROR(ctx.GetAttr("batch_size", &batch_));
    RETURN_IF_ERROR(ctx.GetAttr("compression_type", &compression));
    ASSIGN_OR_RETURN(compression_, ParseCompression(compression));
    if (batch_ < 0 || batch_ > (int64_t{1} << 28)) {
      return errors::InvalidArgument("batch_size is out of range: ", batch_);
    }
    if (!(shift_ >= 0 && shift_ <= 1)) {
      return errors::InvalidArgument("file_shuffle_shift_ratio must be in [0, 1], got ", shift_);
    }
    buffer_size_ = std::max<int64_t>(1, buffer_size_);
    generator_.seed(static_cast<uint64_t>(seed));
    return absl::OkStatus();
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    MutexLock lock(mu_);
    ASSIGN_OR_RETURN(Tensor * records, ctx.allocate_output(0, TensorShape({batch_})));
    for (int64_t i = 0; i < batch_; ++i) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      RETURN_IF_ERROR(Fill(ctx));
      // A random one of those buffered.
      std::swap(buffer_[generator_() % buffer_.size()], buffer_.back());
      records->data<tstring>()[i] = std::move(buffer_.back());
      buffer_.pop_back();
    }
    return absl::OkStatus();
  }

 private:
  // Reads until the buffer is full, or an epoch is over and there is a record.
  absl::Status Fill(OpKernelContext& ctx) REQUIRES(mu_) {
    while (static_cast<int64_t>(buffer_.size()) < buffer_size_) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      if (stream_ == nullptr) {
        if (next_file_ == files_.size()) {
          if (!buffer_.empty()) return absl::OkStatus();
          RETURN_IF_ERROR(BeginEpoch(ctx));
        }
        ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(files_[next_file_]));
        ASSIGN_OR_RETURN(stream_, ByteStream::Open(files, files_[next_file_++], compression_, kBufferBytes));
      }
      std::string record;
      ASSIGN_OR_RETURN(const bool more, ReadTfRecord(*stream_, &record));
      if (!more) {
        stream_ = nullptr;
        continue;
      }
      found_any_ = true;
      buffer_.push_back(std::move(record));
    }
    return absl::OkStatus();
  }

  // All files in a new order.
  absl::Status BeginEpoch(OpKernelContext& ctx) REQUIRES(mu_) {
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(pattern_));
    ASSIGN_OR_RETURN(files_, files->Glob(pattern_));
    if (files_.empty()) return errors::NotFound("Found no files at ", pattern_);
    if (epoch_ > 0 && !found_any_) return errors::NotFound("Found no records in the files at ", pattern_);
    std::shuffle(files_.begin(), files_.end(), generator_);
    const double shift = static_cast<double>(epoch_++) * shift_ * static_cast<double>(files_.size());
    const auto places = static_cast<size_t>(shift) % files_.size();
    std::rotate(files_.begin(), files_.begin() + static_cast<int64_t>(places), files_.end());
    next_file_ = 0;
    return absl::OkStatus();
  }

  static constexpr int64_t kBufferBytes = 256 << 10;
  std::string pattern_;
  float shift_ = 0;
  int64_t buffer_size_ = 1, batch_ = 1;
  Compression compression_ = Compression::kNone;
  Mutex mu_;
  std::mt19937_64 generator_ GUARDED_BY(mu_);
  std::vector<std::string> files_ GUARDED_BY(mu_), buffer_ GUARDED_BY(mu_);
  size_t next_file_ GUARDED_BY(mu_) = 0;
  int64_t epoch_ GUARDED_BY(mu_) = 0;
  bool found_any_ GUARDED_BY(mu_) = false;
  std::unique_ptr<ByteStream> stream_ GUARDED_BY(mu_);
};

}  // namespace

absl::Status RegisterRecordInputKernels(KernelRegistry& kernels) {
  return kernels.Register<RecordInputKernel>(Kernel("RecordInput").Cpu());
}

}  // namespace weir
