#include "core/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"

namespace weir {
namespace {

template <typename T>
void Construct(void* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) new (static_cast<T*>(data) + i) T();
}

template <typename T>
void Destruct(void* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) (static_cast<T*>(data) + i)->~T();
}

bool IsObjectType(DataType dtype) { return dtype == DT_STRING || dtype == DT_RESOURCE || dtype == DT_VARIANT; }

void ConstructObjects(DataType dtype, void* data, int64_t n) {
  if (dtype == DT_STRING) Construct<tstring>(data, n);
  if (dtype == DT_RESOURCE) Construct<ResourceHandle>(data, n);
  if (dtype == DT_VARIANT) Construct<Variant>(data, n);
}

void DestructObjects(DataType dtype, void* data, int64_t n) {
  if (dtype == DT_STRING) Destruct<tstring>(data, n);
  if (dtype == DT_RESOURCE) Destruct<ResourceHandle>(data, n);
  if (dtype == DT_VARIANT) Destruct<Variant>(data, n);
}

// In host memory the buffer object precedes its elements in one block, so a small tensor costs one allocation.
constexpr size_t kHeaderBytes = kTensorAlignment;

class HostBuffer final : public TensorBuffer {
 public:
  HostBuffer(Allocator* allocator, DataType dtype, void* data, size_t size)
      : TensorBuffer(data, size), allocator_(allocator), dtype_(dtype) {
    if (IsObjectType(dtype)) ConstructObjects(dtype, data, NumObjects());
  }
  Allocator* allocator() const override { return allocator_; }

 private:
  ~HostBuffer() override {
    if (IsObjectType(dtype_)) DestructObjects(dtype_, data(), NumObjects());
  }
  void Destroy() override {
    Allocator* allocator = allocator_;
    size_t bytes = kHeaderBytes + size();
    this->~HostBuffer();
    allocator->DeallocateRaw(this, bytes);
  }
  int64_t NumObjects() const { return static_cast<int64_t>(size() / DataTypeSize(dtype_)); }

  Allocator* const allocator_;
  const DataType dtype_;
};
static_assert(sizeof(HostBuffer) <= kHeaderBytes);

class DeviceBuffer final : public TensorBuffer {
 public:
  DeviceBuffer(Allocator* allocator, void* data, size_t size) : TensorBuffer(data, size), allocator_(allocator) {}
  Allocator* allocator() const override { return allocator_; }

 private:
  ~DeviceBuffer() override { allocator_->DeallocateRaw(data(), size()); }
  Allocator* const allocator_;
};

// nullptr if memory is exhausted.
TensorBuffer* NewBuffer(Allocator* allocator, DataType dtype, size_t bytes) {
  if (allocator->IsHostMemory()) {
    void* block = allocator->AllocateRaw(kHeaderBytes + bytes);
    if (block == nullptr) return nullptr;
    return new (block) HostBuffer(allocator, dtype, static_cast<char*>(block) + kHeaderBytes, bytes);
  }
  void* data = allocator->AllocateRaw(bytes);
  return data == nullptr ? nullptr : new DeviceBuffer(allocator, data, bytes);
}

}  // namespace

absl::Status Tensor::Init(Allocator* allocator) {
  const size_t element_size = IsRefType(dtype_) ? 0 : DataTypeSize(dtype_);
  if (element_size == 0) return errors::InvalidArgument("A tensor cannot be of type ", DataTypeName(dtype_));
  const int64_t n = shape_.num_elements();
  if (n == 0) return absl::OkStatus();
  const int64_t bytes = MultiplyWithoutOverflow(n, static_cast<int64_t>(element_size));
  if (bytes < 0) {
    return errors::InvalidArgument("A tensor of shape ", shape_.ToString(), " and type ", DataTypeName(dtype_),
                                   " would have more than 2**63 - 1 bytes");
  }
  if (IsObjectType(dtype_) && !allocator->IsHostMemory()) {
    return errors::InvalidArgument("A tensor of type ", DataTypeName(dtype_), " cannot live in ", allocator->name(),
                                   " memory");
  }
  buffer_ = NewBuffer(allocator, dtype_, static_cast<size_t>(bytes));
  if (buffer_ == nullptr) {
    return errors::ResourceExhausted("OOM when allocating tensor with shape", shape_.ToString(), " and type ",
                                     DataTypeName(dtype_), " by allocator ", allocator->name(), " (", bytes, " bytes)");
  }
  data_ = buffer_->data();
  return absl::OkStatus();
}

absl::Status Tensor::WrongType(DataType wanted) const {
  return errors::InvalidArgument("A tensor ", DataTypeName(dtype_), shape_.ToString(), " is read as ",
                                 DataTypeName(wanted));
}

void Tensor::AbortOnType(DataType wanted) const {
  fprintf(stderr, "%s\n", std::string(WrongType(wanted).message()).c_str());
  std::abort();
}

void Tensor::AbortOnCount() const {
  fprintf(stderr, "A tensor %s%s is read as a scalar, but has %lld elements\n", DataTypeName(dtype_).c_str(),
          shape_.ToString().c_str(), static_cast<long long>(NumElements()));
  std::abort();
}

Tensor::Tensor(DataType dtype, const TensorShape& shape) : dtype_(dtype), shape_(shape) {
  if (absl::Status status = Init(CpuAllocator()); !status.ok()) {
    fprintf(stderr, "%s\n", status.ToString().c_str());
    std::abort();
  }
}

absl::StatusOr<Tensor> Tensor::Allocate(Allocator* allocator, DataType dtype, const TensorShape& shape) {
  absl::StatusOr<Tensor> result{absl::in_place, dtype, shape, Uninitialised()};
  if (absl::Status status = result->Init(allocator); !status.ok()) return status;
  return result;
}

Tensor Tensor::FromBuffer(DataType dtype, const TensorShape& shape, TensorBuffer* buffer, size_t byte_offset) {
  Tensor tensor(dtype, shape, Uninitialised());
  tensor.buffer_ = buffer;
  tensor.data_ = static_cast<char*>(buffer->data()) + byte_offset;
  return tensor;
}

absl::Status Tensor::Reset(Allocator* allocator, DataType dtype, const TensorShape& shape) {
  DropBuffer();
  dtype_ = dtype;
  shape_ = shape;
  return Init(allocator);
}

absl::StatusOr<Tensor> Tensor::Reshaped(const TensorShape& shape) const {
  if (shape.num_elements() != NumElements()) {
    return errors::InvalidArgument("A tensor of shape ", shape_.ToString(), " with ", NumElements(),
                                   " elements cannot be reshaped to ", shape.ToString(), " with ", shape.num_elements(),
                                   " elements");
  }
  return View(dtype_, shape, 0);
}

absl::StatusOr<Tensor> Tensor::Bitcasted(DataType dtype, const TensorShape& shape) const {
  if (!IsPlainType(dtype) || !IsPlainType(dtype_)) {
    return errors::InvalidArgument("Cannot bitcast from ", DataTypeName(dtype_), " to ", DataTypeName(dtype));
  }
  const int64_t bytes = MultiplyWithoutOverflow(shape.num_elements(), static_cast<int64_t>(DataTypeSize(dtype)));
  if (bytes != TotalBytes()) {
    return errors::InvalidArgument("Cannot bitcast ", DataTypeName(dtype_), shape_.ToString(), " to ",
                                   DataTypeName(dtype), shape.ToString(), ": their sizes in bytes differ");
  }
  return View(dtype, shape, 0);
}

Tensor Tensor::View(DataType dtype, const TensorShape& shape, int64_t first_byte) const {
  Tensor view(dtype, shape, Uninitialised());
  view.buffer_ = buffer_;
  if (buffer_ != nullptr) {
    buffer_->Ref();
    view.data_ = static_cast<char*>(data_) + first_byte;
  }
  return view;
}

Tensor Tensor::Slice(int64_t start, int64_t limit) const {
  DimVector dims(shape_.dim_sizes().begin(), shape_.dim_sizes().end());
  const int64_t row_bytes = dims[0] == 0 ? 0 : TotalBytes() / dims[0];
  dims[0] = limit - start;
  return View(dtype_, TensorShape(dims), start * row_bytes);
}

Tensor Tensor::SubSlice(int64_t i) const {
  const int64_t row_bytes = dim_size(0) == 0 ? 0 : TotalBytes() / dim_size(0);
  return View(dtype_, TensorShape(shape_.dim_sizes().subspan(1)), i * row_bytes);
}

absl::StatusOr<Tensor> Tensor::DeepCopy(Allocator* allocator) const {
  ASSIGN_OR_RETURN(Tensor copy, Allocate(allocator, dtype_, shape_));
  const int64_t n = data_ == nullptr ? 0 : NumElements();
  if (n == 0) return copy;
  switch (dtype_) {
    case DT_STRING:
      std::copy_n(data<tstring>(), n, copy.data<tstring>());
      break;
    case DT_RESOURCE:
      std::copy_n(data<ResourceHandle>(), n, copy.data<ResourceHandle>());
      break;
    case DT_VARIANT:
      for (int64_t i = 0; i < n; ++i) {
        const VariantValue* value = data<Variant>()[i].value();
        if (value != nullptr) copy.data<Variant>()[i] = Variant(value->Clone());
      }
      break;
    default:
      std::memcpy(copy.data_, data_, TotalBytes());
  }
  return copy;
}

}  // namespace weir
