// LoadDataset: the elements that SaveDataset saved, in the order that a function gives the shards.
#include <algorithm>

#include "core/device/device.h"
#include "kernels/data/dataset_output.h"
#include "kernels/data/family.h"
#include "kernels/data/saved/snapshot_files.h"
#include "tensorflow/core/protobuf/snapshot.pb.h"

namespace weir {
namespace {

class LoadedDataset : public DatasetBase {
 public:
  LoadedDataset(const NodeArguments& node, FileSystem* files, std::string dir, SnapshotMetadata metadata,
                Compression compression, CapturedFunction reader)
      : DatasetBase({"Load", node.output_types(), node.output_shapes(), {}}),
        files_(files),
        dir_(std::move(dir)),
        metadata_(std::move(metadata)),
        compression_(compression),
        reader_(std::move(reader)) {}
  int64_t CountElements(IteratorContext*) const override {
    return std::max<int64_t>(metadata_.num_elements(), kUnknownCardinality);
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<LoadedDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      const LoadedDataset& loaded = dataset();
      ASSIGN_OR_RETURN(
          DatasetPtr shards,
          SnapshotShardDatasets(loaded.files_, JoinPath(loaded.dir_, loaded.metadata_.run_id()), loaded.compression_,
                                loaded.metadata_.version(), 0, loaded.output_types(), loaded.output_shapes()));
      ASSIGN_OR_RETURN(elements_, loaded.reader_.CallForDataset(ctx, {DatasetTensor(std::move(shards))}));
      ASSIGN_OR_RETURN(input_, elements_->MakeIterator(ctx));
      return absl::OkStatus();
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override { return input_->GetNext(ctx, element); }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      return input_->Save(ctx, writer.Scope("input"));
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      return input_->Restore(ctx, reader.Scope("input"));
    }

   private:
    DatasetPtr elements_;
    IteratorPtr input_;
  };

  FileSystem* const files_;
  const std::string dir_;
  const SnapshotMetadata metadata_;
  const Compression compression_;
  const CapturedFunction reader_;
};

class LoadKernel : public DatasetConsumerKernel {
 protected:
  absl::Status InitConsumer(OpKernelConstruction& ctx) override {
    std::string compression;
    RETURN_IF_ERROR(ctx.GetAttr("compression", &compression));
    ASSIGN_OR_RETURN(compression_, ParseSnapshotCompression(compression));
    return absl::OkStatus();
  }
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const std::string dir, inputs.String("path"));
    ASSIGN_OR_RETURN(FileSystem * files, inputs.ctx().device()->file_systems()->Find(dir));
    SnapshotMetadata metadata;
    ASSIGN_OR_RETURN(const bool found, ReadSnapshotMetadata(files, dir, &metadata));
    if (!found) return errors::NotFound("Could not find metadata file [", dir, "]");
    return SetDatasetOutput(
        inputs, std::make_shared<LoadedDataset>(inputs.node(), files, dir, std::move(metadata), compression_,
                                                inputs.Function("reader_func", "reader_func_other_args")));
  }

 private:
  Compression compression_ = Compression::kNone;
};

}  // namespace

absl::Status RegisterLoadDatasetKernels(KernelRegistry& kernels) {
  return kernels.Register<LoadKernel>(Kernel("LoadDataset").Cpu());
}

}  // namespace weir
