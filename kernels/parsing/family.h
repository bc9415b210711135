// Bytes, CSV, JSON and protobuf messages as tensors.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ParsingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterParsingOps(OpRegistry& ops);
absl::Status RegisterExampleOps(OpRegistry& ops);
absl::Status RegisterProtoOps(OpRegistry& ops);
absl::Status RegisterParsingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterDecodeBytesKernels(KernelRegistry& kernels);
absl::Status RegisterDecodeCsvKernels(KernelRegistry& kernels);
absl::Status RegisterDecodeJsonKernels(KernelRegistry& kernels);
absl::Status RegisterDecodeProtoKernels(KernelRegistry& kernels);
absl::Status RegisterEncodeProtoKernels(KernelRegistry& kernels);
absl::Status RegisterExampleKernels(KernelRegistry& kernels);
absl::Status RegisterSequenceExampleKernels(KernelRegistry& kernels);

}  // namespace weir
