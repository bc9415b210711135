// DatasetToTFRecord: the elements of a dataset of strings, as records of a file.
#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/device.h"
#include "core/file_system.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/rare_families.h"

namespace weir {
namespace {

class WriteRecordsKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const std::string path, inputs.String("filename"));
    ASSIGN_OR_RETURN(const std::string compression, inputs.String("compression_type"));
    if (!compression.empty()) {
      return errors::Unimplemented("DatasetToTFRecord with compression ", compression);
    }
    ASSIGN_OR_RETURN(FileSystem * files, inputs.ctx().device()->file_systems()->Find(path));
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files->NewWritableFile(path));
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(IteratorPtr iterator, dataset->MakeIterator(ctx));
    for (;;) {
      Element element;
      ASSIGN_OR_RETURN(const bool more, iterator->GetNext(ctx, &element));
      if (!more) return file->Close();
      if (element.size() != 1 || element[0].dtype() != DT_STRING || element[0].dims() != 0) {
        return errors::InvalidArgument("DatasetToTFRecord needs a dataset of string scalars");
      }
      RETURN_IF_ERROR(file->Append(Record(element[0].scalar<tstring>())));
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
