// Divides keys among the tasks that have parts of a table.
#include <algorithm>
#include <bit>
#include <limits>

#include "core/random_bits.h"
#include "kernels/embedding/family.h"
#include "kernels/embedding/key_hash.h"
#include "kernels/embedding/table_inputs.h"

namespace weir {
namespace {

// Gives every distinct key a number, in the order of their first appearance. Where a key is looked for depends on
// `odd`, a random number: KeyHash is known, so that keys could be made up which all would be looked for in one place.
class Numbering {
 public:
  Numbering(size_t keys, uint64_t odd)
      : odd_(odd),
        slots_(std::bit_ceil(std::max<size_t>(2 * keys, 2)), -1),
        shift_(std::countl_zero(slots_.size()) + 1) {}

  int32_t Number(int64_t key, uint64_t hash) {
    const size_t mask = slots_.size() - 1;
    size_t at = (hash * odd_) >> shift_;
    for (; slots_[at] >= 0; at = (at + 1) & mask) {
      if (keys_[slots_[at]] == key) return slots_[at];
    }
    slots_[at] = static_cast<int32_t>(keys_.size());
    keys_.push_back(key);
    return slots_[at];
  }
  const std::vector<int64_t>& keys() const { return keys_; }

 private:
  const uint64_t odd_;
  std::vector<int32_t> slots_;
  const int shift_;
  std::vector<int64_t> keys_;
};

// Each partition gets its keys once; idx says where each key of the input is in the partitions one after the other.
class DividingKernel : public OpKernel {
 protected:
  // `partition_of(hash)` is below the number of outputs less one.
  template <typename Fn>
  absl::Status Divide(OpKernelContext& ctx, Fn partition_of) {
    ASSIGN_OR_RETURN(const absl::Span<const int64_t> keys, KeysInput(ctx, 0));
    if (keys.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()) / 2) {
      return errors::InvalidArgument("Too many keys for positions of type int32: ", keys.size());
    }
    const int partitions = ctx.num_outputs() - 1;
    ASSIGN_OR_RETURN(Tensor * idx, ctx.allocate_output(partitions, ctx.input(0).shape()));
    Numbering numbering(keys.size(), odd_);
    std::vector<int32_t> chosen;
    std::vector<int32_t> sizes(partitions + 1);
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t hash = KeyHash(keys[i]);
      const int32_t number = numbering.Number(keys[i], hash);
      idx->data<int32_t>()[i] = number;
      if (static_cast<size_t>(number) < chosen.size()) continue;
      chosen.push_back(partition_of(hash));
      ++sizes[chosen.back() + 1];
    }
    std::vector<int64_t*> parts;
    for (int i = 0; i < partitions; ++i) {
      ASSIGN_OR_RETURN(Tensor * part, ctx.allocate_output(i, TensorShape({sizes[i + 1]})));
      parts.push_back(part->data<int64_t>());
      sizes[i + 1] += sizes[i];
    }
    // Where each partition goes on, and where each number went.
    std::vector<int32_t> next(sizes.begin(), sizes.end() - 1);
    std::vector<int32_t> place(chosen.size());
    for (size_t i = 0; i < place.size(); ++i) {
      const int32_t partition = chosen[i];
      parts[partition][next[partition] - sizes[partition]] = numbering.keys()[i];
      place[i] = next[partition]++;
    }
    for (size_t i = 0; i < keys.size(); ++i) idx->data<int32_t>()[i] = place[idx->data<int32_t>()[i]];
    return absl::OkStatus();
  }

 private:
  const uint64_t odd_ = RandomBits() | 1;
};

class PartitionKernel : public DividingKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const int partitions = ctx.num_outputs() - 1;
    return Divide(ctx, [partitions](uint64_t hash) { return PartitionOf(hash, partitions); });
  }
};

// By the map of an embedding: the key space is divided evenly into as many parts as there are owners.
class PartitionByKernel : public DividingKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const absl::Span<const int32_t> owners, Int32sInput(ctx, 1, "owners"));
    const int partitions = ctx.num_outputs() - 1;
    if (owners.empty() || owners.size() > EmbeddingOptions::kMaxParts) {
      return errors::InvalidArgument("owners must be those of 1 to ", EmbeddingOptions::kMaxParts, " parts, got ",
                                     owners.size());
    }
    for (const int32_t owner : owners) {
      if (owner >= 0 && owner < partitions) continue;
      return errors::InvalidArgument("owners must be in [0, ", partitions, "), got ", owner);
    }
    const int parts = static_cast<int>(owners.size());
    return Divide(ctx, [owners, parts](uint64_t hash) { return owners[PartitionOf(hash, parts)]; });
  }
};

}  // namespace

absl::Status RegisterEmbeddingPartitionKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<PartitionKernel>(Kernel("EmbeddingPartition").Cpu()));
  return kernels.Register<PartitionByKernel>(Kernel("EmbeddingPartitionBy").Cpu());
}

}  // namespace weir
