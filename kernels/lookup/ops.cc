// Hash tables.
#include "core/status.h"
#include "kernels/device/handle_ops.h"
#include "kernels/lookup/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// The handle carries the type and shape of a key and of a value.
absl::Status TableShape(InferenceContext& c) {
  const bool is_reference = c.node().op() == "HashTable" || c.node().op() == "MutableHashTable" ||
                            c.node().op() == "MutableHashTableOfTensors";
  c.set_output(0, is_reference ? c.Vector(2) : c.Scalar());
  if (is_reference) return absl::OkStatus();
  ResourceHandle::DtypeAndShape key, value;
  RETURN_IF_ERROR(c.GetAttr("key_dtype", &key.dtype));
  RETURN_IF_ERROR(c.GetAttr("value_dtype", &value.dtype));
  key.shape = c.num_inputs() > 0 ? c.input(0) : c.Scalar();
  value.shape = c.Scalar();
  if (FindAttr(c.node(), "value_shape") != nullptr) RETURN_IF_ERROR(c.GetAttr("value_shape", &value.shape));
  c.set_output_handle(0, {key, value});
  return absl::OkStatus();
}

// Inputs: handle, keys, values. Values have a value's shape for each key.
absl::Status EntriesShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  if (c.input_handle(0).size() != 2) return absl::OkStatus();
  const PartialTensorShape &key = c.input_handle(0)[0].shape, &value = c.input_handle(0)[1].shape;
  if (key.unknown_rank() || c.input(1).unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialTensorShape keys, c.WithRankAtLeast(c.input(1), key.dims()));
  ASSIGN_OR_RETURN(const PartialTensorShape outer, c.Subshape(keys, 0, keys.dims() - key.dims()));
  return c.Merge(c.input(2), c.Concatenate(outer, value)).status();
}

absl::Status FindShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  if (c.input_handle(0).size() != 2) return absl::OkStatus();
  const PartialTensorShape &key = c.input_handle(0)[0].shape, &value = c.input_handle(0)[1].shape;
  if (key.unknown_rank() || c.input(1).unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialTensorShape keys, c.WithRankAtLeast(c.input(1), key.dims()));
  ASSIGN_OR_RETURN(const PartialTensorShape outer, c.Subshape(keys, 0, keys.dims() - key.dims()));
  c.set_output(0, c.Concatenate(outer, value));
  return absl::OkStatus();
}

absl::Status InitializeTableShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  ASSIGN_OR_RETURN(PartialTensorShape keys, c.WithRank(c.input(1), 1));
  return keys.MergeWith(c.input(2)).status();
}

absl::Status InitializeFromFileShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  return c.WithRank(c.input(1), 0).status();
}

absl::Status ExportShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  PartialTensorShape key, value;
  if (c.input_handle(0).size() == 2) {
    key = c.input_handle(0)[0].shape;
    value = c.input_handle(0)[1].shape;
  }
  c.set_output(0, c.Concatenate(c.Vector(-1), key));
  c.set_output(1, c.Concatenate(c.Vector(-1), value));
  return absl::OkStatus();
}

void AddSharing(Op& op) {
  op.Attr("container: string = ''").Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false");
}

void AddTypes(Op& op, const std::string& kind) {
  op.Attr("key_dtype: type").Attr("value_dtype: type");
  if (kind == "MutableHashTableOfTensors" || kind == "MutableDenseHashTable") op.Attr("value_shape: shape = {}");
  if (kind == "MutableDenseHashTable")
    op.Attr("initial_num_buckets: int = 131072").Attr("max_load_factor: float = 0.8");
}

absl::Status RegisterMakers(OpRegistry& ops) {
  for (const std::string kind :
       {"HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"}) {
    const bool is_dense = kind == "MutableDenseHashTable";
    const auto with_keys = [is_dense](Op& op) {
      if (is_dense) op.Input("empty_key: key_dtype").Input("deleted_key: key_dtype");
    };
    for (const HandleKind handle : kHandleKinds) {
      if (is_dense && !handle.resource) continue;  // its first version lacks an input, and nothing computes it
      Op op(handle.Versioned(kind));
      with_keys(op);
      op.Output("table_handle: " + handle.type()).Stateful().Shape(TableShape);
      AddSharing(op);
      AddTypes(op, kind);
      RETURN_IF_ERROR(ops.Register(op));
    }
    Op anonymous("Anonymous" + kind);
    with_keys(anonymous);
    anonymous.Output("table_handle: resource").Stateful().Shape(TableShape);
    AddTypes(anonymous, kind);
    RETURN_IF_ERROR(ops.Register(anonymous));
  }
  return absl::OkStatus();
}

absl::Status RegisterUsers(OpRegistry& ops, HandleKind kind) {
  const auto user = [kind](const char* base) { return kind.User(kind.Versioned(base), "table_handle"); };
  RETURN_IF_ERROR(ops.Register(user("InitializeTable")
                                   .WritesState()
                                   .Input("keys: Tkey")
                                   .Input("values: Tval")
                                   .Attr("Tkey: type")
                                   .Attr("Tval: type")
                                   .Shape(InitializeTableShape)));
  RETURN_IF_ERROR(ops.Register(user("InitializeTableFromTextFile")
                                   .WritesState()
                                   .Input("filename: string")
                                   .Attr("key_index: int >= -2")
                                   .Attr("value_index: int >= -2")
                                   .Attr("vocab_size: int >= -1 = -1")
                                   .Attr("delimiter: string = '\t'")
                                   .Attr("offset: int = 0")
                                   .Shape(InitializeFromFileShape)));
  for (const char* base : {"LookupTableInsert", "LookupTableImport"}) {
    RETURN_IF_ERROR(ops.Register(user(base)
                                     .WritesState()
                                     .Input("keys: Tin")
                                     .Input("values: Tout")
                                     .Attr("Tin: type")
                                     .Attr("Tout: type")
                                     .Shape(EntriesShape)));
  }
  RETURN_IF_ERROR(ops.Register(user("LookupTableFind")
                                   .Input("keys: Tin")
                                   .Input("default_value: Tout")
                                   .Output("values: Tout")
                                   .Attr("Tin: type")
                                   .Attr("Tout: type")
                                   .Shape(FindShape)));
  RETURN_IF_ERROR(ops.Register(user("LookupTableExport")
                                   .Output("keys: Tkeys")
                                   .Output("values: Tvalues")
                                   .Attr("Tkeys: type")
                                   .Attr("Tvalues: type")
                                   .Shape(ExportShape)));
  return ops.Register(user("LookupTableSize").Output("size: int64").Shape(shapes::Scalar));
}

}  // namespace

absl::Status RegisterLookupOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterMakers(ops));
  for (const HandleKind kind : kHandleKinds) RETURN_IF_ERROR(RegisterUsers(ops, kind));
  return ops.Register(HandleKind{true}
                          .User("LookupTableRemoveV2", "table_handle")
                          .WritesState()
                          .Input("keys: Tin")
                          .Attr("Tin: type")
                          .Shape(CheckHandle));
}

}  // namespace weir
