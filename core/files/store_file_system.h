// A task's checkpoint store: a directory behind a scheme, so that graphs name files in it without knowing where it is.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"

namespace weir {

// Of paths in the store of the task that uses them: "store://model/…".
inline constexpr char kStoreScheme[] = "store";

// Paths "SCHEME://a/b" are DIRECTORY/a/b of the local file system; InvalidArgument for those that have ".." in them.
// Creates the directory. Errors name the local path.
absl::StatusOr<std::shared_ptr<FileSystem>> NewStoreFileSystem(const std::string& directory);

}  // namespace weir
