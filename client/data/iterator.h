// One pass over a dataset, by steps of a session.
#pragma once

#include <string>

#include "client/function_builder.h"
#include "client/saveable.h"
#include "client/scope.h"

namespace weir {

// Names an iterator of a graph, which lives on the device of its dataset, outlives sessions, and is lost with its task.
// A value.
class DataIterator {
 public:
  DataIterator() = default;

  // The next element, once for each step; ops on other devices may use it. OUT_OF_RANGE when there is none left.
  OutputList GetNext(const Scope& scope) const;
  // Begins anew. Of a one-shot iterator: nothing, for it begins by itself and never again.
  const Operation& initializer() const { return initializer_; }
  // Where it stands: for TrainingLoopOptions::saveables, or for a Saver. Its name in the checkpoint is the iterator's.
  // A checkpoint holds what the pipeline has in its buffers too: a shuffle buffer makes it large.
  Saveable Position() const;

  const Output& handle() const { return handle_; }
  const std::string& name() const { return name_; }
  bool valid() const { return handle_.valid(); }

 private:
  friend class Dataset;
  // `variant` invalid: a one-shot iterator, of what `factory` makes.
  DataIterator(const Scope& scope, const std::string& name, const Output& variant,
               const tensorflow::NameAttrList& factory, TensorSpecs element);

  std::string name_, device_;
  TensorSpecs element_;
  Output variant_, handle_;
  // A variable on the iterator's device, which is there as long as the iterator stands where it was put.
  Output positioned_, is_positioned_;
  Operation initializer_;
};

}  // namespace weir
