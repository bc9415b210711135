// SnapshotDatasetV2: the first complete pass saves the elements of the input, later ones read them.
#include "core/device/device.h"
#include "kernels/data/dataset_fingerprint.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_saver.h"
#include "kernels/data/family.h"
#include "tensorflow/core/protobuf/snapshot.pb.h"

namespace weir {
namespace {

class SnapshotDataset : public UnaryDataset {
 public:
  SnapshotDataset(const DatasetPtr& input, SavePlan plan, CapturedFunction reader)
      : UnaryDataset("Snapshot", input), plan_(std::move(plan)), reader_(std::move(reader)) {}
  int64_t CountElements(IteratorContext*) const override { return input()->Cardinality(); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator;

  const SavePlan plan_;
  const CapturedFunction reader_;
};

// Whether it reads or writes shows when the first element is asked for.
class SnapshotDataset::Iterator : public DatasetIterator<SnapshotDataset> {
 public:
  explicit Iterator(std::shared_ptr<const SnapshotDataset> dataset)
      : DatasetIterator(dataset), saver_(dataset->plan_) {}

  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
    if (mode_ == Mode::kUndecided) RETURN_IF_ERROR(Decide(ctx));
    ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
    if (mode_ == Mode::kWrites) RETURN_IF_ERROR(more ? saver_.Save(ctx, *element) : saver_.Finish(0));
    if (more) ++passed_;
    return more;
  }
  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
    writer.Int("mode", static_cast<int64_t>(mode_));
    writer.Int("passed", passed_);
    writer.String("dir", plan().dir);
    if (mode_ != Mode::kWrites) return absl::OkStatus();
    RETURN_IF_ERROR(saver_.SaveState(writer));
    return input_->Save(ctx, writer.Scope("input"));
  }
  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    ASSIGN_OR_RETURN(const int64_t mode, reader.Int("mode", 0, static_cast<int64_t>(Mode::kReads)));
    ASSIGN_OR_RETURN(const int64_t passed, reader.Int("passed"));
    ASSIGN_OR_RETURN(const std::string dir, reader.String("dir"));
    if (dir != plan().dir) {
      return errors::DataLoss("Dataset has changed while restoring from the checkpoint. Old hash directory: ", dir,
                              "; new hash directory: ", plan().dir);
    }
    mode_ = static_cast<Mode>(mode);
    passed_ = passed;
    if (mode_ == Mode::kReads) return StartReading(ctx);
    if (mode_ == Mode::kUndecided) return absl::OkStatus();
    RETURN_IF_ERROR(saver_.RestoreState(reader));
    ASSIGN_OR_RETURN(input_, dataset().input()->MakeIterator(ctx));
    return input_->Restore(ctx, reader.Scope("input"));
  }

 private:
  enum class Mode { kUndecided, kWrites, kReads };

  const SavePlan& plan() const { return dataset().plan_; }

  absl::Status Decide(IteratorContext& ctx) {
    SnapshotMetadata metadata;
    ASSIGN_OR_RETURN(const bool found, ReadSnapshotMetadata(plan().files, plan().dir, &metadata));
    if (found && metadata.finalized()) {
      RETURN_IF_ERROR(StartReading(ctx));
      mode_ = Mode::kReads;
      return absl::OkStatus();
    }
    // A run that is not complete belongs to somebody who died, or who will be last to finish: either is well.
    ASSIGN_OR_RETURN(input_, dataset().input()->MakeIterator(ctx));
    RETURN_IF_ERROR(saver_.Begin());
    mode_ = Mode::kWrites;
    return absl::OkStatus();
  }
  absl::Status StartReading(IteratorContext& ctx) {
    SnapshotMetadata metadata;
    ASSIGN_OR_RETURN(const bool found, ReadSnapshotMetadata(plan().files, plan().dir, &metadata));
    if (!found) return errors::DataLoss("Snapshot metadata file in ", plan().dir, " does not exist any more.");
    ASSIGN_OR_RETURN(DatasetPtr shards, SnapshotShardDatasets(plan().files, JoinPath(plan().dir, metadata.run_id()),
                                                              plan().compression, metadata.version(), passed_,
                                                              dataset().output_types(), dataset().output_shapes()));
    ASSIGN_OR_RETURN(saved_, dataset().reader_.CallForDataset(ctx, {DatasetTensor(std::move(shards))}));
    ASSIGN_OR_RETURN(input_, saved_->MakeIterator(ctx));
    return absl::OkStatus();
  }

  Mode mode_ = Mode::kUndecided;
  int64_t passed_ = 0;
  ElementSaver saver_;
  DatasetPtr saved_;  // what is read
  IteratorPtr input_;
};

class SnapshotKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    std::string compression;
    RETURN_IF_ERROR(ctx.GetAttr("compression", &compression));
    ASSIGN_OR_RETURN(compression_, ParseSnapshotCompression(compression == "AUTO" ? "SNAPPY" : compression));
    RETURN_IF_ERROR(ctx.GetAttr("writer_prefix", &prefix_));
    RETURN_IF_ERROR(ctx.GetAttr("hash_valid", &has_hash_));
    return ctx.GetAttr("hash", &hash_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(std::string dir, inputs.String("path"));
    uint64_t hash = static_cast<uint64_t>(hash_);
    if (!has_hash_) {
      ASSIGN_OR_RETURN(hash, FingerprintOf(*input));
    }
    SavePlan plan;
    if (!prefix_.empty()) dir = JoinPath(prefix_, dir);
    plan.hash = absl::StrCat(hash);
    plan.dir = JoinPath(dir, plan.hash);
    ASSIGN_OR_RETURN(plan.files, inputs.ctx().device()->file_systems()->Find(plan.dir));
    plan.compression = compression_;
    plan.shard = inputs.Function("shard_func", "shard_func_other_args");
    plan.types = input->output_types();
    return std::make_shared<SnapshotDataset>(input, std::move(plan),
                                             inputs.Function("reader_func", "reader_func_other_args"));
  }

 private:
  Compression compression_ = Compression::kNone;
  std::string prefix_;
  bool has_hash_ = false;
  int64_t hash_ = 0;
};

}  // namespace

absl::Status RegisterSnapshotKernels(KernelRegistry& kernels) {
  return kernels.Register<SnapshotKernel>(Kernel("SnapshotDatasetV2").Cpu());
}

}  // namespace weir
