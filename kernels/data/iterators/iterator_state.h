// The saved position of an iterator: tensors by name.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"

namespace WEIR_API weir {

// The value that SerializeIterator's variants hold.
class IteratorState final : public VariantValue {
 public:
  static constexpr char kTypeName[] = "tensorflow::Iterator";

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<IteratorState>(*this); }
  std::string DebugString() const override;
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  // `metadata` may come from anywhere.
  static absl::StatusOr<std::unique_ptr<IteratorState>> Decode(absl::string_view metadata, std::vector<Tensor> tensors);

  std::map<std::string, Tensor> values;
};

// Writes below a prefix. A value that refers to the state, which outlives it.
class StateWriter {
 public:
  explicit StateWriter(IteratorState* state, std::string prefix = "") : state_(state), prefix_(std::move(prefix)) {}
  StateWriter Scope(absl::string_view name) const { return StateWriter(state_, absl::StrCat(prefix_, name, "/")); }
  StateWriter Scope(absl::string_view name, int64_t i) const { return Scope(absl::StrCat(name, i)); }

  void Tensor(absl::string_view name, weir::Tensor value) { state_->values[absl::StrCat(prefix_, name)] = value; }
  void Int(absl::string_view name, int64_t value) { Tensor(name, weir::Tensor::Scalar<int64_t>(value)); }
  void String(absl::string_view name, std::string value) { Tensor(name, weir::Tensor::Scalar<tstring>(value)); }
  void Tensors(absl::string_view name, const std::vector<weir::Tensor>& values);
  void Status(absl::string_view name, const absl::Status& status);

 private:
  IteratorState* const state_;
  const std::string prefix_;
};

// Reads below a prefix. The state is hostile: what is read is checked against what the caller says it can be. NotFound
// for what is not there, InvalidArgument for what cannot be. Refers to the state.
class StateReader {
 public:
  explicit StateReader(const IteratorState* state, std::string prefix = "")
      : state_(state), prefix_(std::move(prefix)) {}
  StateReader Scope(absl::string_view name) const { return StateReader(state_, absl::StrCat(prefix_, name, "/")); }
  StateReader Scope(absl::string_view name, int64_t i) const { return Scope(absl::StrCat(name, i)); }

  bool Has(absl::string_view name) const { return state_->values.contains(absl::StrCat(prefix_, name)); }
  absl::StatusOr<weir::Tensor> Tensor(absl::string_view name) const;
  absl::StatusOr<int64_t> Int(absl::string_view name, int64_t min = 0,
                              int64_t max = std::numeric_limits<int64_t>::max()) const;
  absl::StatusOr<std::string> String(absl::string_view name) const;
  // As many tensors as types, of those types.
  absl::StatusOr<std::vector<weir::Tensor>> Tensors(absl::string_view name, const DataTypeVector& types) const;
  // Any tensors.
  absl::StatusOr<std::vector<weir::Tensor>> Tensors(absl::string_view name) const;
  // How many values there are at all: no count that is read can be larger.
  int64_t size() const { return static_cast<int64_t>(state_->values.size()); }
  absl::Status Status(absl::string_view name, absl::Status* status) const;

 private:
  const IteratorState* const state_;
  const std::string prefix_;
};

}  // namespace weir
