// Iterators that have names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "core/tensor/resource_handle.h"
#include "kernels/data/iterators/iterator_resource.h"

namespace weir {

// The iterator that a kernel stands for: with a shared name, one for all who use that name on the device; without, that
// of the node in its session, which goes with the kernel. Thread-safe.
class NamedIterator {
 public:
  struct Found {
    ResourceHandle handle;
    std::shared_ptr<IteratorResource> iterator;
  };

  // Reads shared_name, container, output_types and output_shapes.
  absl::Status Init(OpKernelConstruction& ctx);
  ~NamedIterator();
  // Makes it when it is first asked for.
  absl::StatusOr<Found> Find(OpKernelContext& ctx);

 private:
  std::string node_, shared_name_, container_;
  DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
  Mutex mu_;
  ResourceManager* resources_ GUARDED_BY(mu_) = nullptr;  // the device's, which outlives the kernel
  Found found_ GUARDED_BY(mu_);
};

}  // namespace weir
