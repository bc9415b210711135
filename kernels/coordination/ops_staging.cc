// Staging areas and mutexes.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/coordination/family.h"

namespace weir {
namespace {

// What all ops of a staging area have; `types` is the list of types with its minimum.
Op Area(Op op, const char* types) {
  return op.Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0").Attr(types);
}

absl::Status Finish(OpRegistry& ops, Op op, const ShapeFn& shape) {
  return ops.Register(
      op.Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MayBlock().Shape(shape));
}

constexpr char kSome[] = "dtypes: list(type) >= 1", kAny[] = "dtypes: list(type)";

absl::Status RegisterMap(OpRegistry& ops, const std::string& prefix) {
  const auto op = [&prefix](const char* name) { return Op(prefix + name); };
  RETURN_IF_ERROR(
      Finish(ops,
             Area(op("Stage").Input("key: int64").Input("indices: int32").Input("values: fake_dtypes"), kAny)
                 .Attr("fake_dtypes: list(type) >= 1"),
             shapes::NoOutputs));
  for (const char* name : {"Unstage", "Peek"}) {
    RETURN_IF_ERROR(Finish(ops,
                           Area(op(name).Input("key: int64").Input("indices: int32").Output("values: dtypes"), kSome),
                           shapes::Unknown));
  }
  RETURN_IF_ERROR(
      Finish(ops, Area(op("UnstageNoKey").Input("indices: int32").Output("key: int64").Output("values: dtypes"), kSome),
             shapes::Unknown));
  for (const char* name : {"Size", "IncompleteSize"}) {
    RETURN_IF_ERROR(Finish(ops, Area(op(name).Output("size: int32"), kAny), shapes::Scalar));
  }
  return Finish(ops, Area(op("Clear"), kAny), shapes::NoOutputs);
}

}  // namespace

absl::Status RegisterStagingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(Finish(ops, Area(Op("Stage").Input("values: dtypes"), kSome), shapes::NoOutputs));
  RETURN_IF_ERROR(Finish(ops, Area(Op("Unstage").Output("values: dtypes"), kSome), shapes::Unknown));
  RETURN_IF_ERROR(
      Finish(ops, Area(Op("StagePeek").Input("index: int32").Output("values: dtypes"), kSome), shapes::Unknown));
  RETURN_IF_ERROR(Finish(ops, Area(Op("StageSize").Output("size: int32"), kAny), shapes::Scalar));
  RETURN_IF_ERROR(Finish(ops, Area(Op("StageClear"), kAny), shapes::NoOutputs));
  RETURN_IF_ERROR(RegisterMap(ops, "Map"));
  RETURN_IF_ERROR(RegisterMap(ops, "OrderedMap"));

  RETURN_IF_ERROR(ops.Register(Op("MutexV2")
                                   .Output("resource: resource")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MutexLock")
                                   .Input("mutex: resource")
                                   .Output("mutex_lock: variant")
                                   .Stateful()
                                   .MayBlock()
                                   .Shape(shapes::Scalar)));
  return ops.Register(
      Op("ConsumeMutexLock").Input("mutex_lock: variant").Stateful().MayBlock().Shape(shapes::NoOutputs));
}

}  // namespace weir
