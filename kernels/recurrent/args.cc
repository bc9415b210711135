#include "kernels/recurrent/args.h"

#include <algorithm>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_join.h"

namespace weir {
namespace {

// How large an input should be along one axis, and what a client knows that size as.
struct ExpectedSize {
  int64_t size;
  const char* meaning;
};
constexpr char kBatchSize[] = "batch_size";
constexpr char kCellSize[] = "cell_size";

absl::Status ExpectRank(const Tensor& tensor, int rank, const char* name) {
  if (tensor.dims() == rank) return absl::OkStatus();
  return errors::InvalidArgument("Rank of ", name, " must be ", rank, ", got ", tensor.dims(), ": ", name, " must be ",
                                 rank, "D");
}

absl::Status Expect(const Tensor& tensor, absl::Span<const ExpectedSize> sizes, const char* name) {
  RETURN_IF_ERROR(ExpectRank(tensor, static_cast<int>(sizes.size()), name));
  int axis = 0;
  for (const ExpectedSize& expected : sizes) {
    const int64_t size = tensor.dim_size(axis++);
    if (size == expected.size) continue;
    const bool says_dims = expected.meaning == kBatchSize || absl::string_view(name) == "h_prev";
    return errors::InvalidArgument(name, says_dims ? ".dims(" : ".dim_size(", axis - 1, ") != ", expected.meaning, ": ",
                                   size, " vs. ", expected.size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LstmAttrs::Read(OpKernelConstruction& ctx) {
  if (ctx.HasAttr("forget_bias")) RETURN_IF_ERROR(ctx.GetAttr("forget_bias", &forget_bias));
  if (ctx.HasAttr("cell_clip")) RETURN_IF_ERROR(ctx.GetAttr("cell_clip", &clip));
  return ctx.GetAttr("use_peephole", &peephole);
}

absl::StatusOr<LstmSizes> LstmSizes::OfCell(const OpKernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  RETURN_IF_ERROR(ExpectRank(x, 2, "x"));
  return Of(ctx, 1, x.dim_size(0), x.dim_size(1));
}

absl::StatusOr<LstmSizes> LstmSizes::Of(const OpKernelContext& ctx, int first, int64_t batch, int64_t input) {
  const Tensor& cs_prev = ctx.input(first);
  RETURN_IF_ERROR(ExpectRank(cs_prev, 2, "cs_prev"));
  const LstmSizes sizes{.batch = batch, .input = input, .cell = cs_prev.dim_size(1)};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (batch > kMost || sizes.cell > kMost || input > kMost) return errors::InvalidArgument("cell is too large");
  const ExpectedSize rows{batch, kBatchSize}, size{sizes.cell, kCellSize}, gates{4 * sizes.cell, "cell_size * 4"};
  RETURN_IF_ERROR(Expect(cs_prev, {rows, size}, "cs_prev"));
  RETURN_IF_ERROR(Expect(ctx.input(first + 1), {rows, size}, "h_prev"));
  RETURN_IF_ERROR(Expect(ctx.input(first + 2), {{sizes.rows(), "input_size + cell_size"}, gates}, "w"));
  static constexpr const char* kNames[] = {"wci", "wcf", "wco"};
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(Expect(ctx.input(first + 3 + i), {size}, kNames[i]));
  RETURN_IF_ERROR(Expect(ctx.input(first + 6), {gates}, "b"));
  return sizes;
}

absl::StatusOr<LstmBlockSizes> LstmBlockSizes::Of(const OpKernelContext& ctx) {
  LstmBlockSizes sizes;
  const Tensor &length = ctx.input(0), &x = ctx.input(1);
  if (length.dims() != 0) {
    return errors::InvalidArgument("`seq_len_max_tensor` must be rank 0 but is rank ", length.dims());
  }
  RETURN_IF_ERROR(ExpectRank(x, 3, "x"));
  sizes.time = x.dim_size(0);
  sizes.length = length.scalar<int64_t>();
  if (sizes.length < 0 || sizes.length > sizes.time) {
    return errors::InvalidArgument("seq_len_max must be in [0, ", sizes.time, "], got ", sizes.length);
  }
  ASSIGN_OR_RETURN(sizes.step, LstmSizes::Of(ctx, 2, x.dim_size(1), x.dim_size(2)));
  ASSIGN_OR_RETURN(sizes.states, TensorShape::Build({sizes.time, sizes.step.batch, sizes.step.cell}));
  return sizes;
}

absl::StatusOr<GruSizes> GruSizes::Of(const OpKernelContext& ctx) {
  const Tensor &x = ctx.input(0), &h_prev = ctx.input(1);
  RETURN_IF_ERROR(ExpectRank(x, 2, "x"));
  RETURN_IF_ERROR(ExpectRank(h_prev, 2, "h_prev"));
  // Such sizes fit a tensor only where it is empty; products of them must not overflow, nor loops over them last.
  if (std::max({x.dim_size(0), x.dim_size(1), h_prev.dim_size(1)}) > std::numeric_limits<int32_t>::max()) {
    return errors::InvalidArgument("A cell is too large: x ", x.shape().ToString(), ", h_prev ",
                                   h_prev.shape().ToString());
  }
  const GruSizes sizes{.batch = x.dim_size(0), .input = x.dim_size(1), .cell = h_prev.dim_size(1)};
  const ExpectedSize rows{sizes.rows(), "input_size + cell_size"}, size{sizes.cell, kCellSize},
      both{2 * sizes.cell, "cell_size * 2"};
  RETURN_IF_ERROR(Expect(h_prev, {{sizes.batch, kBatchSize}, size}, "h_prev"));
  RETURN_IF_ERROR(Expect(ctx.input(2), {rows, both}, "w_ru"));
  RETURN_IF_ERROR(Expect(ctx.input(3), {rows, size}, "w_c"));
  RETURN_IF_ERROR(Expect(ctx.input(4), {both}, "b_ru"));
  RETURN_IF_ERROR(Expect(ctx.input(5), {size}, "b_c"));
  return sizes;
}

absl::Status CheckPreviousState(const OpKernelContext& ctx) {
  const Tensor& previous = ctx.input(1);
  if (previous.NumElements() > 0) return absl::OkStatus();
  return errors::InvalidArgument("cs_prev_tensor is empty, has shape: (",
                                 absl::StrJoin(previous.shape().dim_sizes(), ","), ").");
}

absl::Status CheckCellStates(const OpKernelContext& ctx, int first, std::initializer_list<const char*> names,
                             const TensorShape& shape) {
  static constexpr const char* kMeanings[] = {"timelen", kBatchSize, kCellSize};
  absl::InlinedVector<ExpectedSize, 3> sizes;
  for (int i = 0; i < shape.dims(); ++i) sizes.push_back({shape.dim_size(i), kMeanings[3 - shape.dims() + i]});
  for (const char* name : names) RETURN_IF_ERROR(Expect(ctx.input(first++), sizes, name));
  return absl::OkStatus();
}

}  // namespace weir
