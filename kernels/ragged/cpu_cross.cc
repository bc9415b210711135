// RaggedCross: crosses of features in ragged, sparse and dense columns.
#include <algorithm>

#include "kernels/ragged/family.h"
#include "kernels/ragged/row_splits.h"
#include "kernels/sparse/feature_cross.h"

namespace weir {
namespace {

// Inputs: values and row splits of the ragged columns; indices, values and shapes of the sparse ones; dense ones.
class RaggedCrossKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    DataTypeVector ragged, splits, values, dense;
    int64_t sparse;
    RETURN_IF_ERROR(ctx.GetAttr("ragged_values_types", &ragged));
    RETURN_IF_ERROR(ctx.GetAttr("ragged_splits_types", &splits));
    RETURN_IF_ERROR(ctx.GetAttr("sparse_values_types", &values));
    RETURN_IF_ERROR(ctx.GetAttr("dense_types", &dense));
    RETURN_IF_ERROR(ctx.GetAttr("Nsparse", &sparse));
    RETURN_IF_ERROR(ctx.GetAttr("input_order", &order_));
    RETURN_IF_ERROR(ctx.GetAttr("hashed_output", &hashed_));
    RETURN_IF_ERROR(ctx.GetAttr("num_buckets", &buckets_));
    RETURN_IF_ERROR(ctx.GetAttr("hash_key", &key_));
    DataType output;
    RETURN_IF_ERROR(ctx.GetAttr("out_values_type", &output));
    if (output != (hashed_ ? DT_INT64 : DT_STRING)) {
      return errors::InvalidArgument("out_values_type must be ", hashed_ ? "int64" : "string",
                                     " when hashed_output is ", hashed_ ? "true" : "false");
    }
    if (ragged.size() != splits.size() || sparse != static_cast<int64_t>(values.size())) {
      return errors::InvalidArgument("There must be as many values as row splits, and as sparse indices");
    }
    ragged_ = static_cast<int>(ragged.size());
    sparse_ = static_cast<int>(sparse);
    dense_ = static_cast<int>(dense.size());
    const auto count = [&](char kind) { return std::count(order_.begin(), order_.end(), kind); };
    if (count('R') != ragged_ || count('S') != sparse_ || count('D') != dense_ ||
        static_cast<int>(order_.size()) != ragged_ + sparse_ + dense_) {
      return errors::InvalidArgument("Invalid length for input_order: '", order_, "' does not fit the inputs");
    }
    if (order_.empty()) return errors::InvalidArgument("tf.ragged.cross requires at least one input tensor.");
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t rows, Rows(ctx));
    std::vector<FeatureColumn> columns;
    int ragged = 0, sparse = 0, dense = 0;
    for (char kind : order_) {
      const int position = static_cast<int>(columns.size());
      absl::StatusOr<FeatureColumn> column = kind == 'R'   ? Ragged(ctx, ragged++)
                                             : kind == 'S' ? Sparse(ctx, sparse++, rows, position)
                                                           : DenseColumn(Dense(ctx, dense++), rows, position);
      if (!column.ok()) return column.status();
      columns.push_back(*std::move(column));
    }
    ASSIGN_OR_RETURN(const CrossCounts counts, CountCrosses(columns, rows));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(0, TensorShape({counts.total})));
    int64_t at = 0;
    ForEachCross(columns, counts, [&](int64_t, int64_t, const std::vector<int64_t>& picks) {
      if (hashed_) {
        values->data<int64_t>()[at++] = HashBucket(CrossHash(columns, picks, static_cast<uint64_t>(key_)), buckets_);
      } else {
        values->data<tstring>()[at++] = CrossText(columns, picks, "_X_");
      }
    });
    DimVector splits = {0};
    for (int64_t count : counts.of_row) splits.push_back(splits.back() + count);
    return SetSplitsOutput(ctx, 1, splits);
  }

 private:
  const Tensor& Splits(const OpKernelContext& ctx, int i) const { return ctx.input(ragged_ + i); }
  const Tensor& SparseInput(const OpKernelContext& ctx, int part, int i) const {
    return ctx.input(2 * ragged_ + part * sparse_ + i);
  }
  const Tensor& Dense(const OpKernelContext& ctx, int i) const { return ctx.input(2 * ragged_ + 3 * sparse_ + i); }

  // The number of rows, in which all inputs must agree.
  absl::StatusOr<int64_t> Rows(const OpKernelContext& ctx) const {
    // Each row takes memory, also where it has no features.
    constexpr int64_t kMostRows = int64_t{1} << 28;
    int64_t rows = -1;
    const auto agree = [&](int64_t found) {
      if (rows >= 0 && rows != found) {
        return errors::InvalidArgument("inputs must all have the same batch dimension size.");
      }
      rows = found;
      if (rows >= 0 && rows <= kMostRows) return absl::OkStatus();
      return errors::InvalidArgument("The batch size must be in [0, ", kMostRows, "], got ", rows);
    };
    for (int i = 0; i < ragged_; ++i) RETURN_IF_ERROR(agree(Splits(ctx, i).NumElements() - 1));
    for (int i = 0; i < sparse_; ++i) {
      const Tensor& shape = SparseInput(ctx, 2, i);
      if (shape.dims() != 1 || shape.NumElements() != 2) {
        return errors::InvalidArgument("tf.ragged.cross only supports inputs with rank=2.");
      }
      RETURN_IF_ERROR(agree(shape.data<int64_t>()[0]));
    }
    for (int i = 0; i < dense_; ++i) {
      if (Dense(ctx, i).dims() != 2) {
        return errors::InvalidArgument("tf.ragged.cross only supports inputs with rank=2.");
      }
      RETURN_IF_ERROR(agree(Dense(ctx, i).dim_size(0)));
    }
    return rows;
  }

  absl::StatusOr<FeatureColumn> Ragged(const OpKernelContext& ctx, int i) const {
    FeatureColumn column;
    column.values = ctx.input(i);
    if (column.values.dims() != 1) {
      return errors::InvalidArgument("tf.ragged.cross only supports inputs with rank=2.");
    }
    ASSIGN_OR_RETURN(const DimVector splits, ReadRowSplits(Splits(ctx, i)));
    if (splits.back() != column.values.NumElements()) {
      return errors::InvalidArgument(
          "Invalid ragged splits: last element of ragged splits must be the number of ragged values(",
          column.values.NumElements(), ") but is ", splits.back());
    }
    column.starts.assign(splits.begin(), splits.end());
    return column;
  }
  absl::StatusOr<FeatureColumn> Sparse(const OpKernelContext& ctx, int i, int64_t rows, int position) const {
    return SparseColumn(SparseInput(ctx, 0, i), SparseInput(ctx, 1, i), SparseInput(ctx, 2, i), rows, position);
  }

  std::string order_;
  int ragged_ = 0, sparse_ = 0, dense_ = 0;
  bool hashed_ = false;
  int64_t buckets_ = 0, key_ = 0;
};

}  // namespace

absl::Status RegisterRaggedCrossKernels(KernelRegistry& kernels) {
  return kernels.Register<RaggedCrossKernel>(Kernel("RaggedCross").Cpu());
}

}  // namespace weir
