#include "kernels/containers/sequence_memory.h"
#include "kernels/device/elements.h"
#include "kernels/state/update_loops.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

absl::StatusOr<Tensor> Allocate(const OpKernelContext& ctx, DataType dtype, const TensorShape& shape) {
  if (ctx.device()->type() != kDeviceGpu) return ctx.allocate_temp(dtype, shape);
  return Tensor::Allocate(ctx.device()->host_allocator(), dtype, shape);
}

class Host : public SequenceMemory {
 public:
  absl::StatusOr<Tensor> Zeros(const OpKernelContext& ctx, DataType dtype, const TensorShape& shape) const override {
    if (!IsPlainType(dtype) && dtype != DT_STRING) {
      return errors::InvalidArgument("There are no zeros of type ", DataTypeName(dtype));
    }
    ASSIGN_OR_RETURN(Tensor zeros, Allocate(ctx, dtype, shape));
    if (IsPlainType(dtype)) ZeroElements(dtype, zeros.raw_data(), zeros.NumElements());
    return zeros;
  }

  absl::StatusOr<Tensor> Join(const OpKernelContext& ctx, DataType dtype, absl::Span<const Tensor> elements,
                              const TensorShape& shape) const override {
    ASSIGN_OR_RETURN(Tensor joined, Allocate(ctx, dtype, shape));
    char* to = static_cast<char*>(joined.raw_data());
    for (const Tensor& element : elements) {
      CopyElements(dtype, to, element.raw_data(), element.NumElements());
      to += element.TotalBytes();
    }
    return joined;
  }

  absl::StatusOr<std::vector<Tensor>> Cut(const OpKernelContext&, const Tensor& tensor,
                                          absl::Span<const int64_t> lengths) const override {
    std::vector<Tensor> parts;
    parts.reserve(lengths.size());
    int64_t start = 0;
    for (const int64_t length : lengths) {
      parts.push_back(tensor.Slice(start, start + length));
      start += length;
    }
    return parts;
  }

  bool CanAdd(DataType dtype) const override { return FindUpdateLoop(UpdateOp::kAdd, dtype) != nullptr; }

  absl::StatusOr<Tensor> Sum(const OpKernelContext& ctx, const Tensor& a, const Tensor& b) const override {
    ASSIGN_OR_RETURN(Tensor sum, Join(ctx, a.dtype(), {a}, a.shape()));
    RETURN_IF_ERROR(Add(ctx, b, &sum));
    return sum;
  }

  absl::Status Add(const OpKernelContext& ctx, const Tensor& value, Tensor* sum) const override {
    const UpdateLoop add = FindUpdateLoop(UpdateOp::kAdd, sum->dtype());
    if (add == nullptr) return errors::Unimplemented("Elements of type ", DataTypeName(sum->dtype()), " are not added");
    RETURN_IF_ERROR(EnsureExclusive(*sum, ctx.device()->host_allocator()));
    add(sum->raw_data(), value.raw_data(), 1, value.NumElements());
    return absl::OkStatus();
  }
};

}  // namespace

const SequenceMemory& HostSequences() {
  static const Host* const host = new Host;
  return *host;
}

}  // namespace weir
