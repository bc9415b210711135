// Stage, MapStage and OrderedMapStage, and what takes from them. All of an area find it by name; waiting is
// asynchronous.
#include <algorithm>
#include <functional>

#include "core/kernel/kernel_registry.h"
#include "core/tensor/index_tensor.h"
#include "kernels/coordination/family.h"
#include "kernels/coordination/staging.h"
#include "kernels/device/named_resource.h"
#include "kernels/device/resource_users.h"

namespace weir {
namespace {

// Ordered and unordered maps of one name are two objects. Both give out keys in order.
class OrderedStagingMap : public StagingMap {
 public:
  using StagingMap::StagingMap;
};

// What the ops of an area have in common: its name and limits.
class AreaName {
 public:
  absl::Status Init(OpKernelConstruction& ctx) {
    ASSIGN_OR_RETURN(where_, ResourceName::Read(ctx, /*use_node_name=*/true));
    RETURN_IF_ERROR(ctx.GetAttr("capacity", &limits_.capacity));
    RETURN_IF_ERROR(ctx.GetAttr("memory_limit", &limits_.memory_limit));
    return ctx.GetAttr("dtypes", &types_);
  }

  absl::StatusOr<std::shared_ptr<StagingArea>> FindArea(OpKernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<StagingArea>(
        where_.container, where_.name,
        [this]() -> absl::StatusOr<std::shared_ptr<StagingArea>> { return std::make_shared<StagingArea>(limits_); });
  }

  // A node that takes some components has the types of these alone; users of the map check what they get.
  template <typename Map>
  absl::StatusOr<std::shared_ptr<Map>> FindMap(OpKernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<Map>(
        where_.container, where_.name,
        [this]() -> absl::StatusOr<std::shared_ptr<Map>> { return std::make_shared<Map>(limits_, types_); });
  }

  const std::string& name() const { return where_.name; }

 private:
  ResourceName where_;
  StagingLimits limits_;
  DataTypeVector types_;
};

absl::Status NoFit(const OpKernelContext& ctx, int first, size_t components) {
  return errors::InvalidArgument("The ", components, " components of the staging area are not the ",
                                 ctx.num_outputs() - first, " that the op has as outputs, or of other types");
}

absl::Status SetOutputs(OpKernelContext& ctx, int first, std::vector<Tensor> values) {
  bool fits = static_cast<int>(values.size()) == ctx.num_outputs() - first;
  for (size_t i = 0; fits && i < values.size(); ++i) {
    fits = values[i].dtype() == ctx.expected_output_dtype(first + static_cast<int>(i));
  }
  if (!fits) return NoFit(ctx, first, values.size());
  for (size_t i = 0; i < values.size(); ++i) ctx.set_output(first + static_cast<int>(i), std::move(values[i]));
  return absl::OkStatus();
}

class AreaKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return name_.Init(ctx); }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final {
    absl::StatusOr<std::shared_ptr<StagingArea>> area = name_.FindArea(ctx);
    if (!area.ok()) return done(area.status());
    done = AwaitShared(ctx, *area, "staging area", name_.name(), std::move(done));
    Run(ctx, **area, std::move(done));
  }

 protected:
  virtual void Run(OpKernelContext& ctx, StagingArea& area, DoneCallback done) = 0;
  static StagingArea::TakeCallback Give(OpKernelContext& ctx, DoneCallback done) {
    return [&ctx, done = std::move(done)](absl::StatusOr<StagingArea::Tuple> tuple) {
      done(tuple.ok() ? SetOutputs(ctx, 0, *std::move(tuple)) : tuple.status());
    };
  }

 private:
  AreaName name_;
};

class StageKernel : public AreaKernel {
 protected:
  void Run(OpKernelContext& ctx, StagingArea& area, DoneCallback done) override {
    StagingArea::Tuple tuple;
    for (int i = 0; i < ctx.num_inputs(); ++i) tuple.push_back(ctx.locked_input(i));
    area.Put(ctx.cancellation(), std::move(tuple), std::move(done));
  }
};

class UnstageKernel : public AreaKernel {
 protected:
  void Run(OpKernelContext& ctx, StagingArea& area, DoneCallback done) override {
    area.Take(ctx.cancellation(), Give(ctx, std::move(done)));
  }
};

class StagePeekKernel : public AreaKernel {
 protected:
  void Run(OpKernelContext& ctx, StagingArea& area, DoneCallback done) override {
    const absl::StatusOr<int64_t> index = ReadScalarInteger(ctx.input(0), "index");
    if (!index.ok()) return done(index.status());
    if (*index < 0) return done(errors::InvalidArgument("index ", *index, " must be >= 0"));
    area.Peek(ctx.cancellation(), *index, Give(ctx, std::move(done)));
  }
};

class StageSizeKernel : public AreaKernel {
 protected:
  void Run(OpKernelContext& ctx, StagingArea& area, DoneCallback done) override {
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(area.size())));
    done(absl::OkStatus());
  }
};

class StageClearKernel : public AreaKernel {
 protected:
  void Run(OpKernelContext& ctx, StagingArea& area, DoneCallback done) override {
    area.Clear();
    done(absl::OkStatus());
  }
};

// Finds the map, then goes on in Run.
class MapKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ordered_ = ctx.op().starts_with("Ordered");
    return name_.Init(ctx);
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final {
    absl::StatusOr<std::shared_ptr<StagingMap>> map;
    if (ordered_) {
      map = name_.FindMap<OrderedStagingMap>(ctx);
    } else {
      map = name_.FindMap<StagingMap>(ctx);
    }
    if (!map.ok()) return done(map.status());
    done = AwaitShared(ctx, *map, "staging area", name_.name(), std::move(done));
    Run(ctx, **map, std::move(done));
  }

 protected:
  virtual void Run(OpKernelContext& ctx, StagingMap& map, DoneCallback done) = 0;
  // In ascending order; of any shape.
  static absl::StatusOr<std::vector<int64_t>> Indices(const OpKernelContext& ctx, int input) {
    ASSIGN_OR_RETURN(const DimVector indices, ReadIntegers(ctx.input(input)));
    if (indices.empty()) return errors::InvalidArgument("Indices are empty");
    if (std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<>()) != indices.end()) {
      return errors::InvalidArgument("Indices are not strictly ordered");
    }
    return std::vector<int64_t>(indices.begin(), indices.end());
  }

 private:
  AreaName name_;
  bool ordered_ = false;
};

class MapStageKernel : public MapKernel {
  static absl::StatusOr<int64_t> Key(const Tensor& key) {
    if (key.NumElements() == 0) return errors::InvalidArgument("key must not be empty");
    if (key.NumElements() == 1) return ReadInteger(key, "key");
    return errors::InvalidArgument("key must be an int64 scalar, got tensor with shape: ", key.shape().ToString());
  }

 protected:
  void Run(OpKernelContext& ctx, StagingMap& map, DoneCallback done) override {
    const absl::StatusOr<int64_t> key = Key(ctx.input(0));
    if (!key.ok()) return done(key.status());
    absl::StatusOr<std::vector<int64_t>> indices = Indices(ctx, 1);
    if (!indices.ok()) return done(indices.status());
    const size_t given = ctx.num_inputs() - 2;
    if (indices->size() > given) {
      return done(errors::InvalidArgument("There are ", indices->size(), " indices but only ", given, " values"));
    }
    std::vector<Tensor> values;
    for (size_t i = 0; i < indices->size(); ++i) values.push_back(ctx.locked_input(2 + static_cast<int>(i)));
    map.Put(ctx.cancellation(), *key, *std::move(indices), std::move(values), std::move(done));
  }
};

enum class MapRead { kTake, kTakeAny, kPeek };

template <MapRead kRead>
class MapReadKernel : public MapKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    node_name_ = ctx.name();
    return MapKernel::Init(ctx);
  }

 protected:
  void Run(OpKernelContext& ctx, StagingMap& map, DoneCallback done) override {
    constexpr int kFirst = kRead == MapRead::kTakeAny ? 1 : 0;  // of the outputs; the key goes before them
    std::optional<int64_t> key;
    if (kRead != MapRead::kTakeAny) {
      if (ctx.input(0).dims() != 0) {
        return done(errors::InvalidArgument("key must be an int64 scalar: ", ctx.input(0).shape().ToString()));
      }
      const absl::StatusOr<int64_t> given = ReadInteger(ctx.input(0), "key");
      if (!given.ok()) return done(given.status());
      key = *given;
    }
    absl::StatusOr<std::vector<int64_t>> indices = Indices(ctx, kRead == MapRead::kTakeAny ? 0 : 1);
    if (!indices.ok()) return done(indices.status());
    StagingMap::Selection selection{*std::move(indices), {}, node_name_};
    for (int i = kFirst; i < ctx.num_outputs(); ++i) selection.types.push_back(ctx.expected_output_dtype(i));
    auto give = [&ctx, done = std::move(done)](absl::StatusOr<StagingMap::Entry> entry) {
      if (!entry.ok()) return done(entry.status());
      if (kFirst > 0) ctx.set_output(0, Tensor::Scalar(entry->key));
      done(SetOutputs(ctx, kFirst, std::move(entry->values)));
    };
    if (kRead == MapRead::kPeek) {
      map.Peek(ctx.cancellation(), *key, std::move(selection), std::move(give));
    } else {
      map.Take(ctx.cancellation(), key, std::move(selection), std::move(give));
    }
  }

 private:
  std::string node_name_;
};

template <bool kComplete>
class MapSizeKernel : public MapKernel {
 protected:
  void Run(OpKernelContext& ctx, StagingMap& map, DoneCallback done) override {
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(kComplete ? map.size() : map.incomplete_size())));
    done(absl::OkStatus());
  }
};

class MapClearKernel : public MapKernel {
 protected:
  void Run(OpKernelContext& ctx, StagingMap& map, DoneCallback done) override {
    map.Clear();
    done(absl::OkStatus());
  }
};

}  // namespace

absl::Status RegisterStagingKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<StageKernel>(Kernel("Stage").Cpu()));
  RETURN_IF_ERROR(kernels.Register<UnstageKernel>(Kernel("Unstage").Cpu()));
  RETURN_IF_ERROR(kernels.Register<StagePeekKernel>(Kernel("StagePeek").Cpu()));
  RETURN_IF_ERROR(kernels.Register<StageSizeKernel>(Kernel("StageSize").Cpu()));
  RETURN_IF_ERROR(kernels.Register<StageClearKernel>(Kernel("StageClear").Cpu()));
  for (const std::string prefix : {"Map", "OrderedMap"}) {
    const auto on = [&prefix](const char* op) { return Kernel(prefix + op).Cpu(); };
    RETURN_IF_ERROR(kernels.Register<MapStageKernel>(on("Stage")));
    RETURN_IF_ERROR(kernels.Register<MapReadKernel<MapRead::kTake>>(on("Unstage")));
    RETURN_IF_ERROR(kernels.Register<MapReadKernel<MapRead::kTakeAny>>(on("UnstageNoKey")));
    RETURN_IF_ERROR(kernels.Register<MapReadKernel<MapRead::kPeek>>(on("Peek")));
    RETURN_IF_ERROR(kernels.Register<MapSizeKernel<true>>(on("Size")));
    RETURN_IF_ERROR(kernels.Register<MapSizeKernel<false>>(on("IncompleteSize")));
    RETURN_IF_ERROR(kernels.Register<MapClearKernel>(on("Clear")));
  }
  return absl::OkStatus();
}

}  // namespace weir
