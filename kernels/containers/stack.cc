#include "kernels/containers/stack.h"

#include "kernels/containers/free_in_turn.h"
#include "kernels/device/named_resource.h"

namespace weir {

Stack::~Stack() {
  if (!IsPlainType(type_)) FreeInTurn(std::make_shared<std::vector<Value>>(std::move(values_)));
}

std::string Stack::DebugString() const { return absl::StrCat("Stack[", name_, "]"); }

absl::Status Stack::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return errors::InvalidArgument("Stack[", name_, "] has already been closed.");
}

absl::Status Stack::Push(Value value) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  if (value.tensor.dtype() != type_) {
    return errors::InvalidArgument("Must have type ", DataTypeName(type_), " but got ",
                                   DataTypeName(value.tensor.dtype()));
  }
  if (max_size_ >= 0 && static_cast<int64_t>(values_.size()) > max_size_) {
    return errors::InvalidArgument("Stack[", name_, "] overflowed its max_size (", max_size_, ")");
  }
  values_.push_back(std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<Stack::Value> Stack::Pop() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  if (values_.empty()) return errors::InvalidArgument("Stack[", name_, "] is empty when calling Pop().");
  Value value = std::move(values_.back());
  values_.pop_back();
  return value;
}

bool Stack::IsUsefulToSwap(const Tensor& tensor) const {
  MutexLock lock(mu_);
  return !values_.empty() && !values_.front().tensor.SharesBufferWith(tensor);
}

void Stack::Close() {
  std::vector<Value> values;  // freed without the lock
  MutexLock lock(mu_);
  closed_ = true;
  values.swap(values_);
}

absl::StatusOr<std::shared_ptr<Stack>> FindStack(const OpKernelContext& ctx) { return FindResource<Stack>(ctx, 0); }

absl::StatusOr<Stack::Value> PopFor(const OpKernelContext& ctx, Stack& stack) {
  if (stack.type() == ctx.expected_output_dtype(0)) return stack.Pop();
  return errors::InvalidArgument("Must have type ", DataTypeName(stack.type()), " but got ",
                                 DataTypeName(ctx.expected_output_dtype(0)));
}

}  // namespace weir
