// Checkpoints and files. File systems are the device's.
#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/slice_table.h"
#include "core/files/file_system.h"
#include "core/memory/out_of_memory.h"
#include "core/threads/low_priority.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/io/family.h"
#include "kernels/state/snapshot_value.h"

namespace weir {
namespace {

absl::StatusOr<std::string> StringScalar(const Tensor& tensor, absl::string_view name) {
  if (tensor.dtype() == DT_STRING && tensor.NumElements() == 1) return tensor.data<tstring>()[0];
  return errors::InvalidArgument("Input ", name, " should have a single element, got ", tensor.NumElements(),
                                 " instead.");
}

// Of ops that want the file's name, and nothing around it.
absl::StatusOr<std::string> FileName(const Tensor& tensor, absl::string_view name) {
  if (tensor.dims() == 0) return StringScalar(tensor, name);
  return errors::InvalidArgument("Input ", name, " tensor must be scalar, but had shape: ", tensor.shape().ToString());
}

// The prefix, names and slices that SaveV2 and RestoreV2 begin with.
struct Names {
  static absl::StatusOr<Names> Read(const OpKernelContext& ctx, int64_t tensors) {
    Names result;
    ASSIGN_OR_RETURN(result.prefix, StringScalar(ctx.input(0), "prefix"));
    const Tensor& names = ctx.input(1);
    const Tensor& slices = ctx.input(2);
    if (!names.shape().IsVector() || !slices.shape().IsVector()) {
      return errors::InvalidArgument("Input tensor_names and shape_and_slices should be an 1-D tensor, got ",
                                     names.shape().ToString(), " and ", slices.shape().ToString(), " instead.");
    }
    if (names.NumElements() != slices.NumElements() || names.NumElements() != tensors) {
      return errors::InvalidArgument("tensor_names and shape_and_slices have ", names.NumElements(), " and ",
                                     slices.NumElements(), " elements for ", tensors, " tensors");
    }
    result.names = names;
    result.slices = slices;
    return result;
  }
  const std::string& name(int64_t i) const { return names.data<tstring>()[i]; }
  const std::string& slice(int64_t i) const { return slices.data<tstring>()[i]; }

  std::string prefix;
  Tensor names, slices;
};

// Takes references to the tensors' buffers at once and writes later: a variable that changes meanwhile moves to another
// buffer, and training does not wait for the disk. Snapshots of variables are written as the variables' values, at low
// priority, because steps run meanwhile.
class SaveKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    constexpr int kFirst = 3;
    auto tensors = std::make_shared<std::vector<Tensor>>();
    for (int i = kFirst; i < ctx.num_inputs(); ++i) {
      tensors->push_back(ctx.locked_input(i));
      Tensor& tensor = tensors->back();
      if (tensor.NumElements() != 1) continue;  // a single number may be incremented in place
      absl::StatusOr<Tensor> copy = tensor.DeepCopy(ctx.allocator());
      if (!copy.ok()) return done(copy.status());
      tensor = *std::move(copy);
    }
    ctx.work_queue()->ScheduleBlocking([&ctx, tensors, done = std::move(done)] {
      const auto save = [&] { return OrOutOfMemory([&] { return Save(ctx, *tensors); }); };
      const bool yields = std::any_of(tensors->begin(), tensors->end(), [](const Tensor& t) { return Snapshot(t); });
      absl::Status saved = yields ? RunAtLowPriority(save) : save();
      tensors->clear();  // before the step ends
      done(std::move(saved));
    });
  }

 private:
  // nullptr if the tensor is an ordinary value.
  static VariableSnapshot* Snapshot(const Tensor& tensor) {
    if (tensor.dtype() != DT_VARIANT || tensor.dims() != 0) return nullptr;
    const SnapshotValue* const value = tensor.scalar<Variant>().get<SnapshotValue>();
    return value == nullptr ? nullptr : &value->snapshot();
  }

  static absl::Status SaveOne(OpKernelContext& ctx, BundleWriter& writer, const Names& names, int64_t i,
                              const Tensor& tensor) {
    VariableSnapshot* const snapshot = Snapshot(tensor);
    if (snapshot == nullptr) return writer.Save(names.name(i), names.slice(i), tensor);
    const auto read = [&](int64_t offset, int64_t size, char* to) -> absl::Status {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      return snapshot->Read(offset, size, to, ctx.cancellation());
    };
    return writer.Save(names.name(i), names.slice(i), TensorSource{snapshot->dtype(), snapshot->shape(), read});
  }

  static absl::Status Save(OpKernelContext& ctx, const std::vector<Tensor>& tensors) {
    ASSIGN_OR_RETURN(const Names names, Names::Read(ctx, tensors.size()));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(names.prefix));
    RETURN_IF_ERROR(CheckFolder(*files, names.prefix));
    ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(files, names.prefix));
    for (size_t i = 0; i < tensors.size(); ++i) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      RETURN_IF_ERROR(SaveOne(ctx, *writer, names, i, tensors[i]));
    }
    return writer->Finish();
  }

  // Saving makes the checkpoint's folder, but not the one around it: a path that is misspelt is an error, as in
  // TensorFlow, whose Saver reports it.
  static absl::Status CheckFolder(FileSystem& files, const std::string& prefix) {
    const std::string folder(DirName(prefix)), around(DirName(folder));
    const bool plain = !absl::StrContains(prefix, "://");  // others need not have folders
    if (!plain || around.empty() || files.Exists(folder) || files.Exists(around)) return absl::OkStatus();
    return errors::NotFound(folder, "; No such file or directory");
  }
};

class RestoreKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Names names, Names::Read(ctx, ctx.num_outputs()));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(names.prefix));
    BundleReader::Options options;
    options.work_queue = ctx.work_queue();
    absl::StatusOr<std::unique_ptr<BundleReader>> bundle = BundleReader::Open(files, names.prefix, options);
    if (bundle.ok()) return RestoreAll(ctx, names, **bundle);
    if (!absl::IsNotFound(bundle.status())) return bundle.status();
    ASSIGN_OR_RETURN(const std::unique_ptr<SliceTableReader> table, SliceTableReader::Open(files, names.prefix));
    return RestoreAll(ctx, names, *table);
  }

 private:
  // Of a checkpoint in either format.
  template <typename Reader>
  static absl::Status RestoreAll(OpKernelContext& ctx, const Names& names, const Reader& reader) {
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      ASSIGN_OR_RETURN(Tensor tensor,
                       reader.Restore(names.name(i), names.slice(i), ctx.expected_output_dtype(i), ctx.allocator()));
      ctx.set_output(i, std::move(tensor));
    }
    return absl::OkStatus();
  }
};

class MergeCheckpointsKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("delete_old_dirs", &delete_old_dirs_));
    return ctx.GetAttr("allow_missing_files", &allow_missing_);
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (!input.shape().IsVector()) {
      return errors::InvalidArgument("Input checkpoint_prefixes should be an 1-D tensor, got ",
                                     input.shape().ToString(), " instead.");
    }
    ASSIGN_OR_RETURN(const std::string destination, StringScalar(ctx.input(1), "destination_prefix"));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(destination));
    std::vector<std::string> prefixes;
    for (const tstring& prefix : input.flat<tstring>()) {
      ASSIGN_OR_RETURN(const bool exists, files->CheckExists(BundleIndexPath(prefix)));
      if (exists) {
        prefixes.push_back(prefix);
      } else if (!allow_missing_) {
        return errors::InvalidArgument("allow_missing_files was set to false and ", prefix, " did not exist.");
      }
    }
    MergeBundlesOptions options;
    options.delete_old_dirs = delete_old_dirs_;
    return MergeBundles(files, prefixes, destination, options);
  }

 private:
  bool delete_old_dirs_ = true, allow_missing_ = false;
};

// "model-00001-of-00004", or for all of them "model-?????-of-00004".
class ShardedNameKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() != 0) {
      return errors::InvalidArgument("basename must be a scalar, got shape ", ctx.input(0).shape().ToString());
    }
    ASSIGN_OR_RETURN(const std::string base, StringScalar(ctx.input(0), "basename"));
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const char* const name = i + 1 < ctx.num_inputs() ? "shard" : "num_shards";
      if (ctx.input(i).dims() != 0) {
        return errors::InvalidArgument(name, " must be a scalar, got shape ", ctx.input(i).shape().ToString());
      }
      if (ctx.input(i).dtype() != DT_INT32) {
        return errors::InvalidArgument(name, " must be int32, got ", DataTypeName(ctx.input(i).dtype()));
      }
    }
    const auto number = [&ctx](int i) { return ctx.input(i).data<int32_t>()[0]; };
    ctx.set_output(
        0, Tensor::Scalar<tstring>(ctx.num_inputs() == 3
                                       ? absl::StrFormat("%s-%05d-of-%05d", base, number(1), number(2))
                                       : absl::StrFormat("%s-%s-of-%05d", base, std::string(5, '?'), number(1))));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class ReadFileKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string path, FileName(ctx.input(0), "filename"));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path));
    ASSIGN_OR_RETURN(std::string contents, ReadFileToString(files, path));
    ctx.set_output(0, Tensor::Scalar<tstring>(std::move(contents)));
    return absl::OkStatus();
  }
};

// Creates the directories above the file.
class WriteFileKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string path, FileName(ctx.input(0), "filename"));
    ASSIGN_OR_RETURN(const std::string contents, FileName(ctx.input(1), "contents"));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path));
    const std::string directory(DirName(path));
    if (!directory.empty()) RETURN_IF_ERROR(files->CreateDir(directory));
    return WriteStringToFile(files, path, contents);
  }
};

class MatchingFilesKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() > 1) {
      return errors::InvalidArgument("Input patterns tensor must be scalar or vector, but had shape: ",
                                     ctx.input(0).shape().ToString());
    }
    std::vector<tstring> paths;
    for (const tstring& pattern : ctx.input(0).flat<tstring>()) {
      ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(pattern));
      ASSIGN_OR_RETURN(std::vector<std::string> matches, files->Glob(pattern, [&] { return CheckCancelled(ctx); }));
      paths.insert(paths.end(), matches.begin(), matches.end());
    }
    std::sort(paths.begin(), paths.end());
    ctx.set_output(0, Tensor::Vector<tstring>(paths));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterIoKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SaveKernel>(Kernel("SaveV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RestoreKernel>(Kernel("RestoreV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MergeCheckpointsKernel>(Kernel("MergeV2Checkpoints").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ShardedNameKernel>(Kernel("ShardedFilename").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ShardedNameKernel>(Kernel("ShardedFilespec").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ReadFileKernel>(Kernel("ReadFile").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteFileKernel>(Kernel("WriteFile").Cpu()));
  return kernels.Register<MatchingFilesKernel>(Kernel("MatchingFiles").Cpu());
}

}  // namespace weir
