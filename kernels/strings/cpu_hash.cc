// Strings and rows of tensors as hashes.
#include <cstring>

#include "core/fingerprint.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

enum class Hash { kLegacy, kFast, kStrong };

template <Hash kHash>
class HashBucketKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    int64_t buckets;
    RETURN_IF_ERROR(ctx.GetAttr("num_buckets", &buckets));
    if (buckets < 1) return errors::InvalidArgument("num_buckets must be at least 1, got ", buckets);
    buckets_ = buckets;
    if (kHash != Hash::kStrong) return absl::OkStatus();
    std::vector<int64_t> key;
    RETURN_IF_ERROR(ctx.GetAttr("key", &key));
    if (key.size() != 2) return errors::InvalidArgument("Key must have 2 elements");
    std::memcpy(key_, key.data(), sizeof key_);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      output->data<int64_t>()[i] = static_cast<int64_t>(Of(input.data<tstring>()[i]) % buckets_);
    }
    return absl::OkStatus();
  }

 private:
  uint64_t Of(const tstring& text) const {
    if constexpr (kHash == Hash::kLegacy) return Hash64(text);
    if constexpr (kHash == Hash::kFast) return Fingerprint64(text);
    return StrongKeyedHash(key_, text);
  }

  uint64_t buckets_ = 1;
  uint64_t key_[2] = {0, 0};
};

// data, method: eight bytes for each row of the first dimension.
class FingerprintKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor data = ctx.input(0);
    const Tensor& method = ctx.input(1);
    if (method.dims() != 0) {
      return errors::InvalidArgument("`method` should be a scalar string: ", method.shape().ToString());
    }
    if (method.scalar<tstring>() != "farmhash64") {
      return errors::InvalidArgument("Unsupported fingerprint method: ", method.scalar<tstring>());
    }
    if (data.dims() == 0) return errors::InvalidArgument("`data` should have at least one dimension: []");
    if (!IsPlainType(data.dtype()) && data.dtype() != DT_STRING) {
      return errors::InvalidArgument("Fingerprint does not take ", DataTypeName(data.dtype()));
    }
    const int64_t rows = data.dim_size(0), width = rows == 0 ? 0 : data.NumElements() / rows;
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({{rows, 8}}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t hash =
          data.dtype() == DT_STRING ? OfStrings(data.data<tstring>() + row * width, width) : OfBytes(data, row, width);
      std::memcpy(output->data<uint8_t>() + row * 8, &hash, 8);
    }
    return absl::OkStatus();
  }

 private:
  static uint64_t OfBytes(const Tensor& data, int64_t row, int64_t width) {
    const size_t bytes = width * DataTypeSize(data.dtype());
    return Fingerprint64(absl::string_view(static_cast<const char*>(data.raw_data()) + row * bytes, bytes));
  }
  // Several strings hash as the row of their hashes.
  static uint64_t OfStrings(const tstring* strings, int64_t count) {
    if (count == 1) return Fingerprint64(strings[0]);
    std::vector<uint64_t> hashes;
    for (int64_t i = 0; i < count; ++i) hashes.push_back(Fingerprint64(strings[i]));
    return Fingerprint64(
        absl::string_view(reinterpret_cast<const char*>(hashes.data()), hashes.size() * sizeof(uint64_t)));
  }
};

}  // namespace

absl::Status RegisterStringHashKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<HashBucketKernel<Hash::kLegacy>>(Kernel("StringToHashBucket").Cpu()));
  RETURN_IF_ERROR(kernels.Register<HashBucketKernel<Hash::kFast>>(Kernel("StringToHashBucketFast").Cpu()));
  RETURN_IF_ERROR(kernels.Register<HashBucketKernel<Hash::kStrong>>(Kernel("StringToHashBucketStrong").Cpu()));
  return kernels.Register<FingerprintKernel>(Kernel("Fingerprint").Cpu());
}

}  // namespace weir
