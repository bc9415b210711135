#include <sqlite3.h>

#include "core/testing.h"
#include "kernels/data/sources/sql_query.h"

namespace weir {
namespace {

// Integers become text in memory that the database takes for each.
TEST(SqliteQueryTest, AValueForWhichThereIsNoMemoryIsAnError) {
  constexpr int kColumns = 800;  // below what the query asks of a context
  CancellationManager cancellation;
  IteratorContext ctx;
  ctx.cancellation = &cancellation;
  std::string query = "select 7";
  for (int i = 1; i < kColumns; ++i) query += ",7";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqlQuery> rows, SqlQuery::OpenSqlite(":memory:", query));
  ASSERT_OK_AND_ASSIGN(const bool more, rows->Step(ctx));
  ASSERT_TRUE(more);
  std::vector<absl::StatusOr<Tensor>> values;
  sqlite3_hard_heap_limit64(sqlite3_memory_used());
  for (int i = 0; i < kColumns; ++i) values.push_back(rows->Column(i, DT_STRING));
  sqlite3_hard_heap_limit64(0);
  int without_memory = 0;
  for (const absl::StatusOr<Tensor>& value : values) {
    if (value.ok()) {
      EXPECT_EQ(value->scalar<tstring>(), "7");
    } else {
      EXPECT_THAT(value, StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr("out of memory")));
      ++without_memory;
    }
  }
  EXPECT_GT(without_memory, 0);
}

}  // namespace
}  // namespace weir
