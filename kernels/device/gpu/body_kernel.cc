#include "kernels/device/gpu/body_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/tensor/numeric_types.h"

namespace weir {
namespace {

const BodyEntry* Find(const BodyTable& table, const std::string& name, DataType type, DataType other) {
  for (int i = 0; i < table.size; ++i) {
    const BodyEntry& entry = table.entries[i];
    if (name == entry.name && static_cast<int>(entry.type) == type && static_cast<int>(entry.other) == other) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<GpuKernel> FindBody(const std::string& name, DataType type, DataType other) {
  if (other == DT_INVALID) other = type;
  for (const BodyFamily& family : kBodyFamilies) {
    const BodyEntry* const simulated = Find(family.simulated(), name, type, other);
    if (simulated == nullptr) continue;
    const BodyEntry* const cuda = Find(family.cuda(), name, type, other);
    return GpuKernel{
        .name = simulated->name, .launch = cuda == nullptr ? nullptr : cuda->launch, .simulate = simulated->simulate};
  }
  return errors::Unimplemented("There is no GPU kernel for ", name, " of ", DataTypeName(type),
                               other == type ? "" : absl::StrCat(" to ", DataTypeName(other)));
}

absl::StatusOr<GpuKernel> FindMove(const std::string& name, DataType type) {
  return FindBody(absl::StrCat(name, DataTypeSize(type)), DT_BOOL);
}

PlainValue ValueOf(const Tensor& scalar) {
  PlainValue value;
  std::memcpy(&value, scalar.raw_data(), DataTypeSize(scalar.dtype()));
  return value;
}

PlainValue ValueOf(DataType type, double real, int64_t integer) {
  switch (type) {
    case DT_FLOAT:
    case DT_COMPLEX64:
      return {.low = std::bit_cast<uint32_t>(static_cast<float>(real))};
    case DT_DOUBLE:
    case DT_COMPLEX128:
      return {.low = std::bit_cast<uint64_t>(real)};
    case DT_HALF:
      return {.low = std::bit_cast<uint16_t>(half(static_cast<float>(real)))};
    case DT_BFLOAT16:
      return {.low = std::bit_cast<uint16_t>(bfloat16(static_cast<float>(real)))};
    default:
      return {.low = static_cast<uint64_t>(integer)};
  }
}

std::optional<int> AxisOf(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t CountBefore(const TensorShape& shape, int axis) {
  int64_t count = 1;
  for (int i = 0; i < axis; ++i) count *= shape.dim_size(i);
  return count;
}

int64_t CountBehind(const TensorShape& shape, int axis) {
  int64_t count = 1;
  for (int i = axis + 1; i < shape.dims(); ++i) count *= shape.dim_size(i);
  return count;
}

absl::StatusOr<StridedLayout> LayoutOf(absl::Span<const int64_t> sizes, absl::Span<const int64_t> steps) {
  DimVector joined_sizes, joined_steps;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (!joined_sizes.empty() && joined_steps.back() == steps[i] * sizes[i]) {
      joined_sizes.back() *= sizes[i];
      joined_steps.back() = steps[i];
    } else {
      joined_sizes.push_back(sizes[i]);
      joined_steps.push_back(steps[i]);
    }
  }
  if (joined_sizes.size() > kMaxBodyRank) {
    return errors::Unimplemented("GPU kernels take at most ", kMaxBodyRank, " dimensions that cannot be joined, not ",
                                 joined_sizes.size());
  }
  StridedLayout layout;
  layout.rank = static_cast<int>(joined_sizes.size());
  std::copy(joined_sizes.begin(), joined_sizes.end(), layout.sizes);
  std::copy(joined_steps.begin(), joined_steps.end(), layout.steps);
  return layout;
}

absl::Status CheckBadIndicesPolicy(OpKernelConstruction& ctx) {
  std::string policy;
  if (ctx.HasAttr("bad_indices_policy")) RETURN_IF_ERROR(ctx.GetAttr("bad_indices_policy", &policy));
  if (policy.empty() || policy == "DEFAULT" || policy == "IGNORE") return absl::OkStatus();
  if (policy != "ERROR") {
    return errors::InvalidArgument("Bad indices policy has an unsupported value: '", policy, "'");
  }
  return errors::Unimplemented("There is no GPU kernel for ", ctx.op(),
                               " with bad_indices_policy=ERROR: what is out of range on a GPU is left out");
}

}  // namespace weir
