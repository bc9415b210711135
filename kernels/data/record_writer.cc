// DatasetToTFRecord: the elements of a dataset of strings, as records of a file.
#include <zlib.h>

#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/device.h"
#include "core/file_system.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/rare_families.h"
#include "kernels/data/record_stream.h"

namespace weir {
namespace {

// A file whose bytes may be compressed on their way.
class RecordSink {
 public:
  RecordSink(std::unique_ptr<WritableFile> file, Compression compression)
      : file_(std::move(file)), compresses_(compression != Compression::kNone) {
    constexpr int kGzipHeader = 16, kMemory = 8;
    if (!compresses_) return;
    is_open_ = deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                            MAX_WBITS + (compression == Compression::kGzip ? kGzipHeader : 0), kMemory,
                            Z_DEFAULT_STRATEGY) == Z_OK;
  }
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;
  ~RecordSink() {
    if (is_open_) deflateEnd(&zlib_);
  }

  absl::Status Append(absl::string_view bytes) {
    return compresses_ ? Deflate(bytes, Z_NO_FLUSH) : file_->Append(bytes);
  }
  absl::Status Close() {
    if (compresses_) RETURN_IF_ERROR(Deflate("", Z_FINISH));
    return file_->Close();
  }

 private:
  absl::Status Deflate(absl::string_view bytes, int flush) {
    if (!is_open_) return errors::Internal("zlib cannot be initialised");
    constexpr size_t kMost = 1 << 30;  // zlib counts with 32 bits
    char out[1 << 14];
    do {
      const absl::string_view part = bytes.substr(0, kMost);
      bytes.remove_prefix(part.size());
      zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
      zlib_.avail_in = static_cast<uInt>(part.size());
      do {
        zlib_.next_out = reinterpret_cast<Bytef*>(out);
        zlib_.avail_out = sizeof(out);
        if (deflate(&zlib_, flush) == Z_STREAM_ERROR) return errors::Internal("deflate() failed");
        RETURN_IF_ERROR(file_->Append(absl::string_view(out, sizeof(out) - zlib_.avail_out)));
      } while (zlib_.avail_out == 0);
    } while (!bytes.empty());
    return absl::OkStatus();
  }

  const std::unique_ptr<WritableFile> file_;
  const bool compresses_;
  bool is_open_ = false;
  z_stream zlib_ = {};
};

class WriteRecordsKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const std::string path, inputs.String("filename"));
    ASSIGN_OR_RETURN(const std::string compression, inputs.String("compression_type"));
    ASSIGN_OR_RETURN(const Compression kind, ParseCompression(compression));
    ASSIGN_OR_RETURN(FileSystem * files, inputs.ctx().device()->file_systems()->Find(path));
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files->NewWritableFile(path));
    RecordSink sink(std::move(file), kind);
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(IteratorPtr iterator, dataset->MakeIterator(ctx));
    for (;;) {
      Element element;
      ASSIGN_OR_RETURN(const bool more, iterator->GetNext(ctx, &element));
      if (!more) return sink.Close();
      if (element.size() != 1 || element[0].dtype() != DT_STRING || element[0].dims() != 0) {
        return errors::InvalidArgument("DatasetToTFRecord needs a dataset of string scalars");
      }
      RETURN_IF_ERROR(sink.Append(Record(element[0].scalar<tstring>())));
    }
  }

 private:
  // Length, its checksum, the bytes, their checksum.
  static std::string Record(const std::string& data) {
    std::string record;
    coding::PutFixed32(&record, static_cast<uint32_t>(data.size()));
    coding::PutFixed32(&record, static_cast<uint32_t>(uint64_t{data.size()} >> 32));
    coding::PutFixed32(&record, crc32c::Mask(crc32c::Value(record)));
    record += data;
    coding::PutFixed32(&record, crc32c::Mask(crc32c::Value(data)));
    return record;
  }
};

}  // namespace

absl::Status RegisterRecordWriterKernels(KernelRegistry& kernels) {
  for (const char* op : {"DatasetToTFRecord", "ExperimentalDatasetToTFRecord"}) {
    RETURN_IF_ERROR(kernels.Register<WriteRecordsKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
