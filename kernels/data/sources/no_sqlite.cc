// Replaces sql_query_sqlite.cc in a build without SQLite's headers.
#include "kernels/data/sources/sql_query.h"

namespace weir {

absl::StatusOr<std::unique_ptr<SqlQuery>> SqlQuery::OpenSqlite(const std::string& file, const std::string&) {
  return errors::Unimplemented("Cannot read ", file,
                               ": this build has no SQLite; install libsqlite3-dev and build Weir again");
}

}  // namespace weir
