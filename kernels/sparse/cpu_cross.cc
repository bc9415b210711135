// Crosses of categorical features: for each row every combination of one feature of each column.
#include "core/fingerprint.h"
#include "core/tensor/index_tensor.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/feature_cross.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// N indices, N values, N shapes, dense inputs, and what `extra` inputs follow.
absl::StatusOr<std::vector<FeatureColumn>> ReadColumns(const OpKernelContext& ctx, int n, int extra, int64_t* rows) {
  *rows = 0;
  const int dense = ctx.num_inputs() - extra - 3 * n;
  if (n > 0) {
    ASSIGN_OR_RETURN(const DimVector shape, ReadVector(ctx.input(2 * n), "shapes"));
    if (shape.size() != 2) {
      return errors::InvalidArgument("shape should imply a 2D tensor, but got [", shape.size(), "] at position 0");
    }
    *rows = shape[0];
  } else if (dense > 0) {
    if (ctx.input(0).dims() != 2) {
      return errors::InvalidArgument("Dense inputs should be a matrix but received shape ",
                                     ctx.input(0).shape().ToString(), " at position 0");
    }
    *rows = ctx.input(0).dim_size(0);
  }
  // Each row takes memory, also where it has no features.
  constexpr int64_t kMostRows = int64_t{1} << 28;
  if (*rows < 0 || *rows > kMostRows) {
    return errors::InvalidArgument("The batch size must be in [0, ", kMostRows, "], got ", *rows);
  }
  std::vector<FeatureColumn> columns;
  for (int i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(FeatureColumn column,
                     SparseColumn(ctx.input(i), ctx.input(n + i), ctx.input(2 * n + i), *rows, i));
    columns.push_back(std::move(column));
  }
  for (int i = 0; i < dense; ++i) {
    ASSIGN_OR_RETURN(FeatureColumn column, DenseColumn(ctx.input(3 * n + i), *rows, i));
    columns.push_back(std::move(column));
  }
  return columns;
}

// The crosses as a sparse matrix; emit(values, at, picks) sets the value of one.
template <typename Emit>
absl::Status CrossSparse(OpKernelContext& ctx, const std::vector<FeatureColumn>& columns, int64_t rows, Emit emit) {
  ASSIGN_OR_RETURN(const CrossCounts counts, CountCrosses(columns, rows));
  ASSIGN_OR_RETURN(const TensorShape indices_shape, TensorShape::Build({{counts.total, 2}}));
  ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, indices_shape));
  ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(1, TensorShape({counts.total})));
  ctx.set_output(2, ShapeTensor({rows, counts.most}));
  int64_t at = 0;
  ForEachCross(columns, counts, [&](int64_t row, int64_t i, const std::vector<int64_t>& picks) {
    indices->data<int64_t>()[2 * at] = row;
    indices->data<int64_t>()[2 * at + 1] = i;
    emit(values, at++, picks);
  });
  return absl::OkStatus();
}

absl::Status CrossStrings(OpKernelContext& ctx, const std::vector<FeatureColumn>& columns, int64_t rows,
                          const std::string& separator) {
  return CrossSparse(ctx, columns, rows, [&](Tensor* values, int64_t at, const std::vector<int64_t>& picks) {
    values->data<tstring>()[at] = CrossText(columns, picks, separator);
  });
}

// Hashed with a key, or joined by "_X_".
class SparseCrossKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    DataType out_type;
    RETURN_IF_ERROR(ctx.GetAttr("N", &sparse_));
    RETURN_IF_ERROR(ctx.GetAttr("num_buckets", &buckets_));
    RETURN_IF_ERROR(ctx.GetAttr("hash_key", &key_));
    RETURN_IF_ERROR(ctx.GetAttr("internal_type", &internal_));
    RETURN_IF_ERROR(ctx.GetAttr("out_type", &out_type));
    hashed_ = out_type == DT_INT64;
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    int64_t rows;
    ASSIGN_OR_RETURN(const std::vector<FeatureColumn> columns, ReadColumns(ctx, static_cast<int>(sparse_), 0, &rows));
    for (size_t c = 0; c < columns.size(); ++c) {
      if (internal_ != DT_STRING || columns[c].is_string() || hashed_) continue;
      return errors::InvalidArgument(columns[c].dense ? "Dense inputs" : "Input values",
                                     " should be of internal type string but received int64 at position ", c);
    }
    if (!hashed_) return CrossStrings(ctx, columns, rows, "_X_");
    return CrossSparse(ctx, columns, rows, [&](Tensor* values, int64_t at, const std::vector<int64_t>& picks) {
      values->data<int64_t>()[at] = HashBucket(CrossHash(columns, picks, static_cast<uint64_t>(key_)), buckets_);
    });
  }

 private:
  int64_t sparse_ = 0, buckets_ = 0, key_ = 0;
  DataType internal_ = DT_INVALID;
  bool hashed_ = false;
};

class SparseCrossV2Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("N", &sparse_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& separator = ctx.input(ctx.num_inputs() - 1);
    if (separator.dims() != 0) {
      return errors::InvalidArgument("Input separator should be a scalar. Received: ", separator.shape().ToString());
    }
    int64_t rows;
    ASSIGN_OR_RETURN(const std::vector<FeatureColumn> columns, ReadColumns(ctx, static_cast<int>(sparse_), 1, &rows));
    return CrossStrings(ctx, columns, rows, separator.scalar<tstring>());
  }

 private:
  int64_t sparse_ = 0;
};

// …, num_buckets, strong_hash, salt.
class SparseCrossHashedKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("N", &sparse_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const int last = ctx.num_inputs() - 1;
    const Tensor &buckets = ctx.input(last - 2), &strong = ctx.input(last - 1), &salt = ctx.input(last);
    if (buckets.dims() != 0 || strong.dims() != 0) {
      return errors::InvalidArgument("Input num_buckets and strong_hash should be scalars. Received: ",
                                     buckets.shape().ToString(), " and ", strong.shape().ToString());
    }
    if (salt.dims() != 1 || salt.NumElements() != 2) {
      return errors::InvalidArgument("Input \"salt\" must have length 2 but has length ", salt.NumElements());
    }
    if (sparse_ == 0 && ctx.num_inputs() == 3) return errors::InvalidArgument("There are no columns to cross");
    const uint64_t key[2] = {static_cast<uint64_t>(salt.data<int64_t>()[0]),
                             static_cast<uint64_t>(salt.data<int64_t>()[1])};
    int64_t rows;
    ASSIGN_OR_RETURN(const std::vector<FeatureColumn> columns, ReadColumns(ctx, static_cast<int>(sparse_), 3, &rows));
    const bool is_strong = strong.scalar<bool>();
    return CrossSparse(ctx, columns, rows, [&](Tensor* values, int64_t at, const std::vector<int64_t>& picks) {
      uint64_t hash = Feature(columns[0], picks[0], key, is_strong);
      for (size_t c = 1; c < columns.size(); ++c) {
        hash = FingerprintCat64(hash, Feature(columns[c], picks[c], key, is_strong));
      }
      values->data<int64_t>()[at] = HashBucket(hash, buckets.scalar<int64_t>());
    });
  }

 private:
  // Of a number TensorFlow hashes the first four bytes; dense numbers stand for themselves unless the hash is strong.
  static uint64_t Feature(const FeatureColumn& column, int64_t i, const uint64_t key[2], bool strong) {
    if (!column.is_string() && column.dense && !strong) return static_cast<uint64_t>(column.number(i));
    const absl::string_view text =
        column.is_string() ? absl::string_view(column.text(i))
                           : absl::string_view(reinterpret_cast<const char*>(column.values.data<int64_t>() + i), 4);
    return strong ? StrongKeyedHash(key, text) : Fingerprint64(text);
  }

  int64_t sparse_ = 0;
};

}  // namespace

absl::Status RegisterSparseCrossKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SparseCrossKernel>(Kernel("SparseCross").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SparseCrossV2Kernel>(Kernel("SparseCrossV2").Cpu()));
  return kernels.Register<SparseCrossHashedKernel>(Kernel("SparseCrossHashed").Cpu());
}

}  // namespace weir
