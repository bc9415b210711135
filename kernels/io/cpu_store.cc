// Reads and writes the checkpoint store of the kernel's task, at low priority: steps run meanwhile.
#include <utility>

#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/stored_generations.h"
#include "core/checkpoint/text_record.h"
#include "core/files/file_system.h"
#include "core/files/store_file_system.h"
#include "core/threads/low_priority.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

absl::StatusOr<const Tensor*> ScalarInput(const OpKernelContext& ctx, int i, absl::string_view name, DataType dtype) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() == dtype && tensor.dims() == 0) return &tensor;
  return errors::InvalidArgument("Input ", name, " must be a scalar of type ", DataTypeName(dtype), ", but is ",
                                 DataTypeName(tensor.dtype()), tensor.shape().ToString());
}

absl::StatusOr<std::string> TextInput(const OpKernelContext& ctx, int i, absl::string_view name) {
  ASSIGN_OR_RETURN(const Tensor* tensor, ScalarInput(ctx, i, name, DT_STRING));
  return std::string(tensor->scalar<tstring>());
}

absl::StatusOr<int64_t> SizeInput(const OpKernelContext& ctx, int i, absl::string_view name) {
  ASSIGN_OR_RETURN(const Tensor* tensor, ScalarInput(ctx, i, name, DT_INT64));
  const int64_t value = tensor->scalar<int64_t>();
  if (value < 0) return errors::InvalidArgument("Input ", name, " is ", value, ", but must not be negative");
  return value;
}

absl::StatusOr<bool> FlagInput(const OpKernelContext& ctx, int i, absl::string_view name) {
  ASSIGN_OR_RETURN(const Tensor* tensor, ScalarInput(ctx, i, name, DT_BOOL));
  return tensor->scalar<bool>();
}

// A kernel whose first input is a path in the store.
class StoreKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) final {
    ASSIGN_OR_RETURN(const std::string path, TextInput(ctx, 0, "path"));
    if (SchemeOf(path) != kStoreScheme) {
      return errors::InvalidArgument("'", path, "' is not a path in a checkpoint store (", kStoreScheme, "://…)");
    }
    const absl::StatusOr<FileSystem*> files = ctx.device()->file_systems()->Find(path);
    if (files.ok()) return RunAtLowPriority([&] { return WorkIn(**files, path, ctx); });
    return errors::FailedPrecondition("The task of ", ctx.device()->name(),
                                      " has no checkpoint store. Start its server with --checkpoint-store");
  }
  virtual absl::Status WorkIn(FileSystem& store, const std::string& path, OpKernelContext& ctx) = 0;
};

class ContentsKernel : public StoreKernel {
  absl::Status WorkIn(FileSystem& store, const std::string& path, OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const StoreContents contents, ReadStoreContents(&store, path));
    std::vector<tstring> paths, texts;
    for (const StoreContents::Manifest& manifest : contents.manifests) {
      paths.push_back(manifest.path);
      texts.push_back(manifest.text);
    }
    ctx.set_output(0, Tensor::Scalar<tstring>(contents.lease));
    ctx.set_output(1, Tensor::Vector<tstring>(contents.directories));
    ctx.set_output(2, Tensor::Vector<tstring>(paths));
    ctx.set_output(3, Tensor::Vector<tstring>(texts));
    return absl::OkStatus();
  }
};

class DescribeKernel : public StoreKernel {
  absl::Status WorkIn(FileSystem& store, const std::string& prefix, OpKernelContext& ctx) override {
    CheckpointManifest manifest;
    ASSIGN_OR_RETURN(const auto described, BundleFiles(&store, prefix, std::string(BaseName(prefix))));
    for (const CheckpointManifest::File& file : described) *manifest.add_file() = file;
    ASSIGN_OR_RETURN(const BundleIndex index, ReadBundleIndex(&store, prefix));
    for (const auto& [key, entry] : index.entries) {
      if (!IsSliceKey(key)) manifest.add_tensor(key);
    }
    ASSIGN_OR_RETURN(const std::string text, PrintTextRecord(manifest));
    ctx.set_output(0, Tensor::Scalar<tstring>(text));
    return absl::OkStatus();
  }
};

class VerifyKernel : public StoreKernel {
  absl::Status WorkIn(FileSystem& store, const std::string& prefix, OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string text, TextInput(ctx, 1, "manifest"));
    ASSIGN_OR_RETURN(const bool thorough, FlagInput(ctx, 2, "thorough"));
    CheckpointManifest manifest;
    RETURN_IF_ERROR(ParseTextRecord(text, ManifestPath(prefix), &manifest));
    return thorough ? VerifyManifest(&store, prefix, manifest) : CheckManifest(&store, prefix, manifest);
  }
};

class ReadRangeKernel : public StoreKernel {
  absl::Status WorkIn(FileSystem& store, const std::string& path, OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t offset, SizeInput(ctx, 1, "offset"));
    ASSIGN_OR_RETURN(const int64_t size, SizeInput(ctx, 2, "size"));
    ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, store.NewReadableFile(path));
    ASSIGN_OR_RETURN(const uint64_t in_file, file->Size());
    if (in_file < static_cast<uint64_t>(offset) || in_file - offset < static_cast<uint64_t>(size)) {
      return errors::DataLoss(path, " has ", in_file, " bytes: too few for ", size, " from ", offset, " on");
    }
    ASSIGN_OR_RETURN(Tensor * contents, ctx.allocate_output(0, TensorShape({size})));
    return size == 0 ? absl::OkStatus() : file->ReadFully(offset, size, contents->data<char>());
  }
};

class WriteRangeKernel : public StoreKernel {
  absl::Status WorkIn(FileSystem& store, const std::string& path, OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t offset, SizeInput(ctx, 1, "offset"));
    ASSIGN_OR_RETURN(const bool sync, FlagInput(ctx, 3, "sync"));
    const Tensor& contents = ctx.input(2);
    if (offset == 0) {
      RETURN_IF_ERROR(store.CreateDir(DirectoryOf(path)));
    } else {
      const absl::StatusOr<uint64_t> size = store.Size(path);
      if (!size.ok() || *size != static_cast<uint64_t>(offset)) {
        return errors::DataLoss(path, " is to be continued at byte ", offset, ", but ",
                                size.ok() ? absl::StrCat("has ", *size) : std::string(size.status().message()));
      }
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                     offset == 0 ? store.NewWritableFile(path) : store.NewAppendableFile(path));
    if (contents.NumElements() > 0) {
      RETURN_IF_ERROR(file->Append({contents.data<char>(), static_cast<size_t>(contents.NumElements())}));
    }
    if (sync) RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
    return sync ? store.SyncDir(DirectoryOf(path)) : absl::OkStatus();
  }
};

class DeleteKernel : public StoreKernel {
  absl::Status WorkIn(FileSystem& store, const std::string& path, OpKernelContext&) override {
    if (path.size() <= sizeof(kStoreScheme) - 1 + 3) return errors::InvalidArgument("A whole store is not deleted");
    const absl::Status deleted = store.DeleteRecursively(path);
    return absl::IsNotFound(deleted) ? absl::OkStatus() : deleted;
  }
};

}  // namespace

absl::Status RegisterStoreKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ContentsKernel>(Kernel("StoreContents").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DescribeKernel>(Kernel("StoreDescribe").Cpu()));
  RETURN_IF_ERROR(kernels.Register<VerifyKernel>(Kernel("StoreVerify").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ReadRangeKernel>(Kernel("StoreReadRange").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteRangeKernel>(Kernel("StoreWriteRange").Cpu()));
  return kernels.Register<DeleteKernel>(Kernel("StoreDelete").Cpu());
}

}  // namespace weir
