// Elements that a dataset holds back: their size, and how to make one of many.
#pragma once

#include <deque>
#include <vector>

#include "kernels/data/dataset.h"

namespace weir {

// What an element takes up, roughly.
int64_t ElementBytes(const Element& element);

// Guards against buffers that sizes from outside (2^60 elements of an endless dataset) would let grow without bound.
class BufferLimit {
 public:
  // ResourceExhausted, naming `what`, when more than half of the machine's memory would be held.
  absl::Status Add(const Element& element, absl::string_view what);
  void Remove(const Element& element) { bytes_ -= ElementBytes(element); }
  void Clear() { bytes_ = 0; }

 private:
  int64_t bytes_ = 0;
};

// Makes one element of many: component by component, in a new first dimension. InvalidArgument unless they have equal
// types and shapes. There is at least one.
absl::StatusOr<Element> StackElements(IteratorContext& ctx, const std::vector<Element>& elements);

// Copies all elements of `from` to those of `to` that begin at `offset`; same type, and there is room.
void CopyElements(const Tensor& from, Tensor& to, int64_t offset);

// Writes and reads a list of elements. What is read has the given types.
void SaveElements(StateWriter writer, absl::string_view name, const std::deque<Element>& elements);
absl::Status RestoreElements(const StateReader& reader, absl::string_view name, const DataTypeVector& types,
                             std::deque<Element>* elements);

}  // namespace weir
