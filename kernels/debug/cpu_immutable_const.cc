// ImmutableConst: a tensor read from a file.
#include "core/device/device.h"
#include "core/files/file_system.h"
#include "kernels/debug/family.h"
#include "kernels/device/blocking_kernel.h"

namespace weir {
namespace {

class ImmutableConstKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("memory_region_name", &path_));
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &dtype_));
    if (dtype_ == DT_RESOURCE || dtype_ == DT_VARIANT) {
      return errors::InvalidArgument("Resource and variant dtypes are invalid for this op.");
    }
    PartialTensorShape shape;
    RETURN_IF_ERROR(ctx.GetAttr("shape", &shape));
    if (shape.unknown_rank()) return absl::OkStatus();  // a scalar
    ASSIGN_OR_RETURN(shape_, shape.AsTensorShape());
    return absl::OkStatus();
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    if (dtype_ == DT_STRING) {
      return errors::Unimplemented("Sorry, DT_STRING is not currently supported for ImmutableConstOp.");
    }
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path_));
    ASSIGN_OR_RETURN(const FileStat stat, files->Stat(path_));
    if (stat.is_directory) return errors::NotFound(path_, "; No such device");
    const int64_t bytes = MultiplyWithoutOverflow(shape_.num_elements(), static_cast<int64_t>(DataTypeSize(dtype_)));
    if (bytes < 0 || stat.size < static_cast<uint64_t>(bytes)) {
      return errors::Internal("Readonly memory region has wrong length (", stat.size, ") when allocating ", bytes);
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files->NewReadableFile(path_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape_));
    return file->ReadFully(0, static_cast<size_t>(bytes), static_cast<char*>(output->raw_data()));
  }

 private:
  std::string path_;
  DataType dtype_ = DT_INVALID;
  TensorShape shape_;
};

}  // namespace

absl::Status RegisterImmutableConstKernels(KernelRegistry& kernels) {
  return kernels.Register<ImmutableConstKernel>(Kernel("ImmutableConst").Cpu());
}

}  // namespace weir
