#include "kernels/data/iterators/iterator_state.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace weir {

std::string IteratorState::DebugString() const { return absl::StrCat("<iterator state, ", values.size(), " values>"); }

// Metadata: the names, each with its length in front.
absl::Status IteratorState::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  metadata->clear();
  tensors->clear();
  for (const auto& [name, value] : values) {
    absl::StrAppend(metadata, name.size(), ":", name);
    tensors->push_back(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<IteratorState>> IteratorState::Decode(absl::string_view metadata,
                                                                     std::vector<Tensor> tensors) {
  auto state = std::make_unique<IteratorState>();
  for (Tensor& tensor : tensors) {
    const size_t colon = metadata.find(':');
    size_t length = 0;
    if (colon == absl::string_view::npos || !absl::SimpleAtoi(metadata.substr(0, colon), &length) ||
        length > metadata.size() - colon - 1) {
      return errors::InvalidArgument("The saved state of an iterator is malformed");
    }
    state->values[std::string(metadata.substr(colon + 1, length))] = std::move(tensor);
    metadata.remove_prefix(colon + 1 + length);
  }
  if (!metadata.empty()) return errors::InvalidArgument("The saved state of an iterator is malformed");
  return state;
}

void StateWriter::Tensors(absl::string_view name, const std::vector<weir::Tensor>& values) {
  Int(absl::StrCat(name, "_size"), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) Tensor(absl::StrCat(name, "[", i, "]"), values[i]);
}

void StateWriter::Status(absl::string_view name, const absl::Status& status) {
  Int(absl::StrCat(name, "_code"), static_cast<int64_t>(status.code()));
  if (!status.ok()) String(absl::StrCat(name, "_message"), std::string(status.message()));
}

absl::StatusOr<weir::Tensor> StateReader::Tensor(absl::string_view name) const {
  auto found = state_->values.find(absl::StrCat(prefix_, name));
  if (found != state_->values.end()) return found->second;
  return errors::NotFound("The saved state of the iterator has no value '", prefix_, name,
                          "': it is that of another dataset");
}

absl::StatusOr<int64_t> StateReader::Int(absl::string_view name, int64_t min, int64_t max) const {
  ASSIGN_OR_RETURN(const weir::Tensor value, Tensor(name));
  if (value.dtype() == DT_INT64 && value.dims() == 0 && value.scalar<int64_t>() >= min &&
      value.scalar<int64_t>() <= max) {
    return value.scalar<int64_t>();
  }
  return errors::InvalidArgument("The saved state of the iterator has a bad value ", value.DebugString(), " for '",
                                 prefix_, name, "'");
}

absl::StatusOr<std::string> StateReader::String(absl::string_view name) const {
  ASSIGN_OR_RETURN(const weir::Tensor value, Tensor(name));
  if (value.dtype() == DT_STRING && value.dims() == 0) return value.scalar<tstring>();
  return errors::InvalidArgument("The saved state of the iterator has no string for '", prefix_, name, "'");
}

absl::StatusOr<std::vector<weir::Tensor>> StateReader::Tensors(absl::string_view name) const {
  ASSIGN_OR_RETURN(const int64_t count, Int(absl::StrCat(name, "_size"), 0, size()));
  std::vector<weir::Tensor> values(count);
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(values[i], Tensor(absl::StrCat(name, "[", i, "]")));
  }
  return values;
}

absl::StatusOr<std::vector<weir::Tensor>> StateReader::Tensors(absl::string_view name,
                                                               const DataTypeVector& types) const {
  ASSIGN_OR_RETURN(std::vector<weir::Tensor> values, Tensors(name));
  bool agrees = values.size() == types.size();
  for (size_t i = 0; agrees && i < types.size(); ++i) agrees = values[i].dtype() == types[i];
  if (!agrees) {
    return errors::InvalidArgument("The saved state of the iterator has an element of other types for '", prefix_, name,
                                   "' than ", DataTypeListName(types));
  }
  return values;
}

absl::Status StateReader::Status(absl::string_view name, absl::Status* status) const {
  ASSIGN_OR_RETURN(const int64_t code, Int(absl::StrCat(name, "_code"), 0, 16));
  *status = absl::OkStatus();
  if (code == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string message, String(absl::StrCat(name, "_message")));
  *status = absl::Status(static_cast<absl::StatusCode>(code), message);
  return absl::OkStatus();
}

}  // namespace weir
