#include "parquet/group_file.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_join.h"
#include "arrow/ipc/reader.h"
#include "arrow/result.h"
#include "parquet/arrow/reader.h"
#include "parquet/arrow/schema.h"
#include "parquet/exception.h"
#include "parquet/file_reader.h"

namespace table_files {
namespace {

absl::StatusOr<std::vector<int>> FieldsOf(const arrow::Schema& schema, const std::vector<std::string>& columns,
                                          const std::string& path) {
  std::vector<int> fields;
  for (const std::string& column : columns) {
    fields.push_back(schema.GetFieldIndex(column));  // -1 also for a name that two columns have
    if (fields.back() >= 0) continue;
    return weir::errors::InvalidArgument(path, " has no column ", column, ", or more than one; it has ",
                                         absl::StrJoin(schema.field_names(), ", "));
  }
  return fields;
}

absl::StatusOr<std::shared_ptr<arrow::Table>> Ordered(const arrow::Table& table,
                                                      const std::vector<std::string>& columns,
                                                      const std::string& path) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> values;
  for (const std::string& column : columns) {
    const int index = table.schema()->GetFieldIndex(column);
    if (index < 0) return weir::errors::DataLoss(path, ": a group of rows lacks column ", column);
    fields.push_back(table.field(index));
    values.push_back(table.column(index));
  }
  std::shared_ptr<arrow::Table> ordered = arrow::Table::Make(arrow::schema(fields), values, table.num_rows());
  // The numbers in the file may be wrong.
  RETURN_IF_ERROR(FromArrow(ordered->ValidateFull(), path));
  return ordered;
}

// Parquet's own functions throw.
template <typename F>
absl::Status Catching(const std::string& path, const F& function) {
  try {
    return function();
  } catch (const parquet::ParquetStatusException& error) {
    return FromArrow(error.status(), path);
  } catch (const std::exception& error) {
    return weir::errors::DataLoss(path, ": ", error.what());
  }
}

void AddLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.column_index >= 0) leaves->push_back(field.column_index);
  for (const auto& child : field.children) AddLeaves(child, leaves);
}

class ParquetFile : public GroupFile {
 public:
  ParquetFile(std::shared_ptr<DeviceFile> file, std::vector<std::string> columns)
      : file_(std::move(file)), columns_(std::move(columns)) {}

  absl::Status Init() {
    return Catching(file_->path(), [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const std::unique_ptr<parquet::arrow::FileReader> reader, NewReader());
      metadata_ = reader->parquet_reader()->metadata();
      std::shared_ptr<arrow::Schema> schema;
      RETURN_IF_ERROR(FromArrow(reader->GetSchema(&schema), file_->path()));
      ASSIGN_OR_RETURN(const std::vector<int> fields, FieldsOf(*schema, columns_, file_->path()));
      for (int field : fields) AddLeaves(reader->manifest().schema_fields[field], &leaves_);
      return absl::OkStatus();
    });
  }

  int num_groups() const override { return metadata_->num_row_groups(); }

  absl::StatusOr<std::shared_ptr<arrow::Table>> Read(int group) override {
    std::shared_ptr<arrow::Table> table;
    RETURN_IF_ERROR(Catching(file_->path(), [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const std::unique_ptr<parquet::arrow::FileReader> reader, NewReader());
      arrow::Result<std::shared_ptr<arrow::Table>> read = reader->ReadRowGroup(group, leaves_);
      RETURN_IF_ERROR(FromArrow(read.status(), absl::StrCat(file_->path(), ", row group ", group)));
      ASSIGN_OR_RETURN(table, Ordered(**read, columns_, file_->path()));
      return absl::OkStatus();
    }));
    return table;
  }

 private:
  // Readers are not thread-safe; they share what they know of the file.
  absl::StatusOr<std::unique_ptr<parquet::arrow::FileReader>> NewReader() {
    auto reader = parquet::arrow::FileReader::Make(
        arrow::default_memory_pool(),
        parquet::ParquetFileReader::Open(file_, parquet::default_reader_properties(), metadata_));
    RETURN_IF_ERROR(FromArrow(reader.status(), file_->path()));
    return std::move(reader).ValueUnsafe();
  }

  const std::shared_ptr<DeviceFile> file_;
  const std::vector<std::string> columns_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<int> leaves_;
};

class IpcFile : public GroupFile {
 public:
  IpcFile(std::shared_ptr<DeviceFile> file, std::vector<std::string> columns)
      : file_(std::move(file)), columns_(std::move(columns)) {}

  absl::Status Init() {
    auto whole = arrow::ipc::RecordBatchFileReader::Open(file_);
    RETURN_IF_ERROR(FromArrow(whole.status(), file_->path()));
    arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
    ASSIGN_OR_RETURN(options.included_fields, FieldsOf(*(*whole)->schema(), columns_, file_->path()));
    auto reader = arrow::ipc::RecordBatchFileReader::Open(file_, options);
    RETURN_IF_ERROR(FromArrow(reader.status(), file_->path()));
    reader_ = *reader;
    return absl::OkStatus();
  }

  int num_groups() const override { return reader_->num_record_batches(); }

  absl::StatusOr<std::shared_ptr<arrow::Table>> Read(int group) override {
    const std::string context = absl::StrCat(file_->path(), ", record batch ", group);
    const std::lock_guard<std::mutex> lock(mu_);
    const auto batch = reader_->ReadRecordBatch(group);
    RETURN_IF_ERROR(FromArrow(batch.status(), context));
    const auto table = arrow::Table::FromRecordBatches({*batch});
    RETURN_IF_ERROR(FromArrow(table.status(), context));
    return Ordered(**table, columns_, file_->path());
  }

 private:
  const std::shared_ptr<DeviceFile> file_;
  const std::vector<std::string> columns_;
  std::mutex mu_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;  // used under mu_
};

template <typename F>
absl::StatusOr<std::shared_ptr<GroupFile>> Opened(std::shared_ptr<F> file) {
  RETURN_IF_ERROR(file->Init());
  return file;
}

}  // namespace

absl::StatusOr<std::shared_ptr<GroupFile>> GroupFile::Open(Format format, std::shared_ptr<DeviceFile> file,
                                                           const std::vector<std::string>& columns) {
  if (format == Format::kParquet) return Opened(std::make_shared<ParquetFile>(std::move(file), columns));
  return Opened(std::make_shared<IpcFile>(std::move(file), columns));
}

}  // namespace table_files
