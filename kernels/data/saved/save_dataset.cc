// SaveDataset and SaveDatasetV2: elements to files; the second hands them on as it goes.
#include "core/device/device.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_saver.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

struct SaveAttrs {
  Compression compression = Compression::kNone;
  bool use_shard_func = true;
};

absl::Status ReadAttrs(OpKernelConstruction& ctx, SaveAttrs* attrs) {
  std::string compression;
  RETURN_IF_ERROR(ctx.GetAttr("compression", &compression));
  ASSIGN_OR_RETURN(attrs->compression, ParseSnapshotCompression(compression));
  return ctx.GetAttr("use_shard_func", &attrs->use_shard_func);
}

absl::StatusOr<SavePlan> MakePlan(const NodeInputs& inputs, const SaveAttrs& attrs, const DatasetBase& dataset) {
  SavePlan plan;
  ASSIGN_OR_RETURN(plan.dir, inputs.String("path"));
  ASSIGN_OR_RETURN(plan.files, inputs.ctx().device()->file_systems()->Find(plan.dir));
  plan.compression = attrs.compression;
  if (attrs.use_shard_func) plan.shard = inputs.Function("shard_func", "shard_func_other_args");
  plan.types = dataset.output_types();
  return plan;
}

class SaveKernel : public DatasetConsumerKernel {
 protected:
  absl::Status InitConsumer(OpKernelConstruction& ctx) override { return ReadAttrs(ctx, &attrs_); }
  absl::Status Work(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const SavePlan plan, MakePlan(inputs, attrs_, *dataset));
    ElementSaver saver(plan);
    RETURN_IF_ERROR(saver.Begin());
    IteratorContext ctx = inputs.NewIteratorContext();
    ASSIGN_OR_RETURN(IteratorPtr iterator, dataset->MakeIterator(ctx));
    for (int64_t elements = 0;; ++elements) {
      Element element;
      ASSIGN_OR_RETURN(const bool more, iterator->GetNext(ctx, &element));
      if (!more) return saver.Finish(elements);
      RETURN_IF_ERROR(saver.Save(ctx, element));
    }
  }

 private:
  SaveAttrs attrs_;
};

class SavedDataset : public UnaryDataset {
 public:
  SavedDataset(const DatasetPtr& input, SavePlan plan) : UnaryDataset("Save", input), plan_(std::move(plan)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SavedDataset> {
   public:
    explicit Iterator(std::shared_ptr<const SavedDataset> dataset) : UnaryIterator(dataset), saver_(dataset->plan_) {}

    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (!saver_.has_begun()) RETURN_IF_ERROR(saver_.Begin());
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
      if (!more) {
        RETURN_IF_ERROR(saver_.Finish(saved_));
        return false;
      }
      RETURN_IF_ERROR(saver_.Save(ctx, *element));
      ++saved_;
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("begun", saver_.has_begun() ? 1 : 0);
      writer.Int("saved", saved_);
      if (saver_.has_begun()) RETURN_IF_ERROR(saver_.SaveState(writer));
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t begun, reader.Int("begun", 0, 1));
      ASSIGN_OR_RETURN(saved_, reader.Int("saved"));
      if (begun == 1) RETURN_IF_ERROR(saver_.RestoreState(reader));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    ElementSaver saver_;
    int64_t saved_ = 0;
  };

  const SavePlan plan_;
};

class SaveV2Kernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override { return ReadAttrs(ctx, &attrs_); }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(SavePlan plan, MakePlan(inputs, attrs_, *input));
    return std::make_shared<SavedDataset>(input, std::move(plan));
  }

 private:
  SaveAttrs attrs_;
};

}  // namespace

absl::Status RegisterSaveDatasetKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SaveKernel>(Kernel("SaveDataset").Cpu()));
  return kernels.Register<SaveV2Kernel>(Kernel("SaveDatasetV2").Cpu());
}

}  // namespace weir
