// One pass over a dataset, by steps of a session.
#pragma once

#include <string>

#include "client/function_builder.h"
#include "client/saveable.h"
#include "client/scope.h"
#include "core/api.h"

namespace WEIR_API weir {

// An iterator of a graph. It is on its dataset's device, outlives sessions, and is lost with its task. A value type.
class DataIterator {
 public:
  DataIterator() = default;

  // The next element, advancing once per step; ops on other devices may use it. OUT_OF_RANGE at the end.
  OutputList GetNext(const Scope& scope) const;
  // Restarts the iterator. Empty for a one-shot iterator, which starts automatically and cannot be restarted.
  const Operation& initializer() const { return initializer_; }
  // The iterator's position, for TrainingLoopOptions::saveables or a Saver; its checkpoint entry has the iterator's
  // name. Includes buffered elements: a shuffle buffer makes checkpoints large.
  Saveable Position() const;

  const Output& handle() const { return handle_; }
  const std::string& name() const { return name_; }
  bool valid() const { return handle_.valid(); }

 private:
  friend class Dataset;
  // `variant` invalid: a one-shot iterator over the dataset that `factory` creates.
  DataIterator(const Scope& scope, const std::string& name, const Output& variant, const NameAttrList& factory,
               TensorSpecs element);

  std::string name_, device_;
  TensorSpecs element_;
  Output variant_, handle_;
  // A variable on the iterator's device that exists as long as the iterator's position is valid.
  Output positioned_, is_positioned_;
  Operation initializer_;
};

}  // namespace weir
