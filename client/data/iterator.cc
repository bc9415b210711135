#include "client/data/iterator.h"

#include "client/ops.h"

namespace weir {
namespace {

// Records, after `operations`, that the iterator was positioned.
Operation Note(const Scope& scope, const Output& positioned, const std::vector<Operation>& operations) {
  return ops::AssignVariableOp(scope.WithControlDependencies(operations), positioned, Tensor::Scalar<bool>(true));
}

}  // namespace

DataIterator::DataIterator(const Scope& scope, const std::string& name, const Output& variant,
                           const NameAttrList& factory, TensorSpecs element)
    : element_(std::move(element)), variant_(variant) {
  const Scope inner = scope.SubScope(name).WithNoControlDependencies();
  name_ = inner.name();
  device_ = scope.device();
  const Scope handle_scope = inner.WithName("handle");
  handle_ = variant.valid()
                ? ops::IteratorV2(handle_scope, name_, "", element_.types, element_.shapes)
                : ops::OneShotIterator(handle_scope, factory, element_.types, element_.shapes, {.shared_name = name_});
  positioned_ = ops::VarHandleOp(inner.WithName("positioned"), DT_BOOL, TensorShape(),
                                 {.shared_name = absl::StrCat(name_, "/positioned")});
  is_positioned_ = ops::VarIsInitializedOp(inner.WithName("is_positioned"), positioned_);
  std::vector<Operation> begin;
  if (variant.valid()) begin.push_back(ops::MakeIterator(inner.WithName("make"), variant, handle_));
  initializer_ = Note(inner.WithName("initialize"), positioned_, begin);
}

OutputList DataIterator::GetNext(const Scope& scope) const {
  if (!valid()) return {};
  return ops::IteratorGetNext(scope.ColocateWith(handle_.op()), handle_, element_.types, element_.shapes);
}

Saveable DataIterator::Position() const {
  Saveable position{.name = name_, .device = device_, .dtype = DT_VARIANT};
  position.save = [handle = handle_](const Scope& scope) { return ops::SerializeIterator(scope, handle); };
  position.restore = [variant = variant_, handle = handle_, positioned = positioned_](const Scope& scope,
                                                                                      const Output& value) {
    std::vector<Operation> made;
    if (variant.valid()) made.push_back(ops::MakeIterator(scope, variant, handle));
    const Operation restored = ops::DeserializeIterator(scope.WithControlDependencies(made), handle, value);
    return Note(scope, positioned, {restored});
  };
  position.initializer = initializer_;
  position.is_initialized = is_positioned_;
  return position;
}

}  // namespace weir
