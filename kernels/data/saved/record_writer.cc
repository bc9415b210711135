// DatasetToTFRecord: the elements of a dataset of strings, as records of a file.
#include "core/checkpoint/tf_record.h"
#include "core/device/device.h"
#include "core/files/file_system.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/saved/record_sink.h"

namespace weir {
namespace {

class WriteRecordsKernel : public DatasetConsumerKernel {
 protected:
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const std::string path, inputs.String("filename"));
    ASSIGN_OR_RETURN(const std::string compression, inputs.String("compression_type"));
    ASSIGN_OR_RETURN(const Compression kind, ParseCompression(compression));
    ASSIGN_OR_RETURN(FileSystem * files, inputs.ctx().device()->file_systems()->Find(path));
    ASSIGN_OR_RETURN(const std::unique_ptr<RecordSink> sink, RecordSink::Open(files, path, kind));
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(IteratorPtr iterator, dataset->MakeIterator(ctx));
    for (;;) {
      Element element;
      ASSIGN_OR_RETURN(const bool more, iterator->GetNext(ctx, &element));
      if (!more) return sink->Close();
      if (element.size() != 1 || element[0].dtype() != DT_STRING || element[0].dims() != 0) {
        return errors::InvalidArgument("DatasetToTFRecord needs a dataset of string scalars");
      }
      RETURN_IF_ERROR(sink->Append(TfRecord(element[0].scalar<tstring>())));
    }
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
