// The map of an embedding's parts, and the way that keys take by it.
#include "kernels/device/resource_users.h"
#include "kernels/embedding/family.h"
#include "kernels/embedding/part_map.h"
#include "kernels/embedding/table_inputs.h"

namespace weir {
namespace {

absl::StatusOr<std::shared_ptr<EmbeddingPartMap>> MapInput(const OpKernelContext& ctx) {
  return FindResource<EmbeddingPartMap>(ctx, 0);
}

// Owners in input 1, tasks in input 2.
absl::StatusOr<EmbeddingPartMap::Parts> PartsInput(const OpKernelContext& ctx) {
  ASSIGN_OR_RETURN(const absl::Span<const int32_t> owners, Int32sInput(ctx, 1, "owners"));
  const Tensor& tasks = ctx.input(2);
  if (tasks.dtype() != DT_STRING || !tasks.shape().IsVector()) {
    return errors::InvalidArgument("tasks must be a vector of strings, got ", tasks.DebugString());
  }
  EmbeddingPartMap::Parts parts;
  parts.owners.assign(owners.begin(), owners.end());
  for (const tstring& task : tasks.flat<tstring>()) parts.tasks.emplace_back(task);
  return parts;
}

class MapKernel : public ResourceKernel<EmbeddingPartMap> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("parts", &parts_));
    if (parts_ >= 1 && parts_ <= EmbeddingOptions::kMaxParts) return absl::OkStatus();
    return errors::InvalidArgument("parts must be in [1, ", EmbeddingOptions::kMaxParts, "], got ", parts_);
  }
  absl::StatusOr<std::shared_ptr<EmbeddingPartMap>> Make(OpKernelContext& ctx, const std::string& name) override {
    return std::make_shared<EmbeddingPartMap>(name, parts_);
  }
  absl::Status CheckMatches(const EmbeddingPartMap& map) const override {
    if (map.parts() == parts_) return absl::OkStatus();
    return errors::InvalidArgument("The map of embedding ", name(), " exists with ", map.parts(), " parts, asked for ",
                                   parts_);
  }
  std::string TypeName() const override { return "EmbeddingMap"; }

 private:
  int64_t parts_ = 0;
};

class MapReadKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingPartMap> map, MapInput(ctx));
    const EmbeddingPartMap::Parts parts = map->Read();
    ctx.set_output(0, Tensor::Vector<int32_t>(parts.owners));
    ctx.set_output(1, Tensor::Vector<tstring>(std::vector<tstring>(parts.tasks.begin(), parts.tasks.end())));
    ctx.set_output(2, Tensor::Scalar(parts.epoch));
    return absl::OkStatus();
  }
};

class MapSetKernel : public OpKernel {
 public:
  // A copy of another map has its epoch.
  absl::Status Init(OpKernelConstruction& ctx) override {
    return ctx.HasAttr("_weir_epoch") ? ctx.GetAttr("_weir_epoch", &epoch_) : absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingPartMap> map, MapInput(ctx));
    ASSIGN_OR_RETURN(EmbeddingPartMap::Parts parts, PartsInput(ctx));
    parts.epoch = epoch_;
    return map->Set(std::move(parts));
  }

 private:
  int64_t epoch_ = 0;
};

class MapSealKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    const auto map = MapInput(ctx);
    if (!map.ok()) return done(map.status());
    const auto epoch = ScalarInput<int64_t>(ctx, 1, "epoch");
    if (!epoch.ok()) return done(epoch.status());
    done = AwaitShared(ctx, *map, "map of embedding", (*map)->name(), std::move(done));
    (*map)->Seal(ctx, *epoch, std::move(done));
  }
};

class MapCommitKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingPartMap> map, MapInput(ctx));
    ASSIGN_OR_RETURN(EmbeddingPartMap::Parts parts, PartsInput(ctx));
    ASSIGN_OR_RETURN(const absl::Duration pause, map->Commit(ctx, std::move(parts)));
    ctx.set_output(0, Tensor::Scalar(absl::ToInt64Microseconds(pause)));
    return absl::OkStatus();
  }
};

// Gives the owners as indices into the tasks that this graph knows.
class RouteKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    together_ = ctx.HasAttr("_weir_workers");
    return ctx.GetAttr("tasks", &tasks_);
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    const auto map = MapInput(ctx);
    if (!map.ok()) return done(map.status());
    done = AwaitShared(ctx, *map, "map of embedding", (*map)->name(), std::move(done));
    (*map)->Route(ctx, together_,
                  [this, &ctx, done = std::move(done)](const absl::StatusOr<EmbeddingPartMap::Parts>& parts) {
                    done(parts.ok() ? Give(ctx, *parts) : parts.status());
                  });
  }

 private:
  absl::Status Give(OpKernelContext& ctx, const EmbeddingPartMap::Parts& parts) const {
    std::vector<int32_t> here(parts.tasks.size(), -1);
    for (size_t i = 0; i < here.size(); ++i) {
      for (size_t k = 0; k < tasks_.size(); ++k) {
        if (tasks_[k] == parts.tasks[i]) here[i] = static_cast<int32_t>(k);
      }
    }
    std::vector<int32_t> owners;
    for (const int32_t owner : parts.owners) {
      if (here[owner] < 0) {
        return errors::FailedPrecondition("A part of this embedding is on ", parts.tasks[owner],
                                          ", which this graph does not know of: build it with that device");
      }
      owners.push_back(here[owner]);
    }
    ctx.set_output(0, Tensor::Vector<int32_t>(owners));
    ctx.set_output(1, Tensor::Scalar(parts.epoch));
    return absl::OkStatus();
  }

  bool together_ = false;  // its step's pushes wait for those of other workers
  std::vector<std::string> tasks_;
};

}  // namespace

absl::Status RegisterEmbeddingMapKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<MapKernel>(Kernel("EmbeddingMap").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MapReadKernel>(Kernel("EmbeddingMapRead").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MapSetKernel>(Kernel("EmbeddingMapSet").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MapSealKernel>(Kernel("EmbeddingMapSeal").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MapCommitKernel>(Kernel("EmbeddingMapCommit").Cpu()));
  return kernels.Register<RouteKernel>(Kernel("EmbeddingRoute").Cpu());
}

}  // namespace weir
