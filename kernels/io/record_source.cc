#include "kernels/io/record_source.h"

#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "kernels/io/buffered_file.h"

namespace weir {
namespace {

absl::StatusOr<std::unique_ptr<BufferedFile>> OpenFile(const FileSystemRegistry& file_systems, const std::string& path,
                                                       RecordCompression compression = RecordCompression::kNone) {
  ASSIGN_OR_RETURN(FileSystem * files, file_systems.Find(path));
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files->NewReadableFile(path));
  if (compression != RecordCompression::kNone) {
    file = NewInflatedFile(std::move(file), compression == RecordCompression::kGzip);
  }
  return std::make_unique<BufferedFile>(std::move(file));
}

class TextLineSource : public RecordSource {
 public:
  explicit TextLineSource(int64_t skip_header_lines) : skip_header_lines_(skip_header_lines) {}

  absl::Status Open(const FileSystemRegistry& file_systems, const std::string& work) override {
    ASSIGN_OR_RETURN(file_, OpenFile(file_systems, work));
    work_ = work;
    std::string line;
    for (line_number_ = 0; line_number_ < skip_header_lines_; ++line_number_) {
      const absl::Status status = file_->ReadLine(&line);
      if (absl::IsOutOfRange(status)) break;  // the header is all there is
      RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Next(std::string* key, std::string* value) override {
    const absl::Status status = file_->ReadLine(value);
    if (absl::IsOutOfRange(status)) return false;
    RETURN_IF_ERROR(status);
    *key = absl::StrCat(work_, ":", ++line_number_);
    return true;
  }

 private:
  const int64_t skip_header_lines_;
  std::unique_ptr<BufferedFile> file_;
  std::string work_;
  int64_t line_number_ = 0;
};

class FixedLengthSource : public RecordSource {
 public:
  explicit FixedLengthSource(FixedLengthFormat format) : format_(format) {
    if (format_.hop_bytes == 0) format_.hop_bytes = format_.record_bytes;
  }

  absl::Status Open(const FileSystemRegistry& file_systems, const std::string& work) override {
    ASSIGN_OR_RETURN(file_,
                     OpenFile(file_systems, work, format_.zlib ? RecordCompression::kZlib : RecordCompression::kNone));
    work_ = work;
    record_ = 0;
    ahead_.clear();
    const absl::Status status = file_->Skip(format_.header_bytes);
    return absl::IsOutOfRange(status) ? absl::OkStatus() : status;  // there are no records
  }

  absl::StatusOr<bool> Next(std::string* key, std::string* value) override {
    const absl::Status status = FillAhead();
    if (absl::IsOutOfRange(status)) return false;
    RETURN_IF_ERROR(status);
    value->assign(ahead_, 0, format_.record_bytes);
    *key = absl::StrCat(work_, ":", record_++);
    return true;
  }

 private:
  // Has a record and the footer, which may be the file's or part of further records, in `ahead_`.
  absl::Status FillAhead() {
    if (record_ > 0) {
      const uint64_t hop = format_.hop_bytes;
      if (hop <= ahead_.size()) {
        ahead_.erase(0, hop);
      } else {
        RETURN_IF_ERROR(file_->Skip(hop - ahead_.size()));
        ahead_.clear();
      }
    }
    std::string more;
    const size_t needed = format_.record_bytes + format_.footer_bytes;
    if (ahead_.size() < needed) RETURN_IF_ERROR(file_->Read(needed - ahead_.size(), &more));
    ahead_ += more;
    return absl::OkStatus();
  }

  FixedLengthFormat format_;
  std::unique_ptr<BufferedFile> file_;
  std::string work_, ahead_;
  int64_t record_ = 0;
};

// TFRecord: length, its checksum, the bytes, their checksum.
class RecordFileSource : public RecordSource {
 public:
  explicit RecordFileSource(RecordCompression compression) : compression_(compression) {}

  absl::Status Open(const FileSystemRegistry& file_systems, const std::string& work) override {
    ASSIGN_OR_RETURN(file_, OpenFile(file_systems, work, compression_));
    work_ = work;
    failure_ = absl::OkStatus();
    return absl::OkStatus();
  }

  // There is no way on from a bad record: it is met again.
  absl::StatusOr<bool> Next(std::string* key, std::string* value) override {
    RETURN_IF_ERROR(failure_);
    absl::StatusOr<bool> produced = ReadRecord(key, value);
    failure_ = produced.status();
    return produced;
  }

 private:
  static constexpr size_t kHeaderSize = 12, kSumSize = 4;

  absl::StatusOr<bool> ReadRecord(std::string* key, std::string* value) {
    const uint64_t offset = file_->position();
    std::string header;
    absl::Status status = file_->Read(kHeaderSize, &header);
    if (absl::IsOutOfRange(status) && header.empty()) return false;
    if (absl::IsOutOfRange(status)) return Truncated(offset);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(CheckSum(header, 8, offset));
    const uint64_t size = coding::DecodeFixed64(header.data());
    if (size > BufferedFile::kMaxPiece) {
      return errors::DataLoss("record at ", offset, " in ", work_, " claims ", size, " bytes");
    }
    status = file_->Read(size + kSumSize, value);
    if (absl::IsOutOfRange(status)) return Truncated(offset);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(CheckSum(*value, size, offset + kHeaderSize));
    value->resize(size);
    *key = absl::StrCat(work_, ":", offset);
    return true;
  }

  absl::Status Truncated(uint64_t offset) const {
    return errors::DataLoss("truncated record at ", offset, "' failed with Read less bytes than requested from ",
                            work_);
  }
  absl::Status CheckSum(const std::string& bytes, size_t size, uint64_t offset) const {
    const uint32_t stored = crc32c::Unmask(coding::DecodeFixed32(bytes.data() + size));
    if (stored == crc32c::Value(absl::string_view(bytes).substr(0, size))) return absl::OkStatus();
    // A length that is none is what other files begin with.
    return errors::DataLoss("corrupted record at ", offset, offset == 0 ? " (Is this even a TFRecord file?)" : "",
                            " in ", work_);
  }

  const RecordCompression compression_;
  std::unique_ptr<BufferedFile> file_;
  std::string work_;
  absl::Status failure_;
};

class WholeFileSource : public RecordSource {
 public:
  absl::Status Open(const FileSystemRegistry& file_systems, const std::string& work) override {
    work_ = work;
    read_ = false;
    ASSIGN_OR_RETURN(files_, file_systems.Find(work));
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Next(std::string* key, std::string* value) override {
    if (read_) return false;
    ASSIGN_OR_RETURN(*value, ReadFileToString(files_, work_));
    *key = work_;
    read_ = true;
    return true;
  }
  bool IsSingleRecord() const override { return true; }

 private:
  FileSystem* files_ = nullptr;
  std::string work_;
  bool read_ = false;
};

class IdentitySource : public RecordSource {
 public:
  absl::Status Open(const FileSystemRegistry&, const std::string& work) override {
    work_ = work;
    read_ = false;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Next(std::string* key, std::string* value) override {
    if (read_) return false;
    *key = *value = work_;
    read_ = true;
    return true;
  }
  bool IsSingleRecord() const override { return true; }

 private:
  std::string work_;
  bool read_ = false;
};

}  // namespace

std::unique_ptr<RecordSource> NewTextLineSource(int64_t skip_header_lines) {
  return std::make_unique<TextLineSource>(skip_header_lines);
}
std::unique_ptr<RecordSource> NewFixedLengthSource(FixedLengthFormat format) {
  return std::make_unique<FixedLengthSource>(format);
}
std::unique_ptr<RecordSource> NewRecordFileSource(RecordCompression compression) {
  return std::make_unique<RecordFileSource>(compression);
}
std::unique_ptr<RecordSource> NewWholeFileSource() { return std::make_unique<WholeFileSource>(); }
std::unique_ptr<RecordSource> NewIdentitySource() { return std::make_unique<IdentitySource>(); }

}  // namespace weir
