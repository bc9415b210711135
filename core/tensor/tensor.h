// The value that flows along the edges of a graph.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "core/api.h"
#include "core/memory/allocator.h"
#include "core/status.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"

namespace tensorflow {
class TensorProto;
}

namespace WEIR_API weir {

// Reference-counted memory of one or more tensors. Starts with one reference, owned by its creator.
class TensorBuffer {
 public:
  TensorBuffer(void* data, size_t size) : data_(data), size_(size) {}
  TensorBuffer(const TensorBuffer&) = delete;
  TensorBuffer& operator=(const TensorBuffer&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }
  virtual Allocator* allocator() const { return nullptr; }
  // Whether a kernel that holds the only reference may overwrite it (false for mapped, read-only memory).
  virtual bool CanForward() const { return true; }

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy();
  }
  bool RefCountIsOne() const { return refs_.load(std::memory_order_acquire) == 1; }

 protected:
  virtual ~TensorBuffer() = default;
  virtual void Destroy() { delete this; }

 private:
  std::atomic<int> refs_{1};
  void* const data_;
  const size_t size_;
};

// Whether Tensor's typed accessors check the type. Each value has functions of its own, so both may be linked together.
#ifdef WEIR_UNCHECKED_TENSORS
constexpr bool kChecksTensorAccess = false;
#else
constexpr bool kChecksTensorAccess = true;
#endif

// A typed, shaped view of a buffer. Copies share the buffer. Distinct Tensor objects may be used from any threads;
// one object is not synchronised. Elements of string, resource and variant tensors are constructed and destroyed
// with the buffer.
//
// Invariants: a default tensor is float, shape [0], without buffer. dtype() is never a reference type. data() is
// aligned to kTensorAlignment unless the tensor is a slice (see IsAligned).
class Tensor {
 public:
  Tensor() : dtype_(DT_FLOAT), shape_({0}) {}
  // Aborts if memory is exhausted: for tests and small values. Kernels use OpKernelContext; code that handles sizes
  // from outside uses Allocate.
  Tensor(DataType dtype, const TensorShape& shape);
  // RESOURCE_EXHAUSTED if memory is exhausted; InvalidArgument for a bad dtype or a byte size beyond int64. Plain
  // elements are not initialised; objects are default-constructed.
  static absl::StatusOr<Tensor> Allocate(Allocator* allocator, DataType dtype, const TensorShape& shape);
  // A view of caller-provided memory; takes over one reference to `buffer`, which holds at least the elements.
  static Tensor FromBuffer(DataType dtype, const TensorShape& shape, TensorBuffer* buffer, size_t byte_offset = 0);

  // Selects the constructor of a tensor without a buffer, which Allocate fills in place.
  struct Uninitialised {};
  Tensor(DataType dtype, const TensorShape& shape, Uninitialised) : dtype_(dtype), shape_(shape) {}

  Tensor(const Tensor& other) : dtype_(other.dtype_), shape_(other.shape_), buffer_(other.buffer_), data_(other.data_) {
    if (buffer_ != nullptr) buffer_->Ref();
  }
  // A moved-from tensor is uninitialised until it is assigned to.
  Tensor(Tensor&& other) noexcept
      : dtype_(other.dtype_),
        shape_(std::move(other.shape_)),
        buffer_(std::exchange(other.buffer_, nullptr)),
        data_(std::exchange(other.data_, nullptr)) {}
  Tensor& operator=(const Tensor& other) {
    if (this != &other) *this = Tensor(other);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    if (this == &other) return *this;
    TensorBuffer* const old = buffer_;
    dtype_ = other.dtype_;
    shape_ = std::move(other.shape_);
    buffer_ = std::exchange(other.buffer_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    if (old != nullptr) old->Unref();  // last: `other` may be inside it (in a variant)
    return *this;
  }
  ~Tensor() {
    if (buffer_ != nullptr) buffer_->Unref();
  }

  template <typename T>
  static Tensor Scalar(T value) {
    Tensor t(DataTypeOf<T>(), TensorShape());
    t.data<T>()[0] = std::move(value);
    return t;
  }
  template <typename T>
  static Tensor Vector(absl::Span<const T> values) {
    Tensor t(DataTypeOf<T>(), TensorShape({static_cast<int64_t>(values.size())}));
    for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = values[i];
    return t;
  }

  DataType dtype() const { return dtype_; }
  const TensorShape& shape() const { return shape_; }
  int dims() const { return shape_.dims(); }
  int64_t dim_size(int i) const { return shape_.dim_size(i); }
  int64_t NumElements() const { return shape_.num_elements(); }
  // Number of elements times element size (for objects: of the objects themselves).
  int64_t TotalBytes() const { return NumElements() * static_cast<int64_t>(DataTypeSize(dtype_)); }
  // A tensor without elements may have no buffer and still counts as initialised.
  bool IsInitialized() const { return data_ != nullptr || NumElements() == 0; }
  bool IsAligned() const { return reinterpret_cast<uintptr_t>(data_) % kTensorAlignment == 0; }

  // The elements in row-major order. T is the C++ type of dtype(), or a type that tensors cannot have, such as char,
  // for their bytes. In programs another T aborts with a message that names both types and the shape; Weir's own
  // libraries, whose kernels are selected by type, do not check. Get does so for tensors from outside.
  template <typename T, bool kChecked = kChecksTensorAccess>
  T* data() {
    if constexpr (kChecked) CheckType<T>();
    return reinterpret_cast<T*>(data_);
  }
  template <typename T, bool kChecked = kChecksTensorAccess>
  const T* data() const {
    if constexpr (kChecked) CheckType<T>();
    return reinterpret_cast<const T*>(data_);
  }
  void* raw_data() const { return data_; }
  template <typename T, bool kChecked = kChecksTensorAccess>
  absl::Span<T> flat() {
    return absl::MakeSpan(data<T, kChecked>(), NumElements());
  }
  template <typename T, bool kChecked = kChecksTensorAccess>
  absl::Span<const T> flat() const {
    return absl::MakeConstSpan(data<T, kChecked>(), NumElements());
  }
  // The only element. Programs abort if there is not exactly one.
  template <typename T, bool kChecked = kChecksTensorAccess>
  T& scalar() {
    if constexpr (kChecked) CheckIsOneElement();
    return *data<T, kChecked>();
  }
  template <typename T, bool kChecked = kChecksTensorAccess>
  const T& scalar() const {
    if constexpr (kChecked) CheckIsOneElement();
    return *data<T, kChecked>();
  }
  // The elements; InvalidArgument, naming both types and the shape, if T is not the C++ type of dtype().
  template <typename T>
  absl::StatusOr<absl::Span<const T>> Get() const {
    if (dtype_ != DataTypeOf<T>()) return WrongType(DataTypeOf<T>());
    return flat<T, false>();
  }

  // Becomes a new tensor, as from Allocate. After an error it has no buffer.
  absl::Status Reset(Allocator* allocator, DataType dtype, const TensorShape& shape);
  // Moves the buffer to a tensor of `shape`, which has as many elements; this one keeps type and shape without a
  // buffer.
  Tensor TakeAs(const TensorShape& shape) && {
    Tensor taken(dtype_, shape, Uninitialised());
    taken.buffer_ = std::exchange(buffer_, nullptr);
    taken.data_ = std::exchange(data_, nullptr);
    return taken;
  }
  // The same elements under another shape; InvalidArgument unless the number of elements agrees. No copy.
  absl::StatusOr<Tensor> Reshaped(const TensorShape& shape) const;
  // The same bytes as another plain type of equal size. No copy.
  absl::StatusOr<Tensor> Bitcasted(DataType dtype, const TensorShape& shape) const;
  // Rows [start, limit) of dimension 0; requires 0 <= start <= limit <= dim_size(0) and rank >= 1. No copy.
  Tensor Slice(int64_t start, int64_t limit) const;
  // Row i of dimension 0, without that dimension. No copy.
  Tensor SubSlice(int64_t i) const;
  // A copy that shares nothing (strings and handles are copied too).
  absl::StatusOr<Tensor> DeepCopy(Allocator* allocator = CpuAllocator()) const;

  bool SharesBufferWith(const Tensor& other) const { return buffer_ != nullptr && buffer_ == other.buffer_; }
  bool RefCountIsOne() const { return buffer_ != nullptr && buffer_->RefCountIsOne() && buffer_->CanForward(); }
  TensorBuffer* buffer() const { return buffer_; }
  // Releases the buffer; dtype and shape stay. For slots that are filled again.
  void DropBuffer() {
    if (buffer_ != nullptr) std::exchange(buffer_, nullptr)->Unref();
    data_ = nullptr;
  }

  // "float[2,2] [1 2 3 4]": at most `max_entries` elements.
  std::string DebugString(int max_entries = 8) const;

 private:
  template <typename T>
  void CheckType() const {
    if constexpr (requires { DataTypeTraits<T>::kValue; }) {
      if (__builtin_expect(dtype_ != DataTypeTraits<T>::kValue, 0)) AbortOnType(DataTypeTraits<T>::kValue);
    }
  }
  void CheckIsOneElement() const {
    if (__builtin_expect(NumElements() != 1, 0)) AbortOnCount();
  }
  absl::Status WrongType(DataType wanted) const;
  [[noreturn]] void AbortOnType(DataType wanted) const;
  [[noreturn]] void AbortOnCount() const;
  // Allocates a buffer for dtype_ and shape_.
  absl::Status Init(Allocator* allocator);
  Tensor View(DataType dtype, const TensorShape& shape, int64_t first_byte) const;

  DataType dtype_;
  TensorShape shape_;
  TensorBuffer* buffer_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace weir
