// Handles to nodes and outputs of a graph under construction.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/api.h"
#include "core/tensor/tensor.h"
#include "core/tensor/types.h"

namespace WEIR_API weir {

class Node;

// A node of a graph under construction. Cheap to copy; valid while the graph lives. A default-constructed one
// represents a node that could not be built; the builder's status has the reason.
class Operation {
 public:
  Operation() = default;
  explicit Operation(Node* node) : node_(node) {}
  Node* node() const { return node_; }
  bool valid() const { return node_ != nullptr; }
  std::string name() const;

 private:
  Node* node_ = nullptr;
};

// One output of a node.
class Output {
 public:
  Output() = default;
  Output(Operation op, int index) : op_(op), index_(index) {}
  Output(Node* node, int index) : op_(node), index_(index) {}
  Operation op() const { return op_; }
  Node* node() const { return op_.node(); }
  int index() const { return index_; }
  bool valid() const { return op_.valid(); }
  // Never a reference type; DT_INVALID for an output that could not be built.
  DataType type() const;
  std::string name() const;  // "x:0": what feeds and fetches take

  friend bool operator==(const Output& a, const Output& b) { return a.node() == b.node() && a.index_ == b.index_; }
  template <typename H>
  friend H AbslHashValue(H h, const Output& o) {
    return H::combine(std::move(h), o.node(), o.index_);
  }

 private:
  Operation op_;
  int index_ = 0;
};

using OutputList = std::vector<Output>;

// An argument of an op wrapper: an output, or a value that becomes a Const node beside the op. An untyped number (a
// literal) takes the type of the op's other inputs if that is determined.
class Input {
 public:
  Input(Output output);      // NOLINT(google-explicit-constructor): arguments read as values
  Input(Tensor tensor);      // NOLINT(google-explicit-constructor)
  Input(const char* value);  // NOLINT(google-explicit-constructor)
  template <typename T, typename = decltype(DataTypeTraits<T>::kValue)>
  Input(T value) : Input(Literal(), Tensor::Scalar<T>(value)) {}  // NOLINT(google-explicit-constructor)
  template <typename T, typename = decltype(DataTypeTraits<T>::kValue)>
  Input(std::initializer_list<T> values)  // NOLINT(google-explicit-constructor)
      : Input(Literal(), Tensor::Vector<T>(absl::MakeConstSpan(values.begin(), values.size()))) {}
  Input(const Input&);
  Input(Input&&) noexcept;
  Input& operator=(const Input&);
  Input& operator=(Input&&) noexcept;
  ~Input();

  bool is_constant() const { return is_constant_; }
  // A plain number in the program: converts to the type that the op needs.
  bool is_literal() const { return is_literal_; }
  const Output& output() const { return output_; }
  const Tensor& tensor() const { return tensor_; }
  DataType type() const { return is_constant_ ? tensor_.dtype() : output_.type(); }

 private:
  struct Literal {};
  Input(Literal, Tensor tensor);

  Output output_;
  Tensor tensor_;
  bool is_constant_ = false;
  bool is_literal_ = false;
};

using InputList = std::vector<Input>;

}  // namespace weir
