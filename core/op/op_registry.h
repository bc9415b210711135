// Op definitions: name, inputs, outputs, attributes and shape function. Registration is explicit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"

namespace tensorflow {
class OpDef;
}

namespace WEIR_API weir {

class InferenceContext;  // graph/shapes/shape_inference.h
using ShapeFn = std::function<absl::Status(InferenceContext&)>;
class GradientContext;  // graph/gradients/gradient_context.h
using GradientFn = absl::Status (*)(GradientContext&);

// Describes an op in TensorFlow's notation; errors in a specification are reported when it is registered.
//   Op("MatMul").Input("a: T").Input("b: T").Output("product: T")
//       .Attr("transpose_a: bool = false").Attr("T: {half, float, double}").Shape(MatMulShape)
// Input and output types: a type name, an attr name, "N * T", a list(type) attr, "Ref(T)". Attr types: string, int,
// float, bool, type, shape, tensor, func, list(…) of them, "{a, b}" sets, numbertype, realnumbertype, with ">= n"
// bounds and "= default".
class Op {
 public:
  explicit Op(absl::string_view name) : name_(name) {}
  Op& Input(absl::string_view spec) { return Add(inputs_, spec); }
  Op& Output(absl::string_view spec) { return Add(outputs_, spec); }
  Op& Attr(absl::string_view spec) { return Add(attrs_, spec); }
  Op& Shape(ShapeFn fn) {
    shape_fn_ = std::move(fn);
    return *this;
  }
  Op& Stateful() { return Set(stateful_); }
  Op& Commutative() { return Set(commutative_); }
  Op& Aggregate() { return Set(aggregate_); }
  Op& AllowsUninitializedInput() { return Set(allows_uninitialized_input_); }
  Op& DistributedCommunication() { return Set(distributed_communication_); }
  // Waits for an op that no edge orders before it, or may end such a wait (queues, barriers, mutexes, collectives).
  // Ops that call functions need not say so: they block if a function of theirs does.
  Op& MayBlock() { return Set(may_block_); }
  // An element of the output depends on the elements at its index, after broadcasting.
  Op& Elementwise() { return Set(elementwise_); }
  // Changes a variable or a table, which outlive the step. Not for ops that take their input from state, such as
  // queues, iterators and random generators.
  Op& WritesState() { return Set(writes_state_); }
  Op& Deprecated(int version, absl::string_view explanation) {
    deprecated_version_ = version;
    deprecation_ = std::string(explanation);
    return *this;
  }

 private:
  friend class OpRegistry;
  Op& Add(std::vector<std::string>& list, absl::string_view spec) {
    list.emplace_back(spec);
    return *this;
  }
  Op& Set(bool& flag) {
    flag = true;
    return *this;
  }

  std::string name_;
  std::vector<std::string> inputs_, outputs_, attrs_;
  ShapeFn shape_fn_;
  bool stateful_ = false, commutative_ = false, aggregate_ = false, allows_uninitialized_input_ = false,
       distributed_communication_ = false, may_block_ = false, elementwise_ = false, writes_state_ = false;
  int deprecated_version_ = 0;
  std::string deprecation_;
};

struct OpRegistration {
  std::unique_ptr<tensorflow::OpDef> op_def;
  ShapeFn shape_fn;               // empty: every output's shape is unknown
  GradientFn gradient = nullptr;  // null: none is registered, or nothing flows through the op
  bool differentiable = true;     // false: nothing flows through the op (Shape, comparisons, StopGradient)
  bool may_block = false;         // as in Op
  bool elementwise = false;       // as in Op
  bool writes_state = false;      // as in Op
  bool has_functions = false;     // an attribute is a function or a list of them

  OpRegistration();
  ~OpRegistration();
  OpRegistration(OpRegistration&&) noexcept;
  OpRegistration& operator=(OpRegistration&&) noexcept;
};

// Filled once (RegisterAllOps), then read by any thread.
class OpRegistry {
 public:
  // InvalidArgument for a malformed specification, AlreadyExists for a second op of that name.
  absl::Status Register(const Op& op);
  absl::Status Register(const tensorflow::OpDef& op_def, ShapeFn shape_fn) {
    return Add(op_def, std::move(shape_fn)).status();
  }
  // Registers the gradient function of a registered op. NotFound if there is no such op, AlreadyExists for a second
  // one.
  absl::Status RegisterGradient(absl::string_view op, GradientFn fn);
  // Declares that no gradient flows through the op.
  absl::Status RegisterNotDifferentiable(absl::string_view op);
  // nullptr if there is no such op.
  const OpRegistration* Find(absl::string_view name) const;
  // NotFound naming the op.
  absl::StatusOr<const tensorflow::OpDef*> LookUp(absl::string_view name) const;
  // In alphabetical order.
  std::vector<const OpRegistration*> All() const;

 private:
  absl::StatusOr<OpRegistration*> Add(const tensorflow::OpDef& op_def, ShapeFn shape_fn);
  absl::StatusOr<OpRegistration*> WithoutGradient(absl::string_view op);

  absl::btree_map<std::string, OpRegistration> ops_;
};

}  // namespace weir
