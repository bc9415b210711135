#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "kernels/data/sources/sql_query.h"

namespace weir {
namespace {

absl::StatusCode CodeOf(int result) {
  switch (result & 0xff) {
    case SQLITE_ABORT:
      return absl::StatusCode::kAborted;
    case SQLITE_READONLY:
    case SQLITE_MISMATCH:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_MISUSE:
    case SQLITE_INTERNAL:
      return absl::StatusCode::kInternal;
    case SQLITE_RANGE:
      return absl::StatusCode::kOutOfRange;
    case SQLITE_CANTOPEN:
    case SQLITE_CONSTRAINT:
    case SQLITE_NOTFOUND:
    case SQLITE_NOTADB:
      return absl::StatusCode::kInvalidArgument;
    case SQLITE_CORRUPT:
      return absl::StatusCode::kDataLoss;
    case SQLITE_AUTH:
    case SQLITE_PERM:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_NOLFS:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kUnavailable;
    case SQLITE_INTERRUPT:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kUnknown;
  }
}

absl::Status ErrorOf(const char* call, int result, sqlite3* database, const std::string& subject) {
  const char* const why = database == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(database);
  return absl::Status(CodeOf(result), absl::StrCat(call, "() failed: [", result, "] ", why, ": ", subject));
}

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class SqliteQuery : public SqlQuery {
 public:
  absl::Status Open(const std::string& file, const std::string& query) {
    query_ = query;
    sqlite3* database = nullptr;
    int result = sqlite3_open_v2(file.c_str(), &database,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(database);
    if (result != SQLITE_OK) return ErrorOf("Open", result, database, file);
    if (query.size() > kMaxQuery) return errors::InvalidArgument("The query has ", query.size(), " bytes");
    sqlite3_stmt* statement = nullptr;
    result = sqlite3_prepare_v2(database, query.data(), static_cast<int>(query.size()), &statement, nullptr);
    statement_.reset(statement);
    if (result != SQLITE_OK) return ErrorOf("Prepare", result, database, query);
    return absl::OkStatus();
  }

  int num_columns() const override { return statement_ == nullptr ? 0 : sqlite3_column_count(statement_.get()); }

  absl::StatusOr<bool> Step(const IteratorContext& ctx) override {
    constexpr int kInstructions = 1000;  // of the database's machine, between two looks at the cancellation
    const auto is_cancelled = [](void* context) {
      return static_cast<const IteratorContext*>(context)->CheckCancelled().ok() ? 0 : 1;
    };
    sqlite3_progress_handler(database_.get(), kInstructions, is_cancelled, const_cast<IteratorContext*>(&ctx));
    const int result = sqlite3_step(statement_.get());
    sqlite3_progress_handler(database_.get(), 0, nullptr, nullptr);
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    RETURN_IF_ERROR(ctx.CheckCancelled());
    return ErrorOf("Step", result, database_.get(), query_);
  }

  absl::StatusOr<Tensor> Column(int i, DataType type) const override {
    sqlite3_stmt* const row = statement_.get();
    switch (type) {
      case DT_INT8:
        return Tensor::Scalar(static_cast<int8_t>(sqlite3_column_int(row, i)));
      case DT_UINT8:
        return Tensor::Scalar(static_cast<uint8_t>(sqlite3_column_int(row, i)));
      case DT_INT16:
        return Tensor::Scalar(static_cast<int16_t>(sqlite3_column_int(row, i)));
      case DT_UINT16:
        return Tensor::Scalar(static_cast<uint16_t>(sqlite3_column_int(row, i)));
      case DT_INT32:
        return Tensor::Scalar(static_cast<int32_t>(sqlite3_column_int(row, i)));
      case DT_INT64:
        return Tensor::Scalar(static_cast<int64_t>(sqlite3_column_int64(row, i)));
      case DT_BOOL:
        return Tensor::Scalar(sqlite3_column_int(row, i) != 0);
      case DT_DOUBLE:
        return Tensor::Scalar(sqlite3_column_double(row, i));
      default: {
        const void* const bytes = sqlite3_column_blob(row, i);
        // Nothing also where there is no memory for a value in this form; a value without bytes is no error.
        if (bytes == nullptr && sqlite3_errcode(database_.get()) == SQLITE_NOMEM) {
          return ErrorOf("Column", SQLITE_NOMEM, database_.get(), query_);
        }
        const int size = sqlite3_column_bytes(row, i);
        return Tensor::Scalar(tstring(static_cast<const char*>(bytes), bytes == nullptr ? 0 : size));
      }
    }
  }

 private:
  static constexpr size_t kMaxQuery = size_t{1} << 20;

  std::string query_;
  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<sqlite3_stmt, Close> statement_;  // null for a query without a statement
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqlQuery>> SqlQuery::OpenSqlite(const std::string& file, const std::string& query) {
  auto opened = std::make_unique<SqliteQuery>();
  RETURN_IF_ERROR(opened->Open(file, query));
  return opened;
}

}  // namespace weir
