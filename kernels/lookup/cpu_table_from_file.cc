// InitializeTableFromTextFile: keys and values from the lines of a file.
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/kernel/kernel_registry.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/device/named_resource.h"
#include "kernels/io/buffered_file.h"
#include "kernels/lookup/family.h"
#include "kernels/lookup/lookup_table.h"

namespace weir {
namespace {

// Columns that are none: the number of the line, and all of it.
constexpr int64_t kLineNumber = -1, kWholeLine = -2;

struct FileFormat {
  int64_t key_column = 0, value_column = 0;
  int64_t vocab_size = -1;  // the number of lines to read; -1: all
  int64_t offset = 0;       // the first line's number
  std::string delimiter;
};

// The elements of a column, of a type that is known when the file is read.
class Column {
 public:
  Column(DataType type, int64_t index) : type_(type), index_(index) {}

  absl::Status CheckType(const char* index, const char* what) const {
    if (index_ == kLineNumber && type_ != DT_INT64) {
      return errors::InvalidArgument(index, " index for line number requires table ", what, " dtype of int64, got ",
                                     DataTypeName(type_));
    }
    if (index_ == kWholeLine && type_ != DT_STRING && !IsInteger(type_)) {
      return errors::InvalidArgument(index, " index for whole line requires string or integer table ", what, ", got ",
                                     DataTypeName(type_));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const std::string& line, const std::vector<std::string>& columns, int64_t number) {
    if (index_ == kLineNumber) {
      integers_.push_back(number);
      return absl::OkStatus();
    }
    const std::string& text = index_ == kWholeLine ? line : columns[index_];
    bool ok = true;
    switch (type_) {
      case DT_STRING:
        strings_.push_back(text);
        return absl::OkStatus();
      case DT_INT32: {
        int32_t value;
        ok = absl::SimpleAtoi(text, &value);
        integers_.push_back(value);
        break;
      }
      case DT_INT64:
        ok = absl::SimpleAtoi(text, &integers_.emplace_back());
        break;
      case DT_FLOAT: {
        float value;
        ok = absl::SimpleAtof(text, &value);
        reals_.push_back(value);
        break;
      }
      case DT_DOUBLE:
        ok = absl::SimpleAtod(text, &reals_.emplace_back());
        break;
      default:
        return errors::InvalidArgument("Data type ", DataTypeName(type_), " not supported.");
    }
    if (ok) return absl::OkStatus();
    return errors::InvalidArgument("Field ", text, " in line ", number, " is not a valid ", DataTypeName(type_), ".");
  }

  Tensor ToTensor() const {
    const auto converted = [](auto values, auto as) {
      std::vector<decltype(as)> result(values.begin(), values.end());
      return Tensor::Vector<decltype(as)>(result);
    };
    switch (type_) {
      case DT_STRING:
        return Tensor::Vector<tstring>(strings_);
      case DT_INT32:
        return converted(integers_, int32_t{});
      case DT_INT64:
        return Tensor::Vector<int64_t>(integers_);
      case DT_FLOAT:
        return converted(reals_, float{});
      default:
        return Tensor::Vector<double>(reals_);
    }
  }

 private:
  const DataType type_;
  const int64_t index_;
  std::vector<tstring> strings_;
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
};

absl::Status ReadColumns(const OpKernelContext& ctx, const std::string& path, const FileFormat& format, Column* keys,
                         Column* values) {
  ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path));
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files->NewReadableFile(path));
  BufferedFile lines(std::move(file));
  const int64_t columns = std::max(format.key_column, format.value_column) + 1;
  const int64_t limit = format.vocab_size < 0 ? std::numeric_limits<int64_t>::max() : format.vocab_size;
  std::string line;
  int64_t count = 0;
  for (; count < limit; ++count) {
    if (count % 4096 == 0) RETURN_IF_ERROR(CheckCancelled(ctx));
    const absl::Status status = lines.ReadLine(&line);
    if (absl::IsOutOfRange(status)) break;
    RETURN_IF_ERROR(status);
    if (line.empty()) {
      return errors::InvalidArgument("Invalid content in ", path, ": empty line found at position ", lines.position(),
                                     ".");
    }
    const int64_t number = format.offset + count;
    std::vector<std::string> parts;
    if (columns > 0) parts = absl::StrSplit(line, format.delimiter);
    if (static_cast<int64_t>(parts.size()) < columns) {
      return errors::InvalidArgument("Invalid number of columns in ", path, " line ", number, " (", line,
                                     ") : expected at least ", columns, " got ", parts.size());
    }
    RETURN_IF_ERROR(keys->Add(line, parts, number));
    RETURN_IF_ERROR(values->Add(line, parts, number));
  }
  if (format.vocab_size < 0 && count == 0) {
    return errors::OutOfRange("Read less bytes than requested: ", path, " is empty");
  }
  if (format.vocab_size >= 0 && count < format.vocab_size) {
    return errors::InvalidArgument("Invalid vocab_size in ", path, ": expected ", format.vocab_size, " but got ",
                                   count);
  }
  return absl::OkStatus();
}

class FromFileKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("key_index", &format_.key_column));
    RETURN_IF_ERROR(ctx.GetAttr("value_index", &format_.value_column));
    RETURN_IF_ERROR(ctx.GetAttr("vocab_size", &format_.vocab_size));
    RETURN_IF_ERROR(ctx.GetAttr("offset", &format_.offset));
    RETURN_IF_ERROR(ctx.GetAttr("delimiter", &format_.delimiter));
    if (format_.delimiter.size() != 1) return errors::InvalidArgument("delimiter should be only 1 char");
    return absl::OkStatus();
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, FindResource<LookupTable>(ctx, 0));
    const Tensor path = ctx.locked_input(1);
    if (path.dtype() != DT_STRING || path.NumElements() != 1) {
      return errors::InvalidArgument("filename should be a single string, but got ", path.shape().ToString());
    }
    // The second of two that are to be filled from the same file finds the work done.
    if (table->is_initialized()) return absl::OkStatus();
    Column keys(table->options().key_type, format_.key_column),
        values(table->options().value_type, format_.value_column);
    RETURN_IF_ERROR(keys.CheckType("Key", "key"));
    RETURN_IF_ERROR(values.CheckType("Value", "value"));
    RETURN_IF_ERROR(ReadColumns(ctx, path.data<tstring>()[0], format_, &keys, &values));
    return table->Import(ctx, keys.ToTensor(), values.ToTensor());
  }

 private:
  FileFormat format_;
};

}  // namespace

absl::Status RegisterTableInitializers(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<FromFileKernel>(Kernel("InitializeTableFromTextFile").Cpu()));
  return kernels.Register<FromFileKernel>(Kernel("InitializeTableFromTextFileV2").Cpu());
}

}  // namespace weir
