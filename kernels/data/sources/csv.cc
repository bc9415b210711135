// Records of CSV files, field by field (RFC 4180, with quotes that may be switched off).
#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "core/device/device.h"
#include "core/files/file_system.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/sources/record_stream.h"

namespace weir {
namespace {

struct CsvOptions {
  std::vector<std::string> files;
  Compression compression = Compression::kNone;
  int64_t buffer_size = 0;
  bool header = false, quotes = true;
  char delimiter = ',';
  std::string na_value;
  std::vector<int64_t> selected, excluded;  // ascending; empty: all, none
  Element defaults;                         // one for each field; without elements: the field is required
};

// The fields of one record, which begins with `line`; more lines are taken where a quoted field goes on. The line and
// the fields keep their memory from record to record.
class RecordSplitter {
 public:
  RecordSplitter(const CsvOptions& options, ByteStream& stream, std::string* line)
      : options_(options), stream_(stream), line_(*line) {}

  absl::Status Split(std::vector<std::string>* fields) {
    size_t count = 0;
    for (;; ++at_) {  // past the delimiter
      if (count == fields->size()) fields->emplace_back();
      std::string& field = (*fields)[count++];
      field.clear();
      RETURN_IF_ERROR(options_.quotes && at_ < line_.size() && line_[at_] == '"' ? Quoted(&field) : Plain(&field));
      if (at_ >= line_.size()) break;
    }
    fields->resize(count);
    return absl::OkStatus();
  }

 private:
  absl::Status Plain(std::string* field) {
    const size_t end = std::min(line_.find(options_.delimiter, at_), line_.size());
    field->assign(line_, at_, end - at_);
    at_ = end;
    if (!options_.quotes || field->find('"') == std::string::npos) return absl::OkStatus();
    return errors::InvalidArgument("Unquoted fields cannot have quotes inside");
  }

  absl::Status Quoted(std::string* field) {
    constexpr size_t kMostBytes = size_t{1} << 30;
    ++at_;
    for (;;) {
      if (at_ == line_.size()) {
        std::string more;
        ASSIGN_OR_RETURN(const bool any, stream_.ReadLine(&more));
        if (!any) return errors::InvalidArgument("Reached end of file without closing quoted field in record");
        field->push_back('\n');
        if (field->size() + more.size() > kMostBytes) return errors::ResourceExhausted("A quoted field is too long");
        line_ = std::move(more);
        at_ = 0;
        continue;
      }
      if (line_[at_] != '"') {
        field->push_back(line_[at_++]);
        continue;
      }
      ++at_;
      if (at_ == line_.size() || line_[at_] == options_.delimiter) return absl::OkStatus();
      if (line_[at_] != '"') {
        return errors::InvalidArgument("Quote inside a string has to be escaped by another quote");
      }
      field->push_back('"');
      ++at_;
    }
  }

  const CsvOptions& options_;
  ByteStream& stream_;
  std::string& line_;
  size_t at_ = 0;
};

class CsvDataset : public DatasetBase {
 public:
  CsvDataset(const NodeArguments& node, CsvOptions options)
      : DatasetBase({"CSV", node.output_types(), node.output_shapes(), {}}), options_(std::move(options)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<CsvDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const CsvOptions& options = dataset().options_;
      for (;;) {
        if (stream_ == nullptr) {
          if (file_ >= options.files.size()) return false;
          RETURN_IF_ERROR(Open(ctx));
        }
        ASSIGN_OR_RETURN(const bool more, stream_->ReadLine(&line_));
        if (more) {
          RETURN_IF_ERROR(RecordSplitter(options, *stream_, &line_).Split(&fields_));
          RETURN_IF_ERROR(Select(&fields_));
          return Convert(fields_, element);
        }
        stream_ = nullptr;
        ++file_;
      }
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("file", static_cast<int64_t>(file_));
      writer.Int("position", stream_ == nullptr ? -1 : static_cast<int64_t>(stream_->position()));
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      stream_ = nullptr;
      ASSIGN_OR_RETURN(const int64_t file,
                       reader.Int("file", 0, static_cast<int64_t>(dataset().options_.files.size())));
      ASSIGN_OR_RETURN(const int64_t position, reader.Int("position", -1));
      file_ = file;
      if (position < 0 || file_ >= dataset().options_.files.size()) return absl::OkStatus();
      RETURN_IF_ERROR(OpenFile(ctx));
      return stream_->Skip(position);
    }

   private:
    absl::Status OpenFile(IteratorContext& ctx) {
      const CsvOptions& options = dataset().options_;
      ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(options.files[file_]));
      ASSIGN_OR_RETURN(stream_,
                       ByteStream::Open(files, options.files[file_], options.compression, options.buffer_size));
      return absl::OkStatus();
    }
    absl::Status Open(IteratorContext& ctx) {
      RETURN_IF_ERROR(OpenFile(ctx));
      if (!dataset().options_.header) return absl::OkStatus();
      std::string header;
      ASSIGN_OR_RETURN(const bool any, stream_->ReadLine(&header));
      if (!any) return errors::InvalidArgument("Can't read header of file");
      return absl::OkStatus();
    }

    // Leaves the fields that are wanted, as many as there are defaults.
    absl::Status Select(std::vector<std::string>* fields) const {
      const CsvOptions& options = dataset().options_;
      const size_t wanted = options.defaults.size();
      if (!options.selected.empty()) {
        std::vector<std::string> chosen;
        for (int64_t i : options.selected) {
          if (i < static_cast<int64_t>(fields->size())) chosen.push_back(std::move((*fields)[i]));
        }
        *fields = std::move(chosen);
      }
      for (auto i = options.excluded.rbegin(); i != options.excluded.rend(); ++i) {
        if (*i < static_cast<int64_t>(fields->size())) fields->erase(fields->begin() + *i);
      }
      if (fields->size() == wanted) return absl::OkStatus();
      return errors::InvalidArgument("Expect ", wanted, " fields but have ", fields->size(),
                                     fields->size() < wanted ? " in record" : " or more in record");
    }

    absl::StatusOr<bool> Convert(const std::vector<std::string>& fields, Element* element) const {
      element->clear();
      element->reserve(fields.size());
      for (size_t i = 0; i < fields.size(); ++i) {
        ASSIGN_OR_RETURN(Tensor value, Field(fields[i], i));
        element->push_back(std::move(value));
      }
      return true;
    }
    absl::StatusOr<Tensor> Field(const std::string& text, size_t i) const {
      const CsvOptions& options = dataset().options_;
      const DataType type = dataset().output_types()[i];
      if (text.empty() || text == options.na_value) {
        const Tensor& initial = options.defaults[i];
        if (initial.NumElements() == 1) return initial.Reshaped(TensorShape());
        return errors::InvalidArgument("Field ", i, " is required but missing in record!");
      }
      switch (type) {
        case DT_INT32:
          return Number<int32_t>(text, i, [](absl::string_view s, int32_t* x) { return absl::SimpleAtoi(s, x); });
        case DT_INT64:
          return Number<int64_t>(text, i, [](absl::string_view s, int64_t* x) { return absl::SimpleAtoi(s, x); });
        case DT_FLOAT:
          return Number<float>(text, i, [](absl::string_view s, float* x) { return absl::SimpleAtof(s, x); });
        case DT_DOUBLE:
          return Number<double>(text, i, [](absl::string_view s, double* x) { return absl::SimpleAtod(s, x); });
        case DT_STRING:
          return Tensor::Scalar<tstring>(text);
        default:
          return errors::InvalidArgument("csv: data type ", DataTypeName(type), " not supported in field ", i);
      }
    }
    template <typename T, typename Read>
    static absl::StatusOr<Tensor> Number(const std::string& text, size_t i, Read read) {
      T value;
      if (read(text, &value)) return Tensor::Scalar<T>(value);
      return errors::InvalidArgument("Field ", i, " in record is not a valid ", DataTypeName(DataTypeOf<T>()), ": ",
                                     text);
    }

    size_t file_ = 0;
    std::unique_ptr<ByteStream> stream_;
    std::string line_;                 // of the record that is read
    std::vector<std::string> fields_;  // its fields
  };

  const CsvOptions options_;
};

class CsvKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    CsvOptions options;
    ASSIGN_OR_RETURN(options.files, inputs.Strings("filenames"));
    ASSIGN_OR_RETURN(const std::string compression, inputs.String("compression_type"));
    ASSIGN_OR_RETURN(options.compression, ParseCompression(compression));
    ASSIGN_OR_RETURN(options.buffer_size, inputs.Int("buffer_size"));
    if (options.buffer_size <= 0) return errors::InvalidArgument("buffer_size should be positive");
    ASSIGN_OR_RETURN(options.header, inputs.Bool("header"));
    ASSIGN_OR_RETURN(const std::string delimiter, inputs.String("field_delim"));
    if (delimiter.size() != 1) return errors::InvalidArgument("field_delim should be only 1 char");
    options.delimiter = delimiter[0];
    ASSIGN_OR_RETURN(options.quotes, inputs.Bool("use_quote_delim"));
    ASSIGN_OR_RETURN(options.na_value, inputs.String("na_value"));
    options.defaults = inputs.List("record_defaults");
    ASSIGN_OR_RETURN(options.selected, Columns(inputs, "select_cols"));
    if (inputs.Has("exclude_cols")) {
      ASSIGN_OR_RETURN(options.excluded, Columns(inputs, "exclude_cols"));
      if (!options.selected.empty() && !options.excluded.empty()) {
        return errors::InvalidArgument("Either select_cols or exclude_cols should be empty");
      }
    }
    if (!options.selected.empty() && options.selected.size() != options.defaults.size()) {
      return errors::InvalidArgument("select_cols should match output size");
    }
    for (size_t i = 0; i < options.defaults.size(); ++i) {
      const Tensor& initial = options.defaults[i];
      if (initial.dims() > 1 || initial.NumElements() > 1) {
        return errors::InvalidArgument("There should only be 1 default per field but field ", i, " has ",
                                       initial.NumElements());
      }
      if (i >= inputs.node().output_types().size() || initial.dtype() != inputs.node().output_types()[i]) {
        return errors::InvalidArgument("record_defaults do not have the types of output_types at ", i);
      }
    }
    return std::make_shared<CsvDataset>(inputs.node(), std::move(options));
  }

 private:
  static absl::StatusOr<std::vector<int64_t>> Columns(const NodeInputs& inputs, const char* name) {
    if (inputs.Get(name).dims() != 1) return errors::InvalidArgument("`", name, "` must be a vector.");
    ASSIGN_OR_RETURN(std::vector<int64_t> columns, inputs.Ints(name));
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0) return errors::InvalidArgument(name, " should be non-negative indices");
      if (i > 0 && columns[i] <= columns[i - 1]) {
        return errors::InvalidArgument(name, " should be strictly increasing indices");
      }
    }
    return columns;
  }
};

}  // namespace

absl::Status RegisterCsvDatasetKernels(KernelRegistry& kernels) {
  for (const char* op : {"CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset"}) {
    RETURN_IF_ERROR(kernels.Register<CsvKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
