// The product with a sparse matrix: by a library where that pays or where one order of additions is asked for, and by a
// kernel of its own, a thread for each product of two elements, for the rest.
#include <bit>
#include <limits>
#include <vector>

#include "core/logging.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/sort.h"
#include "kernels/device/plans/gpu_library.h"
#include "kernels/indexing/device.h"
#include "kernels/sparse/args_matmul.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/gpu/sparse_library.h"

namespace weir {
namespace {

// To sort the entries, which libraries want by rows, costs about as much as to add up so many columns.
constexpr int64_t kLeastColumnsForLibraries = 32;
constexpr int64_t kMostOfLibraries = std::numeric_limits<int32_t>::max();

// a_indices, a_values, a_shape (in host memory), b. Entries that are out of range are left out.
class SparseMatMulKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    type_ = ctx.output_types()[0];
    sum_type_ = type_ == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
    RETURN_IF_ERROR(ctx.GetAttr("adjoint_a", &adjoint_a_));
    RETURN_IF_ERROR(ctx.GetAttr("adjoint_b", &adjoint_b_));
    ASSIGN_OR_RETURN(kernel_, FindBody("SparseMatMul", type_));
    ASSIGN_OR_RETURN(cast_, FindBody("Cast", sum_type_, type_));
    ASSIGN_OR_RETURN(keys_, FindBody("SparseKeys", DT_INT64));
    ASSIGN_OR_RETURN(sorted_, FindBody("SparseSorted", type_));
    ASSIGN_OR_RETURN(library_, SparseLibraryOf(gpu()));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const SparseProductSizes sizes, SparseProductSizes::Of(ctx, adjoint_a_, adjoint_b_));
    if (IsForLibrary(ctx, sizes)) {
      ASSIGN_OR_RETURN(const bool is_done, ByLibrary(ctx, stream, sizes));
      if (is_done) return absl::OkStatus();
    }
    return ByOwn(ctx, stream, sizes);
  }

  bool IsForLibrary(OpKernelContext& ctx, const SparseProductSizes& sizes) const {
    const int64_t entries = ctx.input(1).NumElements();
    if (library_ == nullptr || sizes.output.num_elements() == 0 || entries == 0 || entries > kMostSorted) return false;
    if (sizes.rows >= kMostOfLibraries || sizes.inner == 0 || sizes.inner > kMostOfLibraries) return false;
    if (sizes.columns > kMostOfLibraries) return false;
    if (reinterpret_cast<uintptr_t>(ctx.input(3).raw_data()) % kPlanAlignment != 0) return false;
    return gpu().math_settings().deterministic || sizes.columns >= kLeastColumnsForLibraries;
  }

  // Entries out of range go to a row of their own behind the others, which is cut off: what they would be multiplied
  // by, NaN perhaps, is seen nowhere.
  absl::StatusOr<bool> ByLibrary(OpKernelContext& ctx, GpuStream& stream, const SparseProductSizes& sizes) const {
    const int64_t entries = ctx.input(1).NumElements();
    const TensorShape each({entries});
    const auto sums_shape = TensorShape::Build({sizes.rows + 1, sizes.columns});
    if (!sums_shape.ok()) return false;
    Tensor rows, columns, values;
    ASSIGN_OR_RETURN(rows, ctx.allocate_temp(DT_INT32, each));
    ASSIGN_OR_RETURN(columns, ctx.allocate_temp(DT_INT32, each));
    ASSIGN_OR_RETURN(values, ctx.allocate_temp(type_, each));
    ASSIGN_OR_RETURN(const Tensor sums, ctx.allocate_temp(type_, *sums_shape));
    const SparseProduct product{.dtype = type_,
                                .rows = sizes.rows + 1,
                                .inner = sizes.inner,
                                .columns = sizes.columns,
                                .entries = entries,
                                .transpose_b = adjoint_b_,
                                .entry_rows = rows.data<int32_t>(),
                                .entry_columns = columns.data<int32_t>(),
                                .values = values.raw_data(),
                                .b = ctx.input(3).raw_data(),
                                .c = sums.raw_data()};
    const absl::StatusOr<size_t> bytes = library_->WorkspaceBytes(product);
    if (absl::IsUnimplemented(bytes.status())) return Refused(bytes.status());
    RETURN_IF_ERROR(bytes.status());
    RETURN_IF_ERROR(Sort(ctx, stream, sizes, rows, columns, values));
    ASSIGN_OR_RETURN(const TensorShape workspace_shape, TensorShape::Build({static_cast<int64_t>(*bytes)}));
    ASSIGN_OR_RETURN(const Tensor workspace, ctx.allocate_temp(DT_UINT8, workspace_shape));
    const absl::Status done = library_->Enqueue(stream, product, workspace.raw_data());
    if (absl::IsUnimplemented(done)) return Refused(done);
    RETURN_IF_ERROR(done);
    ctx.set_output(0, sums.Slice(0, sizes.rows));
    return true;
  }

  static bool Refused(const absl::Status& why) {
    WEIR_LOG_EVERY(WARNING, absl::Minutes(10)).With("reason", why.message())
        << "the library cannot do a sparse product: a kernel of its own computes it, in no order";
    return false;
  }

  // The entries by rows of op(a), those of one row in the order in which they came.
  absl::Status Sort(OpKernelContext& ctx, GpuStream& stream, const SparseProductSizes& sizes, Tensor& rows,
                    Tensor& columns, Tensor& values) const {
    const Tensor &indices = ctx.input(0), &unsorted = ctx.input(1);
    const bool is_wide = indices.dtype() == DT_INT64;
    const int64_t count = unsorted.NumElements();
    Tensor keys[2], order[2];
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(keys[i], ctx.allocate_temp(DT_INT64, TensorShape({count})));
      ASSIGN_OR_RETURN(order[i], ctx.allocate_temp(DT_INT32, TensorShape({count})));
    }
    const auto key_data = [&](int i) { return static_cast<uint64_t*>(keys[i].raw_data()); };
    RETURN_IF_ERROR(stream.LaunchWith(keys_,
                                      SparseKeysArgs{.indices = indices.raw_data(),
                                                     .wide_indices = is_wide,
                                                     .adjoint_a = adjoint_a_,
                                                     .rows = sizes.rows,
                                                     .inner = sizes.inner,
                                                     .keys = key_data(0),
                                                     .order = order[0].data<int32_t>(),
                                                     .count = count},
                                      {ReadOf(indices), WriteOf(keys[0]), WriteOf(order[0])}));
    ASSIGN_OR_RETURN(const Tensor workspace, SortWorkspace(ctx, stream, count));
    RETURN_IF_ERROR(EnqueueSort(stream,
                                {.keys_in = key_data(0),
                                 .keys_out = key_data(1),
                                 .values_in = order[0].data<int32_t>(),
                                 .values_out = order[1].data<int32_t>(),
                                 .bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(sizes.rows))),
                                 .count = count},
                                workspace, {ReadOf(keys[0]), ReadOf(order[0]), WriteOf(keys[1]), WriteOf(order[1])}));
    return stream.LaunchWith(sorted_,
                             SparseSortedArgs{.indices = indices.raw_data(),
                                              .wide_indices = is_wide,
                                              .adjoint_a = adjoint_a_,
                                              .keys = key_data(1),
                                              .order = order[1].data<int32_t>(),
                                              .values = unsorted.raw_data(),
                                              .rows = sizes.rows,
                                              .entry_rows = rows.data<int32_t>(),
                                              .entry_columns = columns.data<int32_t>(),
                                              .sorted_values = values.raw_data(),
                                              .count = count},
                             {ReadOf(indices), ReadOf(keys[1]), ReadOf(order[1]), ReadOf(unsorted), WriteOf(rows),
                              WriteOf(columns), WriteOf(values)});
  }

  // Entries are added up in no order.
  absl::Status ByOwn(OpKernelContext& ctx, GpuStream& stream, const SparseProductSizes& sizes) const {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &b = ctx.input(3);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, sizes.output));
    if (output->NumElements() == 0) return absl::OkStatus();
    Tensor sums = *output;
    if (sum_type_ != type_) {
      ASSIGN_OR_RETURN(sums, ctx.allocate_temp(sum_type_, sizes.output));
    }
    RETURN_IF_ERROR(stream.Fill(sums.raw_data(), 0, static_cast<size_t>(sums.TotalBytes())));
    if (values.NumElements() > 0) {
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        SparseMatMulArgs{.indices = indices.raw_data(),
                                                         .wide_indices = indices.dtype() == DT_INT64,
                                                         .values = values.raw_data(),
                                                         .b = b.raw_data(),
                                                         .sums = sums.raw_data(),
                                                         .rows = sizes.rows,
                                                         .inner = sizes.inner,
                                                         .columns = sizes.columns,
                                                         .b_row_step = adjoint_b_ ? 1 : sizes.columns,
                                                         .b_column_step = adjoint_b_ ? sizes.inner : 1,
                                                         .adjoint_a = adjoint_a_,
                                                         .count = values.NumElements() * sizes.columns},
                                        {ReadOf(indices), ReadOf(values), ReadOf(b), WriteOf(sums)}));
    }
    if (sum_type_ == type_) return absl::OkStatus();
    return stream.LaunchWith(cast_,
                             CastArgs{.in = sums.raw_data(), .out = output->raw_data(), .count = output->NumElements()},
                             {ReadOf(sums), WriteOf(*output)});
  }

  DataType type_ = DT_INVALID, sum_type_ = DT_INVALID;
  bool adjoint_a_ = false, adjoint_b_ = false;
  GpuKernel kernel_, cast_, keys_, sorted_;
  std::shared_ptr<SparseLibrary> library_;
};

}  // namespace

absl::Status RegisterGpuSparseProductKernels(KernelRegistry& kernels) {
  return kernels.Register<SparseMatMulKernel>(
      Kernel("SparseTensorDenseMatMul").Device(kDeviceGpu).Types("T", kGpuFloats).HostMemory("a_shape"));
}

}  // namespace weir
