// Datasets of the records, lines and blocks in files.
#include <algorithm>
#include <optional>

#include "core/files/file_system.h"
#include "core/logging.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/indexed_dataset.h"
#include "kernels/data/sources/record_stream.h"

namespace weir {
namespace {

enum class RecordKind { kTfRecord, kLine, kBlock };

class RecordDataset : public DatasetBase {
 public:
  struct Options {
    RecordKind kind = RecordKind::kTfRecord;
    std::vector<std::string> files;
    std::vector<int64_t> offsets;  // where to begin in each file; empty: at the beginning
    Compression compression = Compression::kNone;
    int64_t buffer_size = 0;
    int64_t header = 0, block = 0, footer = 0;  // bytes, of files of blocks
  };
  RecordDataset(std::string type, Options options)
      : DatasetBase({std::move(type), {DT_STRING}, {TensorShape()}, {}}), options_(std::move(options)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator;
  const Options options_;
};

class RecordDataset::Iterator : public DatasetIterator<RecordDataset> {
 public:
  using DatasetIterator::DatasetIterator;

  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
    const Options& options = dataset().options_;
    for (;;) {
      RETURN_IF_ERROR(ctx.CheckCancelled());
      if (stream_ == nullptr) {
        if (file_ >= static_cast<int64_t>(options.files.size())) return false;
        absl::Status status = OpenFile(ctx, 0);
        if (!status.ok()) {
          // An error of one file is reported once, except that files of blocks are not passed over.
          if (options.kind == RecordKind::kBlock) {
            stream_.reset();
          } else {
            CloseFile();
          }
          return status;
        }
      }
      std::string record;
      absl::StatusOr<bool> more = Read(&record);
      if (!more.ok()) {
        // Nothing after the damage can be trusted.
        CloseFile();
        return more;
      }
      if (*more) {
        *element = {Tensor::Scalar<tstring>(std::move(record))};
        return true;
      }
      CloseFile();
    }
  }

  absl::Status SaveState(IteratorContext&, StateWriter writer) override {
    writer.Int("file", file_);
    writer.Int("is_open", stream_ != nullptr ? 1 : 0);
    if (stream_ != nullptr) writer.Int("position", static_cast<int64_t>(Position()));
    return absl::OkStatus();
  }

  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    const auto files = static_cast<int64_t>(dataset().options_.files.size());
    stream_.reset();
    ASSIGN_OR_RETURN(file_, reader.Int("file", 0, files));
    ASSIGN_OR_RETURN(const bool is_open, reader.Int("is_open", 0, 1));
    if (!is_open || file_ == files) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int64_t position, reader.Int("position"));
    return OpenFile(ctx, position);
  }

 private:
  absl::Status OpenFile(IteratorContext& ctx, uint64_t position) {
    const Options& options = dataset().options_;
    const std::string& path = options.files[file_];
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path));
    if (options.kind == RecordKind::kBlock && options.compression == Compression::kNone) {
      RETURN_IF_ERROR(CheckBlocks(files, path));
    }
    ASSIGN_OR_RETURN(stream_, ByteStream::Open(files, path, options.compression, options.buffer_size));
    if (position == 0) position = options.offsets.empty() ? options.header : options.offsets[file_];
    lookahead_.clear();
    RETURN_IF_ERROR(stream_->Skip(position));
    if (options.kind == RecordKind::kBlock) RETURN_IF_ERROR(stream_->Read(options.footer, &lookahead_));
    return absl::OkStatus();
  }

  // What was put out ends here: the footer that was read ahead comes after it.
  uint64_t Position() const { return stream_->position() - lookahead_.size(); }

  absl::Status CheckBlocks(FileSystem* files, const std::string& path) const {
    const Options& options = dataset().options_;
    ASSIGN_OR_RETURN(const uint64_t size, files->Size(path));
    const int64_t body = static_cast<int64_t>(size) - options.header - options.footer;
    if (body >= 0 && body % options.block == 0) return absl::OkStatus();
    return errors::InvalidArgument("Excluding the header (", options.header, " bytes) and footer (", options.footer,
                                   " bytes), input file \"", path, "\" has body length ", body,
                                   " bytes, which is not an exact multiple of the record length (", options.block,
                                   " bytes).");
  }

  absl::StatusOr<bool> Read(std::string* record) {
    switch (dataset().options_.kind) {
      case RecordKind::kTfRecord:
        return ReadTfRecord(*stream_, record);
      case RecordKind::kLine:
        return stream_->ReadLine(record);
      case RecordKind::kBlock:
        return ReadBlock(record);
    }
    return false;
  }

  // The last bytes of a file are its footer, so a block is known to be one when as many bytes follow it.
  absl::StatusOr<bool> ReadBlock(std::string* record) {
    const Options& options = dataset().options_;
    std::string bytes = std::move(lookahead_);
    RETURN_IF_ERROR(stream_->Read(options.block + options.footer - bytes.size(), &bytes));
    const auto size = static_cast<int64_t>(bytes.size());
    if (size < options.footer || (size > options.footer && size < options.block + options.footer)) {
      return errors::DataLoss("Excluding the header (", options.header, " bytes) and footer (", options.footer,
                              " bytes), input file \"", options.files[file_], "\" has a body length that is not a ",
                              "multiple of the record length (", options.block, " bytes).");
    }
    if (size == options.footer) return false;
    lookahead_ = bytes.substr(options.block);
    bytes.resize(options.block);
    *record = std::move(bytes);
    return true;
  }

  void CloseFile() {
    stream_.reset();
    ++file_;
  }

  int64_t file_ = 0;
  std::unique_ptr<ByteStream> stream_;
  std::string lookahead_;
};

class RecordKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    kind_ = ctx.op().rfind("TFRecord", 0) == 0   ? RecordKind::kTfRecord
            : ctx.op().rfind("TextLine", 0) == 0 ? RecordKind::kLine
                                                 : RecordKind::kBlock;
    type_ = ctx.op().substr(0, ctx.op().find("Dataset"));
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    RecordDataset::Options options;
    options.kind = kind_;
    ASSIGN_OR_RETURN(options.files, inputs.Strings("filenames"));
    if (inputs.Has("compression_type")) {
      ASSIGN_OR_RETURN(const std::string compression, inputs.String("compression_type"));
      absl::StatusOr<Compression> parsed = ParseCompression(compression);
      if (parsed.ok()) {
        options.compression = *parsed;
      } else if (kind_ == RecordKind::kTfRecord) {  // as TensorFlow does
        WEIR_LOG(WARNING) << parsed.status().message() << " No compression will be used.";
      } else {
        return parsed.status();
      }
    }
    ASSIGN_OR_RETURN(options.buffer_size, inputs.Int("buffer_size"));
    if (options.buffer_size < -1) {
      return errors::InvalidArgument("`buffer_size` must be >= 0 (0 == ",
                                     kind_ == RecordKind::kTfRecord ? "no buffering)" : "default)");
    }
    if (kind_ == RecordKind::kBlock) {
      if (options.buffer_size < 0) return errors::InvalidArgument("`buffer_size` must be >= 0");
      RETURN_IF_ERROR(ReadSizes(inputs, &options));
    }
    if (inputs.Has("byte_offsets")) RETURN_IF_ERROR(ReadOffsets(inputs, &options));
    return std::make_shared<RecordDataset>(type_, std::move(options));
  }

 private:
  static absl::Status ReadSizes(const NodeInputs& inputs, RecordDataset::Options* options) {
    ASSIGN_OR_RETURN(options->header, inputs.Int("header_bytes"));
    if (options->header < 0) return errors::InvalidArgument("`header_bytes` must be >= 0");
    ASSIGN_OR_RETURN(options->block, inputs.Int("record_bytes"));
    if (options->block <= 0) return errors::InvalidArgument("`record_bytes` must be > 0");
    ASSIGN_OR_RETURN(options->footer, inputs.Int("footer_bytes"));
    if (options->footer < 0) return errors::InvalidArgument("`footer_bytes` must be >= 0");
    constexpr int64_t kMost = int64_t{1} << 40;
    if (std::max({options->header, options->block, options->footer}) > kMost) {
      return errors::InvalidArgument("A record, header or footer of more than ", kMost, " bytes");
    }
    return absl::OkStatus();
  }

  static absl::Status ReadOffsets(const NodeInputs& inputs, RecordDataset::Options* options) {
    ASSIGN_OR_RETURN(options->offsets, inputs.Ints("byte_offsets"));
    if (!options->offsets.empty() && options->offsets.size() != options->files.size()) {
      return errors::InvalidArgument("`byte_offsets` must be of same size as `filenames`");
    }
    for (int64_t offset : options->offsets) {
      if (offset < 0) return errors::InvalidArgument("`byte_offsets` must be >= 0");
    }
    return absl::OkStatus();
  }

  RecordKind kind_ = RecordKind::kTfRecord;
  std::string type_;
};

// --- Names of files ---

class MatchingFilesDataset : public DatasetBase {
 public:
  explicit MatchingFilesDataset(std::vector<std::string> patterns)
      : DatasetBase({"MatchingFiles", {DT_STRING}, {TensorShape()}, {}}), patterns_(std::move(patterns)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<MatchingFilesDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (!paths_) RETURN_IF_ERROR(FindAll(ctx));
      if (next_ >= static_cast<int64_t>(paths_->size())) return false;
      *element = {Tensor::Scalar<tstring>((*paths_)[next_++])};
      return true;
    }
    absl::Status SaveState(IteratorContext&, StateWriter writer) override {
      writer.Int("has_paths", paths_ ? 1 : 0);
      writer.Int("next", next_);
      if (paths_) writer.Tensor("paths", Tensor::Vector<tstring>(*paths_));
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext&, const StateReader& reader) override {
      paths_.reset();
      ASSIGN_OR_RETURN(const bool has_paths, reader.Int("has_paths", 0, 1));
      ASSIGN_OR_RETURN(next_, reader.Int("next"));
      if (!has_paths) return absl::OkStatus();
      ASSIGN_OR_RETURN(const Tensor paths, reader.Tensor("paths"));
      if (paths.dtype() != DT_STRING) return errors::InvalidArgument("The saved state has no paths");
      paths_.emplace(paths.flat<tstring>().begin(), paths.flat<tstring>().end());
      return absl::OkStatus();
    }

   private:
    absl::Status FindAll(IteratorContext& ctx) {
      std::vector<std::string> all;
      for (const std::string& pattern : dataset().patterns_) {
        ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(pattern));
        ASSIGN_OR_RETURN(const std::vector<std::string> found,
                         files->Glob(pattern, [&] { return ctx.CheckCancelled(); }));
        all.insert(all.end(), found.begin(), found.end());
      }
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      if (all.empty()) return errors::NotFound("Didn't find any matching files");
      paths_ = std::move(all);
      return absl::OkStatus();
    }

    std::optional<std::vector<std::string>> paths_;
    int64_t next_ = 0;
  };

  const std::vector<std::string> patterns_;
};

class MatchingFilesKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(std::vector<std::string> patterns, inputs.Strings("patterns"));
    return std::make_shared<MatchingFilesDataset>(std::move(patterns));
  }
};

}  // namespace

absl::Status RegisterRecordKernels(KernelRegistry& kernels) {
  for (const char* op : {"TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset", "FixedLengthRecordDataset",
                         "FixedLengthRecordDatasetV2"}) {
    RETURN_IF_ERROR(kernels.Register<RecordKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"MatchingFilesDataset", "ExperimentalMatchingFilesDataset"}) {
    RETURN_IF_ERROR(kernels.Register<MatchingFilesKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
