// NumPy's files of arrays (.npy).
#pragma once

#include <string>

#include "core/api.h"
#include "core/files/file_system.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace WEIR_API weir {

// Reads a C-ordered, little-endian array of numbers, bools, bytes (S) or texts (U, which become UTF-8). InvalidArgument
// for other arrays, DataLoss for a damaged file; each names the file.
absl::StatusOr<Tensor> ReadNpyFile(FileSystem* files, const std::string& path);

// Strings become bytes (S), of the longest one's length: NumPy drops zero bytes at the end of each. bfloat16 becomes
// float32, which holds all of its values. Unimplemented for types that NumPy lacks.
absl::Status WriteNpyFile(FileSystem* files, const std::string& path, const Tensor& tensor);

}  // namespace weir
