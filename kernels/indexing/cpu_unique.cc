// Unique, UniqueWithCounts and ListDiff.
#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

// Appends a key; keys are equal exactly if elements are: NaN differs from everything, -0 equals 0.
class ElementKeys {
 public:
  static absl::StatusOr<ElementKeys> Of(OpKernelContext& ctx, const Tensor& tensor) {
    ElementKeys keys;
    keys.tensor_ = tensor;
    if (IsFloating(tensor.dtype())) {
      ASSIGN_OR_RETURN(keys.wide_, ctx.allocate_temp(DT_DOUBLE, tensor.shape()));
      if (tensor.dtype() == DT_DOUBLE) {
        CopyElements(DT_DOUBLE, keys.wide_.raw_data(), tensor.raw_data(), tensor.NumElements());
      } else if (const CastLoop cast = FindCast(tensor.dtype(), DT_DOUBLE)) {
        cast(tensor.raw_data(), keys.wide_.raw_data(), tensor.NumElements());
      } else {
        return errors::Unimplemented("Unique of ", DataTypeName(tensor.dtype()));
      }
      keys.floating_ = true;
    } else if (tensor.dtype() != DT_STRING && (!IsPlainType(tensor.dtype()) || IsComplex(tensor.dtype()))) {
      return errors::Unimplemented("Unique of ", DataTypeName(tensor.dtype()));
    }
    return keys;
  }

  void Append(int64_t i, std::string* key) const {
    if (floating_) {
      double value = wide_.data<double>()[i];
      if (value == 0) value = 0;  // without its sign
      key->append(reinterpret_cast<const char*>(&value), sizeof(value));
      if (value != value) key->append(reinterpret_cast<const char*>(&i), sizeof(i));
    } else if (tensor_.dtype() == DT_STRING) {
      const tstring& value = tensor_.data<tstring>()[i];
      const size_t size = value.size();
      key->append(reinterpret_cast<const char*>(&size), sizeof(size));
      key->append(value);
    } else {
      const size_t size = DataTypeSize(tensor_.dtype());
      key->append(static_cast<const char*>(tensor_.raw_data()) + i * size, size);
    }
  }

 private:
  Tensor tensor_, wide_;
  bool floating_ = false;
};

// Distinct words, numbered as they come. Open addressing in one array of numbers.
template <typename Word>
class WordTable {
 public:
  explicit WordTable(int64_t most)
      : slots_(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(most, 8, 1024)) * 2)) {}

  // The number of `word`; equal to size() before the call if the word is new.
  int64_t Number(Word word) {
    size_t slot = Slot(word);
    while (slots_[slot] != 0) {
      if (words_[slots_[slot] - 1] == word) return slots_[slot] - 1;
      slot = (slot + 1) & (slots_.size() - 1);
    }
    words_.push_back(word);
    slots_[slot] = size();
    if (words_.size() * 2 > slots_.size()) Grow();
    return size() - 1;
  }
  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  const std::vector<Word>& words() const { return words_; }

 private:
  size_t Slot(Word word) const { return absl::Hash<Word>()(word) & (slots_.size() - 1); }
  void Grow() {
    slots_.assign(slots_.size() * 4, 0);
    for (int64_t i = 0; i < size(); ++i) {
      size_t slot = Slot(words_[i]);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = i + 1;
    }
  }

  std::vector<int64_t> slots_;  // the number of a word plus 1; 0: free
  std::vector<Word> words_;
};

// Unique of a vector of integers, as words of their width.
template <typename Word, typename Index>
absl::Status UniqueWords(OpKernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const int64_t n = input.NumElements();
  const Word* const x = static_cast<const Word*>(input.raw_data());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(1, TensorShape({n})));
  Index* const which = indices->data<Index>();
  WordTable<Word> table(n);
  std::vector<Index> counts;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t number = table.Number(x[i]);
    which[i] = static_cast<Index>(number);
    if (number == static_cast<int64_t>(counts.size())) counts.push_back(0);
    ++counts[number];
  }
  const TensorShape shape({table.size()});
  ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(0, shape));
  std::copy(table.words().begin(), table.words().end(), static_cast<Word*>(values->raw_data()));
  if (ctx.num_outputs() < 3) return absl::OkStatus();
  ASSIGN_OR_RETURN(Tensor * count, ctx.allocate_output(2, shape));
  std::copy(counts.begin(), counts.end(), count->data<Index>());
  return absl::OkStatus();
}

// nullptr if elements are not integers.
template <typename Index>
absl::Status (*FindUniqueWords(DataType type))(OpKernelContext&) {
  if (!IsInteger(type) && type != DT_BOOL) return nullptr;
  switch (DataTypeSize(type)) {
    case 1:
      return &UniqueWords<uint8_t, Index>;
    case 2:
      return &UniqueWords<uint16_t, Index>;
    case 4:
      return &UniqueWords<uint32_t, Index>;
    default:
      return &UniqueWords<uint64_t, Index>;
  }
}

// Outputs: the distinct elements, or slices along an axis, in order of first appearance; the number of each element's
// value; and, if the op has a third output, the count of each value.
class UniqueKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    unique_words_ = ctx.output_types()[1] == DT_INT32 ? FindUniqueWords<int32_t>(type) : FindUniqueWords<int64_t>(type);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const int axis, Axis(ctx));
    // The numbers of fewer elements fit into either type of index.
    if (input.dims() == 1 && unique_words_ != nullptr && input.NumElements() <= std::numeric_limits<int32_t>::max()) {
      return unique_words_(ctx);
    }
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= input.dim_size(i);
    for (int i = axis + 1; i < input.dims(); ++i) inner *= input.dim_size(i);
    const int64_t n = input.dim_size(axis);
    ASSIGN_OR_RETURN(const ElementKeys keys, ElementKeys::Of(ctx, input));
    absl::flat_hash_map<std::string, int64_t> seen;
    DimVector which(n), firsts, counts;
    for (int64_t i = 0; i < n; ++i) {
      std::string key;
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t k = 0; k < inner; ++k) keys.Append((o * n + i) * inner + k, &key);
      }
      const auto [entry, added] = seen.try_emplace(std::move(key), static_cast<int64_t>(firsts.size()));
      if (added) {
        firsts.push_back(i);
        counts.push_back(0);
      }
      which[i] = entry->second;
      ++counts[which[i]];
    }
    TensorShape shape = input.shape();
    const int64_t distinct = firsts.size();
    RETURN_IF_ERROR(shape.SetDim(axis, distinct));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(0, shape));
    const int64_t bytes = inner * static_cast<int64_t>(DataTypeSize(input.dtype()));
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < distinct; ++i) {
        CopyElements(input.dtype(), static_cast<char*>(values->raw_data()) + (o * distinct + i) * bytes,
                     static_cast<const char*>(input.raw_data()) + (o * n + firsts[i]) * bytes, inner);
      }
    }
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(1, TensorShape({n})));
    RETURN_IF_ERROR(WriteIntegers(which, indices));
    if (ctx.num_outputs() < 3) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor * count, ctx.allocate_output(2, TensorShape({distinct})));
    return WriteIntegers(counts, count);
  }

 private:
  static absl::StatusOr<int> Axis(OpKernelContext& ctx) {
    const TensorShape& shape = ctx.input(0).shape();
    if (ctx.num_inputs() < 2 || ctx.input(1).NumElements() == 0) {
      if (!shape.IsVector()) return errors::InvalidArgument("unique expects a 1D vector.");
      return 0;
    }
    if (ctx.input(1).dims() != 1) return errors::InvalidArgument("axis expects a 1D vector.");
    if (ctx.input(1).NumElements() != 1)
      return errors::InvalidArgument("axis does not support input tensors larger than 1 elements");
    ASSIGN_OR_RETURN(const DimVector axes, ReadIntegers(ctx.input(1)));
    if (axes[0] < -shape.dims() || axes[0] >= shape.dims()) {
      return errors::InvalidArgument("axis has to be between [0, ", shape.dims(), ") but got ", axes[0]);
    }
    return static_cast<int>(axes[0] < 0 ? axes[0] + shape.dims() : axes[0]);
  }

  absl::Status (*unique_words_)(OpKernelContext&) = nullptr;
};

// The elements of x that are not in y, and their indices in x.
class ListDiffKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    if (x.dims() != 1) return errors::InvalidArgument("x should be a 1D vector.");
    if (y.dims() != 1) return errors::InvalidArgument("y should be a 1D vector.");
    ASSIGN_OR_RETURN(const ElementKeys x_keys, ElementKeys::Of(ctx, x));
    ASSIGN_OR_RETURN(const ElementKeys y_keys, ElementKeys::Of(ctx, y));
    absl::flat_hash_map<std::string, bool> unwanted;
    for (int64_t i = 0; i < y.NumElements(); ++i) {
      std::string key;
      y_keys.Append(i, &key);
      unwanted[key] = true;
    }
    DimVector kept;
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      std::string key;
      x_keys.Append(i, &key);
      if (!unwanted.contains(key)) kept.push_back(i);
    }
    const TensorShape shape({static_cast<int64_t>(kept.size())});
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(1, shape));
    const int64_t size = DataTypeSize(x.dtype());
    for (size_t i = 0; i < kept.size(); ++i) {
      CopyElements(x.dtype(), static_cast<char*>(values->raw_data()) + i * size,
                   static_cast<const char*>(x.raw_data()) + kept[i] * size, 1);
    }
    return WriteIntegers(kept, indices);
  }
};

}  // namespace

absl::Status RegisterUniqueKernels(KernelRegistry& kernels) {
  for (const char* op : {"Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"}) {
    RETURN_IF_ERROR(kernels.Register<UniqueKernel>(Kernel(op).Cpu()));
  }
  return kernels.Register<ListDiffKernel>(Kernel("ListDiff").Cpu());
}

}  // namespace weir
