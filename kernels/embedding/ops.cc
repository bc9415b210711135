// Embedding tables that grow with their keys. TensorFlow has no such ops; arguments and attributes go by the names that
// its extensions for them use (steps_to_live, filter_freq, versions, freqs).
#include "core/status.h"
#include "kernels/device/handle_ops.h"
#include "kernels/embedding/family.h"

namespace weir {
namespace {

// The handle carries the type and shape of a row.
absl::Status TableShape(InferenceContext& c) {
  int64_t width;
  RETURN_IF_ERROR(c.GetAttr("width", &width));
  c.set_output(0, c.Scalar());
  c.set_output_handle(0, {{DT_FLOAT, c.Vector(width)}});
  return absl::OkStatus();
}

int64_t WidthOf(const InferenceContext& c) {
  if (c.input_handle(0).empty() || c.input_handle(0)[0].shape.dims() != 1) return -1;
  return c.input_handle(0)[0].shape.dim_size(0);
}

absl::Status ScalarInputs(InferenceContext& c, int first, int end) {
  for (int i = first; i < end; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  return absl::OkStatus();
}

// A table and scalars go in, scalars come out.
absl::Status ScalarsShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, c.num_inputs()));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.Scalar());
  return absl::OkStatus();
}

absl::Status GatherShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, 1));
  c.set_output(0, c.Concatenate(c.input(1), c.Vector(WidthOf(c))));
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

// Keys in input `keys` and as many rows in the next one.
absl::Status CheckRows(InferenceContext& c, int keys) {
  ASSIGN_OR_RETURN(const PartialTensorShape keys_shape, c.WithRank(c.input(keys), 1));
  return c.Merge(c.input(keys + 1), c.Matrix(c.Dim(keys_shape, 0), -1)).status();
}

absl::Status ApplyShape(InferenceContext& c) {
  const int scalars = c.num_inputs() - 5;
  RETURN_IF_ERROR(ScalarInputs(c, 0, 1 + scalars));
  RETURN_IF_ERROR(CheckRows(c, 1 + scalars));
  RETURN_IF_ERROR(ScalarInputs(c, 3 + scalars, c.num_inputs()));
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status InsertShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, 1));
  RETURN_IF_ERROR(CheckRows(c, 1));
  RETURN_IF_ERROR(ScalarInputs(c, 3, 4));
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status RemoveShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, 1));
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status ExportShape(InferenceContext& c, int scalars) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, scalars));
  for (int i : {0, 3, 4, 5, 6}) c.set_output(i, c.Vector(-1));
  c.set_output(1, c.Matrix(-1, WidthOf(c)));
  c.set_output(2, c.Matrix(-1, -1));
  c.set_output(7, c.Scalar());
  return absl::OkStatus();
}

absl::Status ImportShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, 1));
  RETURN_IF_ERROR(CheckRows(c, 1));
  RETURN_IF_ERROR(c.WithRank(c.input(3), 2).status());
  for (int i = 4; i < 7; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 1).status());
  return absl::OkStatus();
}

absl::Status RestoreShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, 1));
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  RETURN_IF_ERROR(ScalarInputs(c, 2, c.num_inputs()));
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status PartitionShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape keys, c.WithRank(c.input(0), 1));
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.set_output(i, c.Vector(-1));
  c.set_output(c.num_outputs() - 1, keys);
  return absl::OkStatus();
}

Op OnTable(const char* name) { return Op(name).Input("table: resource").Stateful(); }

absl::Status RegisterUpdates(OpRegistry& ops) {
  const std::pair<const char*, std::vector<const char*>> rules[] = {
      {"EmbeddingTableApplyGradientDescent", {"alpha"}},
      {"EmbeddingTableApplyAdagrad", {"lr"}},
      {"EmbeddingTableApplyAdam", {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"}},
      {"EmbeddingTableApplyFtrl", {"lr", "l1", "l2", "lr_power"}}};
  for (const auto& [name, scalars] : rules) {
    Op op = OnTable(name);
    op.WritesState();
    op.MayBlock();  // updates labelled "together" wait for those of the other workers
    for (const char* scalar : scalars) op.Input(absl::StrCat(scalar, ": float"));
    RETURN_IF_ERROR(ops.Register(op.Input("keys: int64")
                                     .Input("grad: float")
                                     .Input("version: int64")
                                     .Input("global_step: int64")
                                     .Output("rejected: int64")
                                     .Attr("conflict_policy: {'sum', 'last_writer', 'reject'} = 'sum'")
                                     .Attr("staleness_bound: int >= 0 = 0")
                                     .Shape(ApplyShape)));
  }
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableInsert")
                                   .WritesState()
                                   .Input("keys: int64")
                                   .Input("values: float")
                                   .Input("version: int64")
                                   .Output("rejected: int64")
                                   .Attr("conflict_policy: {'sum', 'last_writer', 'reject'} = 'last_writer'")
                                   .Attr("staleness_bound: int >= 0 = 0")
                                   .Shape(InsertShape)));
  RETURN_IF_ERROR(ops.Register(
      OnTable("EmbeddingTableRemove").WritesState().Input("keys: int64").Output("removed: int64").Shape(RemoveShape)));
  return ops.Register(OnTable("EmbeddingTableEvict")
                          .WritesState()
                          .Input("global_step: int64")
                          .Output("evicted: int64")
                          .Shape(ScalarsShape));
}

absl::Status RegisterTransfers(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableExport")
                                   .Input("since: int64")
                                   .Output("keys: int64")
                                   .Output("values: float")
                                   .Output("slots: float")
                                   .Output("versions: int64")
                                   .Output("freqs: int64")
                                   .Output("used: int64")
                                   .Output("removed: int64")
                                   .Output("version: int64")
                                   .Shape([](InferenceContext& c) { return ExportShape(c, 2); })));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableImport")
                                   .WritesState()
                                   .Input("keys: int64")
                                   .Input("values: float")
                                   .Input("slots: float")
                                   .Input("versions: int64")
                                   .Input("freqs: int64")
                                   .Input("used: int64")
                                   .Shape(ImportShape)));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableSave")
                                   .Input("prefix: string")
                                   .Input("tensor_name: string")
                                   .Input("since: int64")
                                   .Output("version: int64")
                                   .Attr("with_slots: bool = true")
                                   .Attr("keep_removals: bool = false")
                                   .Shape(ScalarsShape)));
  return ops.Register(OnTable("EmbeddingTableRestore")
                          .WritesState()
                          .Input("prefixes: string")
                          .Input("tensor_name: string")
                          .Output("version: int64")
                          .Attr("partition_id: int >= 0 = 0")
                          .Attr("partition_num: int >= 1 = 1")
                          .Shape(RestoreShape));
}

absl::Status RouteShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 0, 1));
  c.set_output(0, c.Vector(-1));
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

absl::Status SendShape(InferenceContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 3, 4));
  RETURN_IF_ERROR(ExportShape(c, 1));
  c.set_output(8, c.Vector(-1));
  return absl::OkStatus();
}

// The map of a table's parts, and the parts that move.
absl::Status RegisterParts(OpRegistry& ops) {
  const auto on_map = [](const char* name) { return Op(name).Input("map: resource").Stateful(); };
  RETURN_IF_ERROR(ops.Register(Op("EmbeddingMap")
                                   .Output("map: resource")
                                   .Attr("parts: int >= 1")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(ScalarsShape)));
  RETURN_IF_ERROR(ops.Register(on_map("EmbeddingMapRead")
                                   .Output("owners: int32")
                                   .Output("tasks: string")
                                   .Output("epoch: int64")
                                   .Shape([](InferenceContext& c) {
                                     for (int i : {0, 1}) c.set_output(i, c.Vector(-1));
                                     c.set_output(2, c.Scalar());
                                     return ScalarInputs(c, 0, 1);
                                   })));
  RETURN_IF_ERROR(ops.Register(
      on_map("EmbeddingMapSet").Input("owners: int32").Input("tasks: string").Shape([](InferenceContext& c) {
        return ScalarInputs(c, 0, 1);
      })));
  RETURN_IF_ERROR(ops.Register(on_map("EmbeddingMapSeal").MayBlock().Input("epoch: int64").Shape(ScalarsShape)));
  RETURN_IF_ERROR(ops.Register(on_map("EmbeddingMapCommit")
                                   .MayBlock()
                                   .Input("owners: int32")
                                   .Input("tasks: string")
                                   .Output("pause_micros: int64")
                                   .Shape([](InferenceContext& c) {
                                     c.set_output(0, c.Scalar());
                                     return ScalarInputs(c, 0, 1);
                                   })));
  RETURN_IF_ERROR(ops.Register(on_map("EmbeddingRoute")
                                   .MayBlock()
                                   .Output("owners: int32")
                                   .Output("epoch: int64")
                                   .Attr("tasks: list(string) >= 1")
                                   .Shape(RouteShape)));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableSend")
                                   .Input("parts: int32")
                                   .Input("since: int64")
                                   .Input("move: int64")
                                   .Output("keys: int64")
                                   .Output("values: float")
                                   .Output("slots: float")
                                   .Output("versions: int64")
                                   .Output("freqs: int64")
                                   .Output("used: int64")
                                   .Output("removed: int64")
                                   .Output("version: int64")
                                   .Output("filters: int64")
                                   .Attr("freeze: bool = false")
                                   .Shape(SendShape)));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableReceive")
                                   .Input("parts: int32")
                                   .Input("since: int64")
                                   .Input("move: int64")
                                   .Input("keys: int64")
                                   .Input("values: float")
                                   .Input("slots: float")
                                   .Input("versions: int64")
                                   .Input("freqs: int64")
                                   .Input("used: int64")
                                   .Input("removed: int64")
                                   .Input("filters: int64")
                                   .Output("received: int64")
                                   .Shape([](InferenceContext& c) {
                                     c.set_output(0, c.Scalar());
                                     return ScalarInputs(c, 0, 1);
                                   })));
  RETURN_IF_ERROR(ops.Register(
      OnTable("EmbeddingTableAdopt").Input("parts: int32").Input("move: int64").Shape([](InferenceContext& c) {
        return ScalarInputs(c, 0, 1);
      })));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableOwn")
                                   .Input("owners: int32")
                                   .Input("self: int32")
                                   .Attr("create: bool = false")
                                   .Shape([](InferenceContext& c) {
                                     RETURN_IF_ERROR(ScalarInputs(c, 0, 1));
                                     return ScalarInputs(c, 2, 3);
                                   })));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableLoad").Output("load: int64").Shape([](InferenceContext& c) {
    c.set_output(0, c.Matrix(-1, 4));
    return ScalarInputs(c, 0, 1);
  })));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableRestoreParts")
                                   .WritesState()
                                   .Input("prefixes: string")
                                   .Input("tensor_name: string")
                                   .Input("owners: int32")
                                   .Input("self: int32")
                                   .Output("version: int64")
                                   .Shape([](InferenceContext& c) {
                                     c.set_output(0, c.Scalar());
                                     return ScalarInputs(c, 0, 1);
                                   })));
  return ops.Register(Op("EmbeddingPartitionBy")
                          .Input("keys: int64")
                          .Input("owners: int32")
                          .Output("parts: num_partitions * int64")
                          .Output("idx: int32")
                          .Attr("num_partitions: int >= 1")
                          .Shape(PartitionShape));
}

}  // namespace

absl::Status RegisterEmbeddingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("EmbeddingTable")
                                   .Output("table: resource")
                                   .Attr("width: int >= 1")
                                   .Attr("optimizer: {'none', 'sgd', 'adagrad', 'adam', 'ftrl'} = 'sgd'")
                                   .Attr("initial_accumulator_value: float = 0.1")
                                   .Attr("initializer: {'constant', 'uniform', 'normal', 'truncated_normal'} = "
                                         "'constant'")
                                   .Attr("initializer_params: list(float) = []")
                                   .Attr("seed: int = 0")
                                   .Attr("filter_freq: int >= 0 = 0")
                                   .Attr("filter_counters: int >= 1 = 1048576")
                                   .Attr("filter_probability: float = 1.0")
                                   .Attr("default_value_no_permission: float = 0.0")
                                   .Attr("steps_to_live: int >= 0 = 0")
                                   .Attr("seconds_to_live: int >= 0 = 0")
                                   .Attr("max_element_size: int >= 0 = 0")
                                   .Attr("parts: int >= 0 = 0")
                                   .Attr("value_dtype: {float, bfloat16, int8} = DT_FLOAT")
                                   .Attr("memory_limit_bytes: int >= 0 = 0")
                                   .Attr("storage_path: string = ''")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(TableShape)));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableInitialize").WritesState().Shape(ScalarsShape)));
  RETURN_IF_ERROR(
      ops.Register(OnTable("EmbeddingTableIsInitialized").Output("is_initialized: bool").Shape(ScalarsShape)));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableSize").Output("size: int64").Shape(ScalarsShape)));
  RETURN_IF_ERROR(
      ops.Register(OnTable("EmbeddingTableStatistics").Output("statistics: int64").Shape([](InferenceContext& c) {
        c.set_output(0, c.Vector(16));
        return ScalarInputs(c, 0, 1);
      })));
  RETURN_IF_ERROR(ops.Register(OnTable("EmbeddingTableGather")
                                   .Input("keys: int64")
                                   .Output("output: float")
                                   .Output("version: int64")
                                   .Shape(GatherShape)));
  RETURN_IF_ERROR(RegisterUpdates(ops));
  RETURN_IF_ERROR(RegisterTransfers(ops));
  RETURN_IF_ERROR(RegisterParts(ops));
  return ops.Register(Op("EmbeddingPartition")
                          .Input("keys: int64")
                          .Output("parts: num_partitions * int64")
                          .Output("idx: int32")
                          .Attr("num_partitions: int >= 1")
                          .Shape(PartitionShape));
}

}  // namespace weir
