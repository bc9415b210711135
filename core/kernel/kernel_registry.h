// Kernel registrations: op, types and device to kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/api.h"
#include "core/kernel/op_kernel.h"
#include "core/status.h"
#include "core/tensor/types.h"

namespace WEIR_API weir {

// The key of a registration.
//   Kernel("MatMul").Device(kDeviceCpu).Type<float>("T")
class Kernel {
 public:
  explicit Kernel(absl::string_view op) : op_(op) {}
  Kernel& Device(absl::string_view type) {
    device_type_ = std::string(type);
    return *this;
  }
  Kernel& Cpu() { return Device(kDeviceCpu); }
  // Constrains the type attribute `attr` to those given. All constraints must hold.
  Kernel& Types(absl::string_view attr, absl::Span<const DataType> allowed) {
    constraints_.push_back({std::string(attr), DataTypeVector(allowed.begin(), allowed.end())});
    return *this;
  }
  template <typename T>
  Kernel& Type(absl::string_view attr) {
    return Types(attr, {DataTypeOf<T>()});
  }
  // The OpDef argument is in host memory on every device.
  Kernel& HostMemory(absl::string_view arg) {
    host_args_.emplace_back(arg);
    return *this;
  }
  // Selected by the node's attribute _kernel.
  Kernel& Label(absl::string_view label) {
    label_ = std::string(label);
    return *this;
  }

  const std::string& op() const { return op_; }
  const std::string& device_type() const { return device_type_; }
  const std::vector<std::string>& host_args() const { return host_args_; }
  struct TypeConstraint {
    std::string attr;
    DataTypeVector allowed;
  };
  const std::vector<TypeConstraint>& constraints() const { return constraints_; }
  const std::string& label() const { return label_; }

 private:
  std::string op_, device_type_, label_;
  std::vector<TypeConstraint> constraints_;
  std::vector<std::string> host_args_;
};

using KernelFactory = std::unique_ptr<OpKernel> (*)();

template <typename K>
std::unique_ptr<OpKernel> MakeKernel() {
  return std::make_unique<K>();
}

// Filled once (RegisterAllKernels), then read by any thread.
class KernelRegistry {
 public:
  struct Registration {
    Kernel kernel;
    KernelFactory factory;
  };

  // AlreadyExists if another registration covers the same op, device, label and types.
  absl::Status Register(const Kernel& kernel, KernelFactory factory);
  template <typename K>
  absl::Status Register(const Kernel& kernel) {
    return Register(kernel, &MakeKernel<K>);
  }
  // UNIMPLEMENTED naming op, types, device and node, and the registrations that exist.
  absl::StatusOr<const Registration*> Find(const tensorflow::NodeDef& node, absl::string_view device_type) const;
  bool HasKernel(absl::string_view op, absl::string_view device_type) const;
  std::vector<const Registration*> ForOp(absl::string_view op) const;

 private:
  absl::flat_hash_map<std::string, std::vector<std::unique_ptr<Registration>>> kernels_;
};

// Finds the registration for `node`, creates the kernel and runs Init. Attr defaults must have been filled in.
absl::StatusOr<std::unique_ptr<OpKernel>> CreateKernel(const KernelRegistry& registry, const tensorflow::NodeDef& node,
                                                       const tensorflow::OpDef& op_def, Device* device,
                                                       FunctionRuntime* functions = nullptr);

}  // namespace weir
