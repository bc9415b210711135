#include "kernels/state/variable_access.h"

#include <algorithm>

namespace weir {

absl::StatusOr<std::shared_ptr<Variable>> LookupVariable(const OpKernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, i));
  return ctx.resources()->Lookup<Variable>(*handle);
}

absl::StatusOr<VariableRef> FindVariable(const OpKernelContext& ctx, int i) {
  if (ctx.input_is_ref(i)) return VariableRef{ctx.ref_input(i), ctx.ref_mutex(i), nullptr};
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, LookupVariable(ctx, i));
  Tensor* const tensor = variable->tensor();
  std::mutex* const mutex = variable->mutex();
  return VariableRef{tensor, mutex, std::move(variable)};
}

namespace {

absl::Status Uninitialized(int i) {
  return errors::FailedPrecondition("Attempting to use uninitialized value: input ", i,
                                    " is a variable that nothing has been assigned to");
}

}  // namespace

absl::StatusOr<Tensor> ReadVariable(const OpKernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(VariableRef variable, FindVariable(ctx, i));
  std::lock_guard<std::mutex> lock(*variable.mutex);
  if (!variable.IsInitialized()) return Uninitialized(i);
  return *variable.tensor;
}

absl::StatusOr<BriefRead> ReadVariableBriefly(const OpKernelContext& ctx, int i) {
  BriefRead read;
  ASSIGN_OR_RETURN(read.variable, LookupVariable(ctx, i));
  std::lock_guard<std::mutex> lock(*read.variable->mutex());
  if (!read.variable->is_initialized()) return Uninitialized(i);
  read.lock = std::shared_lock(*read.variable->brief_readers());
  read.value = *read.variable->tensor();
  return read;
}

absl::StatusOr<VariableToSnapshot> LockToSnapshot(const OpKernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, i));
  VariableToSnapshot result;
  ASSIGN_OR_RETURN(result.variable, ctx.resources()->Lookup<Variable>(*handle));
  result.lock = std::unique_lock(*result.variable->mutex());
  if (!result.variable->is_initialized()) {
    return errors::FailedPrecondition("The variable ", handle->name, " has no value to take a snapshot of");
  }
  if (const DataType dtype = result.variable->tensor()->dtype(); !IsPlainType(dtype)) {
    return errors::Unimplemented("A snapshot of the variable ", handle->name, " of type ", DataTypeName(dtype));
  }
  return result;
}

absl::Status EnsureExclusive(Tensor& tensor, Allocator* allocator) {
  if (tensor.NumElements() == 0 || tensor.RefCountIsOne()) return absl::OkStatus();
  ASSIGN_OR_RETURN(Tensor copy, tensor.DeepCopy(allocator));
  tensor = std::move(copy);
  return absl::OkStatus();
}

absl::Status PrepareToUpdate(const VariableRef& variable, Allocator* allocator) {
  if (variable.resource != nullptr) return PrepareToUpdate(*variable.resource, allocator);
  if (ReadersSeeUpdates(*variable.tensor)) return absl::OkStatus();
  return EnsureExclusive(*variable.tensor, allocator);
}

absl::Status PrepareToUpdateRanges(const VariableRef& variable, Allocator* allocator, int64_t count, int64_t bytes,
                                   absl::FunctionRef<int64_t(int64_t)> offset) {
  if (variable.resource == nullptr) return PrepareToUpdate(variable, allocator);
  return PrepareToUpdateRanges(*variable.resource, allocator, count, bytes, offset);
}

absl::StatusOr<Tensor> PrepareToOverwrite(const VariableRef& variable, Allocator* allocator) {
  if (variable.resource != nullptr) return PrepareToOverwrite(*variable.resource, allocator);
  RETURN_IF_ERROR(PrepareToUpdate(variable, allocator));
  return *variable.tensor;
}

absl::StatusOr<LockedVariables> LockedVariables::Lock(const OpKernelContext& ctx, int count, DataType dtype) {
  LockedVariables result;
  absl::InlinedVector<std::mutex*, 4> mutexes;
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<VariableRef> variable = FindVariable(ctx, i);
    if (!variable.ok()) {
      return errors::Internal("Invalid variable reference. (input ", i, ": ", variable.status().message(), ")");
    }
    mutexes.push_back(variable->mutex);
    result.variables_.push_back(*std::move(variable));
  }
  std::sort(mutexes.begin(), mutexes.end());
  mutexes.erase(std::unique(mutexes.begin(), mutexes.end()), mutexes.end());
  for (std::mutex* mutex : mutexes) result.locks_.emplace_back(*mutex);
  for (int i = 0; i < count; ++i) {
    const VariableRef& variable = result.variables_[i];
    if (!variable.IsInitialized()) {
      return errors::FailedPrecondition("Attempting to use uninitialized variables: input ", i, " has no value");
    }
    if (variable.tensor->dtype() != dtype) {
      return errors::InvalidArgument("Trying to update variable with wrong dtype. Expected ",
                                     DataTypeName(variable.tensor->dtype()), " got ", DataTypeName(dtype));
    }
  }
  return result;
}

absl::Status LockedVariables::PrepareToUpdateRanges(Allocator* allocator, int64_t count, int64_t bytes,
                                                    absl::FunctionRef<int64_t(int64_t)> offset) {
  for (const VariableRef& variable : variables_) {
    RETURN_IF_ERROR(weir::PrepareToUpdateRanges(variable, allocator, count, bytes, offset));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::InlinedVector<Tensor, 4>> LockedVariables::PrepareToOverwrite(Allocator* allocator) {
  absl::InlinedVector<Tensor, 4> old(variables_.size());
  for (size_t i = 0; i < variables_.size(); ++i) {
    const auto is_same = [&](const VariableRef& other) { return other.tensor == variables_[i].tensor; };
    if (std::count_if(variables_.begin(), variables_.end(), is_same) > 1) {
      // Updated twice, so the second update reads what the first wrote.
      RETURN_IF_ERROR(weir::PrepareToUpdate(variables_[i], allocator));
      continue;
    }
    // An error after the first has moved would leave that without a value.
    absl::StatusOr<Tensor> value = weir::PrepareToOverwrite(variables_[i], allocator);
    if (!value.ok()) {
      for (size_t k = 0; k < i; ++k) *variables_[k].tensor = std::move(old[k]);
      return value.status();
    }
    old[i] = *std::move(value);
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (old[i].buffer() == nullptr) old[i] = *variables_[i].tensor;
  }
  return old;
}

}  // namespace weir
