// The object behind the tensor array ops.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "kernels/containers/sequence_memory.h"

namespace weir {

// Tensors that are each written once and read once, by index, in the memory of a device. Its handles own it: it dies
// with the last of them.
// Thread-safe.
class TensorArray : public Resource {
 public:
  struct Options {
    std::string name;
    DataType dtype = DT_INVALID;
    PartialTensorShape element_shape;
    bool dynamic_size = false;
    bool clear_after_read = true;
    bool identical_element_shapes = false;
    bool add_writes = false;  // a gradient's: further writes to an index are added
  };
  static constexpr int64_t kMaxSize = int64_t{1} << 24;

  // `memory` is where its elements lie.
  TensorArray(Options options, const SequenceMemory& memory, int64_t size)
      : memory_(memory), options_(std::move(options)), elements_(size) {}
  ~TensorArray() override;

  DataType dtype() const { return options_.dtype; }
  // What the first versions of the ops have as handle: strings that flow along edges as references.
  struct Reference {
    std::mutex mutex;
    Tensor handle;
  };
  Reference& reference() { return reference_; }
  std::string DebugString() const override { return "TensorArray " + options_.name; }

  absl::Status Write(OpKernelContext& ctx, int64_t index, const Tensor& value);
  // Zeros for an element that nothing was written to, where its shape is known.
  absl::StatusOr<Tensor> Read(const OpKernelContext& ctx, int64_t index);
  absl::StatusOr<int64_t> Size() const;
  // Makes room for `size` elements where the array may grow; InvalidArgument where it may not.
  absl::Status Reserve(int64_t size);
  bool dynamic_size() const;
  // Merges `shape` into the elements' shape.
  absl::Status NarrowElementShape(const PartialTensorShape& shape);
  // Gives back the elements; every later use fails.
  void Close();
  // The array of gradients that belongs to this one and `source`, made when first asked for. From then on this one does
  // not grow. `prepend` is put in front of the elements' shapes.
  absl::StatusOr<std::shared_ptr<TensorArray>> Gradient(const std::string& source, const TensorShape& prepend);

 private:
  struct Element {
    Tensor value;
    PartialTensorShape shape;  // where known before anything is written
    bool written = false, cleared = false, read = false;
  };

  absl::Status CheckOpen() const REQUIRES(mu_);
  template <typename... Args>
  absl::Status Invalid(const Args&... args) const {
    return errors::InvalidArgument("TensorArray ", options_.name, ": ", args...);
  }

  const SequenceMemory& memory_;
  Reference reference_;
  mutable Mutex mu_;
  Options options_ GUARDED_BY(mu_);
  std::vector<Element> elements_ GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<TensorArray>> gradients_ GUARDED_BY(mu_);
  bool closed_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
