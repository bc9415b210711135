// Compiled kernels, kept from process to process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/files/file_system.h"

namespace weir {

// A file holds a line with the format, one with the compiler, one with the lengths, then source, code and a checksum.
std::string FormatCode(const std::string& identity, const std::string& source, const std::string& code);
// The code. DATA_LOSS for what is not such a file, or is damaged; FAILED_PRECONDITION for that of another source or
// compiler.
absl::StatusOr<std::string> ParseCode(const std::string& text, const std::string& identity, const std::string& source);

// A file for each kernel, in a directory that processes, devices and versions may share. Thread-safe. May block.
class CodeCache {
 public:
  CodeCache(std::shared_ptr<FileSystem> files, std::string directory)
      : files_(std::move(files)), directory_(std::move(directory)) {}

  // nullopt where there is none. One that cannot be used is left out, with a warning in the log; the next Add replaces
  // it.
  std::optional<std::string> Find(const std::string& identity, const std::string& source) const;
  // A concurrent reader sees the old file or the new one.
  absl::Status Add(const std::string& identity, const std::string& source, const std::string& code);
  std::string PathOf(const std::string& identity, const std::string& source) const;

 private:
  const std::shared_ptr<FileSystem> files_;
  const std::string directory_;
};

}  // namespace weir
