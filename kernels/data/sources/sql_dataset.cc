// Rows that a query of a database gives.
#include <algorithm>

#include "core/files/file_system.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/sources/sql_query.h"

namespace weir {

bool IsSqlType(DataType type) {
  constexpr DataType kTypes[] = {DT_STRING, DT_INT8,   DT_INT16, DT_INT32, DT_INT64,
                                 DT_UINT8,  DT_UINT16, DT_BOOL,  DT_DOUBLE};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

namespace {

class SqlDataset : public DatasetBase {
 public:
  SqlDataset(const NodeArguments& node, std::string file, std::string query)
      : DatasetBase({"Sql", node.output_types(), node.output_shapes(), {}}),
        file_(std::move(file)),
        query_(std::move(query)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  // The database is opened for the first row, and closed behind the last.
  class Iterator : public DatasetIterator<SqlDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (rows_ == nullptr) RETURN_IF_ERROR(Open(ctx));
      ASSIGN_OR_RETURN(const bool more, rows_->Step(ctx));
      if (!more) {
        rows_ = nullptr;
        return false;
      }
      ++taken_;
      element->clear();
      const DataTypeVector& types = dataset().output_types();
      for (size_t i = 0; i < types.size(); ++i) {
        ASSIGN_OR_RETURN(Tensor column, rows_->Column(static_cast<int>(i), types[i]));
        element->push_back(std::move(column));
      }
      return true;
    }
    absl::Status SaveState(IteratorContext&, StateWriter writer) override {
      writer.Int("taken", taken_);
      return absl::OkStatus();
    }
    // Asks again, and passes over the rows that were taken.
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      rows_ = nullptr;
      ASSIGN_OR_RETURN(const int64_t taken, reader.Int("taken", 0));
      if (taken == 0) return absl::OkStatus();
      RETURN_IF_ERROR(Open(ctx));
      for (bool more = true; more && taken_ < taken; taken_ += more) {
        ASSIGN_OR_RETURN(more, rows_->Step(ctx));
      }
      return absl::OkStatus();
    }

   private:
    absl::Status Open(IteratorContext& ctx) {
      taken_ = 0;
      RETURN_IF_ERROR(ctx.device()->file_systems()->Find(dataset().file_).status());
      ASSIGN_OR_RETURN(std::unique_ptr<SqlQuery> rows, SqlQuery::OpenSqlite(dataset().file_, dataset().query_));
      const int columns = rows->num_columns(), types = static_cast<int>(dataset().output_types().size());
      if (columns != types) {
        return errors::InvalidArgument("The number of columns in query (", columns,
                                       ") must match the number of elements in output_types (", types, ").");
      }
      rows_ = std::move(rows);
      return absl::OkStatus();
    }

    std::unique_ptr<SqlQuery> rows_;
    int64_t taken_ = 0;
  };

  const std::string file_, query_;
};

class SqlKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    for (const char* name : {"driver_name", "data_source_name", "query"}) {
      if (inputs.Get(name).dims() != 0) return errors::InvalidArgument(name, " must be a scalar");
    }
    ASSIGN_OR_RETURN(const std::string driver, inputs.String("driver_name"));
    ASSIGN_OR_RETURN(std::string file, inputs.String("data_source_name"));
    ASSIGN_OR_RETURN(std::string query, inputs.String("query"));
    if (driver != "sqlite") {
      return errors::InvalidArgument(
          "The database type, ", driver,
          ", is not supported by SqlDataset. The set of supported databases is: {'sqlite'}.");
    }
    for (const DataType type : inputs.node().output_types()) {
      if (IsSqlType(type)) continue;
      return errors::InvalidArgument(
          "Each element of `output_types_` must be one of: DT_STRING, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, "
          "DT_UINT16, DT_BOOL, DT_DOUBLE ");
    }
    for (const PartialTensorShape& shape : inputs.node().output_shapes()) {
      if (shape.unknown_rank() || shape.dims() != 0) {
        return errors::InvalidArgument("Each element of `output_shapes_` must be a scalar.");
      }
    }
    return std::make_shared<SqlDataset>(inputs.node(), std::move(file), std::move(query));
  }
};

}  // namespace

absl::Status RegisterSqlDatasetKernels(KernelRegistry& kernels) {
  for (const char* op : {"SqlDataset", "ExperimentalSqlDataset"}) {
    RETURN_IF_ERROR(kernels.Register<SqlKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
