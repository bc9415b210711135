// Files of tables in groups of rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arrow/table.h"
#include "parquet/device_file.h"

namespace table_files {

enum class Format { kParquet, kArrowIpc };

// Row groups of a Parquet file, or record batches of an Arrow IPC file (Feather, version 2). Thread-safe.
class GroupFile {
 public:
  // Reads the file's schema. InvalidArgument, naming what the file has, for an absent column.
  static absl::StatusOr<std::shared_ptr<GroupFile>> Open(Format format, std::shared_ptr<DeviceFile> file,
                                                         const std::vector<std::string>& columns);
  virtual ~GroupFile() = default;

  virtual int num_groups() const = 0;
  // The columns in the order of `columns`. DataLoss, naming the file, if it is damaged.
  virtual absl::StatusOr<std::shared_ptr<arrow::Table>> Read(int group) = 0;
};

}  // namespace table_files
