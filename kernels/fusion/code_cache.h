// Compiled kernels, kept from process to process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/file_system.h"

namespace weir {

// A file is a line that names the format, one for who compiled, one for the lengths, the source, its code, and a
// checksum of all that.
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
  // Those who read see the old or the new.
  absl::Status Add(const std::string& identity, const std::string& source, const std::string& code);
  std::string PathOf(const std::string& identity, const std::string& source) const;

 private:
  const std::shared_ptr<FileSystem> files_;
  const std::string directory_;
};

}  // namespace weir
