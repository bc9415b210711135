#include <algorithm>
#include <utility>

#include "core/gpu/gpu_op_kernel.h"
#include "core/kernel/memory_types.h"
#include "kernels/array/moving/device_move.h"
#include "kernels/containers/sequence_memory.h"
#include "kernels/device/gpu/strided_source.h"
#include "kernels/elementwise/gpu_elementwise.h"

namespace weir {
namespace {

bool IsOnHost(DataType dtype) { return StaysOnHostInVariants(dtype) || dtype == DT_VARIANT; }

GpuStream& StreamOf(const OpKernelContext& ctx) { return FindGpu(ctx.device())->kernel_stream(); }

// A part of `all`, a vector, that is aligned as tensors are.
absl::StatusOr<Tensor> PartOf(const Tensor& all, int64_t start, const TensorShape& shape) {
  return all.Slice(start, start + shape.num_elements()).Reshaped(shape);
}

class Gpu : public SequenceMemory {
 public:
  absl::StatusOr<Tensor> Zeros(const OpKernelContext& ctx, DataType dtype, const TensorShape& shape) const override {
    if (IsOnHost(dtype)) return HostSequences().Zeros(ctx, dtype, shape);
    ASSIGN_OR_RETURN(Tensor zeros, ctx.allocate_temp(dtype, shape));
    const size_t bytes = static_cast<size_t>(zeros.TotalBytes());
    if (bytes > 0) RETURN_IF_ERROR(StreamOf(ctx).Fill(zeros.raw_data(), 0, bytes));
    return zeros;
  }

  // Elements that are contiguous already take one copy. Many parts of one size take one launch.
  absl::StatusOr<Tensor> Join(const OpKernelContext& ctx, DataType dtype, absl::Span<const Tensor> elements,
                              const TensorShape& shape) const override {
    if (IsOnHost(dtype)) return HostSequences().Join(ctx, dtype, elements, shape);
    ASSIGN_OR_RETURN(const Tensor joined, ctx.allocate_temp(dtype, shape));
    if (joined.NumElements() == 0) return joined;
    RETURN_IF_ERROR(JoinParts(StreamOf(ctx), PartsOf(elements), joined));
    return joined;
  }

  // Kernels count on tensors that are aligned: parts that would not be are moved apart.
  absl::StatusOr<std::vector<Tensor>> Cut(const OpKernelContext& ctx, const Tensor& tensor,
                                          absl::Span<const int64_t> lengths) const override {
    ASSIGN_OR_RETURN(std::vector<Tensor> parts, HostSequences().Cut(ctx, tensor, lengths));
    const auto is_fine = [](const Tensor& part) { return part.NumElements() == 0 || part.IsAligned(); };
    if (IsOnHost(tensor.dtype()) || std::all_of(parts.begin(), parts.end(), is_fine)) return parts;
    const int64_t width = tensor.NumElements() / tensor.dim_size(0);
    const int64_t unit = static_cast<int64_t>(kTensorAlignment / DataTypeSize(tensor.dtype()));
    const auto room = [&](int64_t length) { return (length * width + unit - 1) / unit * unit; };
    int64_t total = 0;
    for (const int64_t length : lengths) total += room(length);
    ASSIGN_OR_RETURN(const Tensor apart, ctx.allocate_temp(tensor.dtype(), TensorShape({total})));
    std::vector<Tensor> moved;
    moved.reserve(parts.size());
    int64_t at = 0;
    for (const Tensor& part : parts) {
      ASSIGN_OR_RETURN(moved.emplace_back(), PartOf(apart, at, part.shape()));
      at += room(part.dim_size(0));
    }
    GpuStream& stream = StreamOf(ctx);
    if (std::all_of(lengths.begin(), lengths.end(), [&](int64_t length) { return length == lengths[0]; })) {
      const int64_t count = static_cast<int64_t>(parts.size());
      const DimVector sizes = {count, lengths[0] * width};
      RETURN_IF_ERROR(StoreStrided(stream, tensor.Slice(0, count * lengths[0]), {sizes[1], 1}, sizes,
                                   {.tensor = apart, .sizes = sizes, .steps = {room(lengths[0]), 1}}));
      return moved;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t bytes = static_cast<size_t>(parts[i].TotalBytes());
      if (bytes > 0) RETURN_IF_ERROR(stream.CopyOnDevice(moved[i].raw_data(), parts[i].raw_data(), bytes));
    }
    return moved;
  }

  bool CanAdd(DataType dtype) const override {
    return IsOnHost(dtype) ? HostSequences().CanAdd(dtype) : FindElementwise("AddV2", dtype).ok();
  }

  absl::StatusOr<Tensor> Sum(const OpKernelContext& ctx, const Tensor& a, const Tensor& b) const override {
    if (IsOnHost(a.dtype())) return HostSequences().Sum(ctx, a, b);
    ASSIGN_OR_RETURN(Tensor sum, ctx.allocate_temp(a.dtype(), a.shape()));
    RETURN_IF_ERROR(AddInto(ctx, a, b, sum));
    return sum;
  }

  absl::Status Add(const OpKernelContext& ctx, const Tensor& value, Tensor* sum) const override {
    if (IsOnHost(sum->dtype())) return HostSequences().Add(ctx, value, sum);
    if (sum->RefCountIsOne()) return AddInto(ctx, *sum, value, *sum);
    ASSIGN_OR_RETURN(*sum, Sum(ctx, *sum, value));
    return absl::OkStatus();
  }

 private:
  struct Part {
    const char* data;
    int64_t bytes;
  };

  static std::vector<Part> PartsOf(absl::Span<const Tensor> elements) {
    std::vector<Part> parts;
    const Tensor* last = nullptr;
    for (const Tensor& element : elements) {
      const char* const data = static_cast<const char*>(element.raw_data());
      if (element.NumElements() == 0) continue;
      // A copy must not reach from one allocation of the driver into the next.
      if (last != nullptr && element.SharesBufferWith(*last) && parts.back().data + parts.back().bytes == data) {
        parts.back().bytes += element.TotalBytes();
      } else {
        parts.push_back({data, element.TotalBytes()});
      }
      last = &element;
    }
    return parts;
  }

  static absl::Status JoinParts(GpuStream& stream, absl::Span<const Part> parts, const Tensor& joined) {
    char* to = static_cast<char*>(joined.raw_data());
    const int64_t bytes = parts[0].bytes;
    if (parts.size() > 2 && std::all_of(parts.begin(), parts.end(), [&](const Part& p) { return p.bytes == bytes; })) {
      ASSIGN_OR_RETURN(const GpuKernel join, FindMove("Join", joined.dtype()));
      for (; !parts.empty(); parts.remove_prefix(std::min<size_t>(parts.size(), kMaxJoinedParts))) {
        const absl::Span<const Part> some = parts.subspan(0, kMaxJoinedParts);
        RETURN_IF_ERROR(LaunchJoin(stream, join, some, static_cast<int64_t>(DataTypeSize(joined.dtype())), to));
        to += bytes * static_cast<int64_t>(some.size());
      }
      return absl::OkStatus();
    }
    for (const Part& part : parts) {
      RETURN_IF_ERROR(stream.CopyOnDevice(to, part.data, static_cast<size_t>(part.bytes)));
      to += part.bytes;
    }
    return absl::OkStatus();
  }

  static absl::Status LaunchJoin(GpuStream& stream, const GpuKernel& join, absl::Span<const Part> parts,
                                 int64_t element_size, char* to) {
    const int64_t bytes = parts[0].bytes, all = bytes * static_cast<int64_t>(parts.size());
    JoinArgs args{.out = to, .width = bytes / element_size, .count = all / element_size};
    std::vector<GpuAccess> accesses = {GpuAccess::Write(to, static_cast<size_t>(all))};
    for (size_t i = 0; i < parts.size(); ++i) {
      args.parts[i] = parts[i].data;
      accesses.push_back(GpuAccess::Read(parts[i].data, static_cast<size_t>(bytes)));
    }
    return stream.LaunchWith(join, args, accesses);
  }

  static absl::Status AddInto(const OpKernelContext& ctx, const Tensor& a, const Tensor& b, const Tensor& sum) {
    ASSIGN_OR_RETURN(const GpuKernel add, FindElementwise("AddV2", a.dtype()));
    if (a.NumElements() == 0) return absl::OkStatus();
    return StreamOf(ctx).LaunchWith(add,
                                    ElementwiseArgs{.x = a.raw_data(),
                                                    .y = b.raw_data(),
                                                    .out = sum.raw_data(),
                                                    .count = a.NumElements(),
                                                    .operands = static_cast<ElementType>(a.dtype())},
                                    {ReadOf(a), ReadOf(b), WriteOf(sum)});
  }
};

class GpuSequenceKernel : public GpuOpKernel {
 public:
  explicit GpuSequenceKernel(std::unique_ptr<OpKernel> kernel) : kernel_(std::move(kernel)) {}
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override { return kernel_->Init(ctx); }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream&) override { return kernel_->Compute(ctx); }

 private:
  const std::unique_ptr<OpKernel> kernel_;
};

}  // namespace

const SequenceMemory& GpuSequences() {
  static const Gpu* const gpu = new Gpu;
  return *gpu;
}

std::unique_ptr<OpKernel> NewGpuSequenceKernel(std::unique_ptr<OpKernel> kernel) {
  return std::make_unique<GpuSequenceKernel>(std::move(kernel));
}

}  // namespace weir
