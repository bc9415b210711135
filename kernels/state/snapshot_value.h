// Snapshots of variables on the edges of a graph.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/variable_snapshot.h"
#include "core/tensor/variant.h"

namespace weir {

// What SnapshotVariable returns and SaveV2 writes in place of the variable's value. Does not leave its process.
class SnapshotValue final : public VariantValue {
 public:
  explicit SnapshotValue(std::shared_ptr<VariableSnapshot> snapshot) : snapshot_(std::move(snapshot)) {}

  VariableSnapshot& snapshot() const { return *snapshot_; }
  std::string TypeName() const override { return "weir::VariableSnapshot"; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<SnapshotValue>(snapshot_); }
  std::string DebugString() const override {
    return absl::StrCat("snapshot of ", DataTypeName(snapshot_->dtype()), snapshot_->shape().ToString());
  }
  absl::Status Encode(std::string*, std::vector<Tensor>*) const override {
    return errors::Unimplemented("A snapshot of a variable stays in its process");
  }

 private:
  const std::shared_ptr<VariableSnapshot> snapshot_;
};

}  // namespace weir
