#include "kernels/containers/tensor_array.h"

#include <utility>

#include "kernels/containers/free_in_turn.h"

namespace weir {

TensorArray::~TensorArray() {
  if (IsPlainType(options_.dtype) && gradients_.empty()) return;
  FreeInTurn(std::make_shared<std::pair<decltype(elements_), decltype(gradients_)>>(std::move(elements_),
                                                                                    std::move(gradients_)));
}

absl::Status TensorArray::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return errors::InvalidArgument("TensorArray ", options_.name, " has already been closed.");
}

absl::Status TensorArray::Write(OpKernelContext& ctx, int64_t index, const Tensor& value) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  const int64_t size = static_cast<int64_t>(elements_.size());
  if (index < 0 || (!options_.dynamic_size && index >= size)) {
    return Invalid("Tried to write to index ", index, " but array is not resizeable and size is: ", size);
  }
  if (index >= kMaxSize) return Invalid("Tried to write to index ", index, ", beyond ", kMaxSize, " elements");
  if (value.dtype() != options_.dtype) {
    return Invalid("Could not write to TensorArray index ", index, " because the value dtype is ",
                   DataTypeName(value.dtype()), " but TensorArray dtype is ", DataTypeName(options_.dtype), ".");
  }
  if (!options_.element_shape.IsCompatibleWith(value.shape())) {
    return Invalid("Could not write to TensorArray index ", index, " because the value shape is ",
                   value.shape().ToString(), " which is incompatible with the TensorArray's inferred element shape: ",
                   options_.element_shape.ToString(), " (consider setting infer_shape=False).");
  }
  if (index >= size) elements_.resize(index + 1);
  Element& element = elements_[index];
  if (element.read) {
    return Invalid("Could not write to TensorArray index ", index, " because it has already been read.");
  }
  if (!element.written) {
    if (options_.identical_element_shapes) options_.element_shape = value.shape();
    element.value = value;
    element.written = true;
    return absl::OkStatus();
  }
  if (!options_.add_writes || !memory_.CanAdd(options_.dtype)) {
    return Invalid("Could not write to TensorArray index ", index, " because it has already been written to.");
  }
  if (element.value.shape() != value.shape()) {
    return Invalid("Could not aggregate to TensorArray index ", index, " because the existing shape is ",
                   element.value.shape().ToString(), " but the new input shape is ", value.shape().ToString(), ".");
  }
  return memory_.Add(ctx, value, &element.value);
}

absl::StatusOr<Tensor> TensorArray::Read(const OpKernelContext& ctx, int64_t index) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  if (index < 0 || index >= static_cast<int64_t>(elements_.size())) {
    return errors::InvalidArgument("Tried to read from index ", index, " but array size is: ", elements_.size());
  }
  Element& element = elements_[index];
  if (element.cleared) {
    return Invalid("Could not read index ", index,
                   " twice because it was cleared after a previous read (perhaps try setting clear_after_read = "
                   "false?).");
  }
  if (!element.written) {
    ASSIGN_OR_RETURN(const PartialTensorShape shape, element.shape.MergeWith(options_.element_shape));
    if (!shape.IsFullyDefined()) {
      return Invalid("Could not read from TensorArray index ", index,
                     ".  Furthermore, the element shape is not fully defined: ", shape.ToString(),
                     ".  It is possible you are working with a resizeable TensorArray and stop_gradients is not "
                     "allowing the gradients to be written.  If you set the full element_shape property on the forward "
                     "TensorArray, the proper all-zeros tensor will be returned instead of incurring this error.");
    }
    ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
    ASSIGN_OR_RETURN(element.value, memory_.Zeros(ctx, options_.dtype, known));
    element.written = true;
  }
  element.read = true;
  Tensor value = element.value;
  if (options_.clear_after_read) {
    element.value = Tensor();
    element.shape = value.shape();
    element.cleared = true;
  }
  return value;
}

absl::StatusOr<int64_t> TensorArray::Size() const {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  return static_cast<int64_t>(elements_.size());
}

absl::Status TensorArray::Reserve(int64_t size) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  if (size <= static_cast<int64_t>(elements_.size())) return absl::OkStatus();
  if (!options_.dynamic_size || size > kMaxSize) {
    return Invalid("Tried to grow to ", size, " elements but array is not resizeable and size is: ", elements_.size());
  }
  elements_.resize(size);
  return absl::OkStatus();
}

bool TensorArray::dynamic_size() const {
  MutexLock lock(mu_);
  return options_.dynamic_size;
}

absl::Status TensorArray::NarrowElementShape(const PartialTensorShape& shape) {
  MutexLock lock(mu_);
  ASSIGN_OR_RETURN(options_.element_shape, options_.element_shape.MergeWith(shape));
  return absl::OkStatus();
}

void TensorArray::Close() {
  std::vector<Element> elements;  // freed without the lock
  MutexLock lock(mu_);
  closed_ = true;
  elements.swap(elements_);
}

absl::StatusOr<std::shared_ptr<TensorArray>> TensorArray::Gradient(const std::string& source,
                                                                   const TensorShape& prepend) {
  const auto with_prefix = [&prepend](const PartialTensorShape& shape) -> absl::StatusOr<PartialTensorShape> {
    if (shape.unknown_rank() || prepend.dims() == 0) return shape;
    DimVector dims(prepend.dim_sizes().begin(), prepend.dim_sizes().end());
    dims.insert(dims.end(), shape.dim_sizes().begin(), shape.dim_sizes().end());
    return PartialTensorShape::Build(dims);
  };
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  std::shared_ptr<TensorArray>& gradient = gradients_[source];
  if (gradient != nullptr) return gradient;
  options_.dynamic_size = false;
  Options options = options_;
  options.name += "@" + source;
  options.add_writes = true;
  ASSIGN_OR_RETURN(options.element_shape, with_prefix(options_.element_shape));
  auto made = std::make_shared<TensorArray>(std::move(options), memory_, elements_.size());
  MutexLock made_lock(made->mu_);
  for (size_t i = 0; i < elements_.size(); ++i) {
    const Element& element = elements_[i];
    if (!element.written) continue;
    ASSIGN_OR_RETURN(made->elements_[i].shape,
                     with_prefix(element.cleared ? element.shape : PartialTensorShape(element.value.shape())));
  }
  gradient = made;
  return gradient;
}

}  // namespace weir
