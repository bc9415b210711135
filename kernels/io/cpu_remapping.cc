// Vocabularies that changed between two models, and matrices whose rows and columns follow them.
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/files/file_system.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

absl::StatusOr<std::string> OneString(const Tensor& tensor, absl::string_view name) {
  if (tensor.NumElements() == 1) return tensor.data<tstring>()[0];
  return errors::InvalidArgument(name, " should be a single string, but got ", tensor.NumElements(), " elements");
}

// new_vocab_file, old_vocab_file: for each new word the line it had in the old file, or -1.
class GenerateVocabRemappingKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("new_vocab_offset", &offset_));
    RETURN_IF_ERROR(ctx.GetAttr("num_new_vocab", &count_));
    return ctx.GetAttr("old_vocab_size", &old_size_);
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::vector<std::string> new_words, Lines(ctx, 0, "New vocab"));
    ASSIGN_OR_RETURN(const std::vector<std::string> old_words, Lines(ctx, 1, "Old vocab"));
    if (old_size_ > static_cast<int64_t>(old_words.size())) {
      return errors::InvalidArgument("Invalid vocab_size: expected ", old_size_, " but got ", old_words.size());
    }
    int64_t last;
    if (__builtin_add_overflow(offset_, count_, &last) || last > static_cast<int64_t>(new_words.size())) {
      return errors::InvalidArgument("lookup table size must be larger than last new vocab entry's line");
    }
    const int64_t known = old_size_ < 0 ? static_cast<int64_t>(old_words.size()) : old_size_;
    absl::flat_hash_map<absl::string_view, int64_t> positions;
    for (int64_t i = 0; i < known; ++i) {
      if (!positions.try_emplace(old_words[i], i).second) {
        return errors::InvalidArgument("HashTable has different value for same key. Key ", old_words[i],
                                       " is in the old vocabulary twice");
      }
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({count_})));
    int32_t present = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const auto found = positions.find(new_words[offset_ + i]);
      present += found != positions.end();
      output->data<int64_t>()[i] = found == positions.end() ? -1 : found->second;
    }
    ctx.set_output(1, Tensor::Scalar<int32_t>(present));
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::vector<std::string>> Lines(OpKernelContext& ctx, int input, absl::string_view what) {
    ASSIGN_OR_RETURN(const std::string path, OneString(ctx.input(input), absl::StrCat(what, " filename")));
    if (path.empty()) return errors::InvalidArgument(what, " filename cannot be empty.");
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path));
    ASSIGN_OR_RETURN(const std::string text, ReadFileToString(files, path));
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    for (std::string& line : lines) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
    }
    return lines;
  }

  int64_t offset_ = 0, count_ = 0, old_size_ = -1;
};

// ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values: rows and columns of a matrix in a
// checkpoint by where they were; new ones take the initial values in row-major order.
class LoadAndRemapMatrixKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("num_rows", &rows_));
    return ctx.GetAttr("num_cols", &columns_);
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string path, OneString(ctx.input(0), "The `ckpt_path` tensor"));
    ASSIGN_OR_RETURN(const std::string name, OneString(ctx.input(1), "The `old_tensor_name` tensor"));
    const Tensor &row_map = ctx.input(2), &column_map = ctx.input(3), &initial = ctx.input(4);
    if (row_map.dims() != 1 || column_map.dims() != 1) {
      return errors::InvalidArgument("row_remapping and col_remapping must be vectors, got shapes ",
                                     row_map.shape().ToString(), " and ", column_map.shape().ToString());
    }
    if (row_map.NumElements() != rows_) {
      return errors::InvalidArgument("Size of row_remapping is ", row_map.NumElements(),
                                     " instead of being equal to num_rows=", rows_);
    }
    const bool maps_columns = column_map.NumElements() > 0;
    if (maps_columns && column_map.NumElements() != columns_) {
      return errors::InvalidArgument("Provided col_remapping, but its size is ", column_map.NumElements(),
                                     " instead of being equal to num_cols=", columns_);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({{rows_, columns_}}));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path));
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, path));
    ASSIGN_OR_RETURN(const BundleReader::Info info, reader->Lookup(name));
    if (info.dtype != DT_FLOAT) {
      return errors::InvalidArgument("Tensor ", name, " has dtype ", DataTypeName(info.dtype),
                                     ", only float is supported");
    }
    if (info.shape.dims() != 2) {
      return errors::InvalidArgument("Old tensor shape must be rank 2, got ", info.shape.ToString());
    }
    if (!maps_columns && info.shape.dim_size(1) != columns_) {
      return errors::InvalidArgument("Column remapping not specified, but the number of columns in the new matrix (",
                                     columns_, ") does not match that of the old tensor (", info.shape.dim_size(1),
                                     ")");
    }
    RETURN_IF_ERROR(CheckRemapping(row_map, info.shape.dim_size(0), "row"));
    RETURN_IF_ERROR(CheckRemapping(column_map, info.shape.dim_size(1), "column"));
    ASSIGN_OR_RETURN(const Tensor old, reader->Read(name, ctx.allocator()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    float* out = output->data<float>();
    int64_t next = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t from_row = row_map.data<int64_t>()[row];
      for (int64_t column = 0; column < columns_; ++column) {
        const int64_t from = maps_columns ? column_map.data<int64_t>()[column] : column;
        if (from_row >= 0 && from >= 0) {
          *out++ = old.data<float>()[from_row * info.shape.dim_size(1) + from];
        } else if (next < initial.NumElements()) {
          *out++ = initial.data<float>()[next++];
        } else {
          return errors::InvalidArgument("initializing_values contained ", initial.NumElements(),
                                         " elements, but more missing values remain.");
        }
      }
    }
    if (next == initial.NumElements()) return absl::OkStatus();
    return errors::InvalidArgument("initializing_values contained ", initial.NumElements(), " elements, but only ",
                                   next, " elements were used to fill in missing values.");
  }

 private:
  // Old indices exist, and none is named twice; below zero: there is none.
  static absl::Status CheckRemapping(const Tensor& map, int64_t size, absl::string_view what) {
    absl::flat_hash_map<int64_t, int64_t> seen;
    for (int64_t i = 0; i < map.NumElements(); ++i) {
      const int64_t from = map.data<int64_t>()[i];
      if (from >= size) {
        return errors::InvalidArgument(what, "_remapping[", i, "] = ", from, " is not in the old tensor's [0, ", size,
                                       ")");
      }
      if (from < 0) continue;
      if (const auto [other, added] = seen.try_emplace(from, i); !added) {
        return errors::Unimplemented("Old ID ", from, " is mapped to both new ID ", other->second, " and ", i,
                                     ", which is not supported.");
      }
    }
    return absl::OkStatus();
  }

  int64_t rows_ = 0, columns_ = 0;
};

}  // namespace

absl::Status RegisterRemappingKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<GenerateVocabRemappingKernel>(Kernel("GenerateVocabRemapping").Cpu()));
  return kernels.Register<LoadAndRemapMatrixKernel>(Kernel("LoadAndRemapMatrix").Cpu());
}

}  // namespace weir
