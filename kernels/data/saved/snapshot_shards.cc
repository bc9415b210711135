// The shards of a snapshot as datasets: SnapshotDatasetReader and SnapshotNestedDatasetReader.
#include <algorithm>

#include "core/device/device.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/indexed_dataset.h"
#include "kernels/data/saved/snapshot_files.h"

namespace weir {
namespace {

// The elements of one shard, from `start` on in its first file.
struct SnapshotShard {
  std::string dir;
  Compression compression = Compression::kNone;
  int64_t version = kSnapshotVersion;
  int64_t start = 0;
};

class ShardDataset : public DatasetBase {
 public:
  ShardDataset(FileSystem* files, SnapshotShard shard, DataTypeVector types, std::vector<PartialTensorShape> shapes)
      : DatasetBase({"SnapshotReader", std::move(types), std::move(shapes), {}}),
        files_(files),
        shard_(std::move(shard)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<ShardDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      RETURN_IF_ERROR(Open(0));
      return Skip(ctx, dataset().shard_.start);
    }
    absl::StatusOr<bool> Next(IteratorContext&, Element* element) override {
      for (;;) {
        ASSIGN_OR_RETURN(const bool more, reader_->Read(element));
        if (more) {
          ++read_;
          RETURN_IF_ERROR(CheckTypesMatch(dataset().output_types(), TypesOf(*element)));
          return true;
        }
        ASSIGN_OR_RETURN(const bool has_next, dataset().files_->CheckExists(Path(file_ + 1)));
        if (!has_next) return false;
        RETURN_IF_ERROR(Open(file_ + 1));
      }
    }
    absl::Status SaveState(IteratorContext&, StateWriter writer) override {
      writer.Int("file", file_);
      writer.Int("read", read_);
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t file, reader.Int("file"));
      ASSIGN_OR_RETURN(const int64_t read, reader.Int("read"));
      RETURN_IF_ERROR(Open(file));
      return Skip(ctx, read);
    }

   private:
    static DataTypeVector TypesOf(const Element& element) {
      DataTypeVector types;
      for (const Tensor& component : element) types.push_back(component.dtype());
      return types;
    }
    std::string Path(int64_t file) const { return SnapshotFile(dataset().shard_.dir, file); }
    absl::Status Open(int64_t file) {
      const SnapshotShard& shard = dataset().shard_;
      ASSIGN_OR_RETURN(reader_, SnapshotReader::Open(dataset().files_, Path(file), shard.compression, shard.version,
                                                     dataset().output_types()));
      file_ = file;
      read_ = 0;
      return absl::OkStatus();
    }
    absl::Status Skip(IteratorContext& ctx, int64_t count) {
      for (Element element; read_ < count; ++read_) {
        RETURN_IF_ERROR(ctx.CheckCancelled());
        ASSIGN_OR_RETURN(const bool more, reader_->Read(&element));
        if (!more) return errors::DataLoss(Path(file_), " has fewer than ", count, " elements");
      }
      return absl::OkStatus();
    }

    std::unique_ptr<SnapshotReader> reader_;
    int64_t file_ = 0, read_ = 0;  // its number, and how many elements of it were read
  };

  FileSystem* const files_;
  const SnapshotShard shard_;
};

class DatasetOfDatasets : public IndexedDataset {
 public:
  explicit DatasetOfDatasets(std::vector<DatasetPtr> datasets)
      : IndexedDataset({"SnapshotNestedReader", {DT_VARIANT}, {PartialTensorShape(TensorShape())}, {}}),
        datasets_(std::move(datasets)) {}
  int64_t CountElements(IteratorContext*) const override { return static_cast<int64_t>(datasets_.size()); }

 protected:
  absl::Status GetElement(IteratorContext&, int64_t index, Element* element) const override {
    *element = {DatasetTensor(datasets_[index])};
    return absl::OkStatus();
  }

 private:
  const std::vector<DatasetPtr> datasets_;
};

class ShardKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    std::string compression;
    RETURN_IF_ERROR(ctx.GetAttr("compression", &compression));
    ASSIGN_OR_RETURN(compression_, ParseSnapshotCompression(compression));
    return ctx.GetAttr("version", &version_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const std::string dir, inputs.String("shard_dir"));
    ASSIGN_OR_RETURN(const int64_t start, inputs.Int("start_index"));
    ASSIGN_OR_RETURN(FileSystem * files, inputs.ctx().device()->file_systems()->Find(dir));
    return std::make_shared<ShardDataset>(files, SnapshotShard{dir, compression_, version_, start},
                                          inputs.node().output_types(), inputs.node().output_shapes());
  }

 private:
  Compression compression_ = Compression::kNone;
  int64_t version_ = kSnapshotVersion;
};

class NestedKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(std::vector<DatasetPtr> datasets, inputs.Datasets("inputs"));
    return std::make_shared<DatasetOfDatasets>(std::move(datasets));
  }
};

}  // namespace

absl::StatusOr<DatasetPtr> SnapshotShardDatasets(FileSystem* files, const std::string& run_dir, Compression compression,
                                                 int64_t version, int64_t start, const DataTypeVector& types,
                                                 const std::vector<PartialTensorShape>& shapes) {
  ASSIGN_OR_RETURN(const std::vector<std::string> dirs, SnapshotShards(files, run_dir));
  const int64_t count = static_cast<int64_t>(dirs.size());
  std::vector<DatasetPtr> shards;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t passed = start / count + (i < start % count ? 1 : 0);
    SnapshotShard shard{dirs[i], compression, version, passed};
    shards.push_back(std::make_shared<ShardDataset>(files, std::move(shard), types, shapes));
  }
  // The one whose turn it is comes first.
  if (count > 0) std::rotate(shards.begin(), shards.begin() + start % count, shards.end());
  return std::make_shared<DatasetOfDatasets>(std::move(shards));
}

absl::Status RegisterSnapshotShardKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ShardKernel>(Kernel("SnapshotDatasetReader").Cpu()));
  return kernels.Register<NestedKernel>(Kernel("SnapshotNestedDatasetReader").Cpu());
}

}  // namespace weir
