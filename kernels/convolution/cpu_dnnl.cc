// Convolutions by oneDNN. This file splits the work over the device's threads; each oneDNN call runs on one thread.
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "core/mutex.h"
#include "kernels/convolution/cpu_convolution.h"
#include "kernels/device/float16.h"
#include "kernels/device/parallel.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

using dnnl::memory;

constexpr int64_t kPicosecondsPerMultiply = 10;
constexpr int64_t kWorthSplitting = 100'000'000;  // 100 us
// Several parts per thread, unless they are too small: a delayed thread leaves its parts to others. Each part reorders
// the filter into oneDNN's layout; the parts of a filter's gradient are reordered back and summed.
constexpr int64_t kSmallestPart = 50'000'000;  // 50 us
constexpr int64_t kPartsPerThread = 4;
constexpr int64_t kGradientPartsPerThread = 2;
constexpr int64_t kThreadsIfDeterministic = 4;
constexpr size_t kMaxRemembered = 32;

// oneDNN would start its own threads beside the work queue's, and builds primitives for as many as OpenMP allows.
void UseOneThread() {
  if (omp_get_max_threads() != 1) omp_set_num_threads(1);
}

// One operand: its layout in our memory, the layout that the primitive wants, and the reorder between them.
struct Operand {
  memory::desc ours, wanted;
  dnnl::reorder reorder;  // empty where they agree

  bool NeedsReorder() const { return ours != wanted; }
};

struct Primitive {
  dnnl::primitive primitive;
  Operand input, filter, output;
  memory::desc scratchpad;
};

class DnnlConvolution : public Convolution {
 public:
  DnnlConvolution(ConvolutionKind kind, DataType type, bool deterministic)
      : kind_(kind), type_(type), deterministic_(deterministic), engine_(dnnl::engine::kind::cpu, 0) {}

  absl::Status Run(OpKernelContext& ctx, const ConvolutionShape& shape, const ConvolutionBuffers& buffers) override {
    if (type_ == DT_FLOAT) return RunParts(ctx, shape, buffers, DT_FLOAT);
    if (type_ == DT_BFLOAT16 && HasFastBfloat16() && !no_bfloat16_.load(std::memory_order_relaxed)) {
      absl::Status status = RunParts(ctx, shape, buffers, DT_BFLOAT16);
      if (status.code() != absl::StatusCode::kUnimplemented) return status;
      no_bfloat16_.store(true, std::memory_order_relaxed);
    }
    return RunInFloat(ctx, shape, buffers);
  }

 private:
  using Key = std::array<int64_t, 20>;

  // Computes in float on copies, for 16-bit types without CPU support.
  absl::Status RunInFloat(OpKernelContext& ctx, const ConvolutionShape& s, const ConvolutionBuffers& buffers) {
    Tensor copies[3];
    struct {
      void* data;
      int64_t elements;
      ConvolutionKind result;
    } const operands[] = {{buffers.input, s.InputElements(), ConvolutionKind::kBackpropInput},
                          {buffers.filter, s.FilterElements(), ConvolutionKind::kBackpropFilter},
                          {buffers.output, s.OutputElements(), ConvolutionKind::kForward}};
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(copies[i], ctx.allocate_temp(DT_FLOAT, TensorShape({operands[i].elements})));
      if (operands[i].result != kind_) Widen(operands[i].data, copies[i].data<float>(), operands[i].elements);
    }
    RETURN_IF_ERROR(RunParts(ctx, s, {copies[0].raw_data(), copies[1].raw_data(), copies[2].raw_data()}, DT_FLOAT));
    for (int i = 0; i < 3; ++i) {
      if (operands[i].result == kind_) Narrow(copies[i].data<float>(), operands[i].data, operands[i].elements);
    }
    ApplyEpilogue(s, buffers);
    return absl::OkStatus();
  }

  void Widen(const void* from, float* to, int64_t n) const {
    type_ == DT_HALF ? ToFloats(At16<half>(from, 0), to, n) : ToFloats(At16<bfloat16>(from, 0), to, n);
  }
  void Narrow(const float* from, void* to, int64_t n) const {
    type_ == DT_HALF ? FromFloats(from, At16<half>(to, 0), n) : FromFloats(from, At16<bfloat16>(to, 0), n);
  }

  // Splits the batch, or the rows of a single image, by the number of threads unless the result must not depend on it;
  // each part of a filter's gradient is summed by itself first.
  absl::Status RunParts(OpKernelContext& ctx, const ConvolutionShape& s, const ConvolutionBuffers& buffers,
                        DataType type) {
    const int64_t cost = s.Multiplications() * kPicosecondsPerMultiply;
    const int64_t available = deterministic_ ? kThreadsIfDeterministic : ctx.work_queue()->num_threads();
    const int64_t threads = cost < kWorthSplitting ? 1 : available;
    const bool by_rows = threads > 1 && s.batch == 1 && kind_ == ConvolutionKind::kForward && !s.channels_first;
    const int64_t units = by_rows ? s.rows.out : s.batch;
    const int64_t per_thread = kind_ == ConvolutionKind::kBackpropFilter ? kGradientPartsPerThread : kPartsPerThread;
    const int64_t worthwhile = std::max(deterministic_ ? 1 : threads, cost / kSmallestPart);
    const int64_t parts = std::max<int64_t>(1, std::min({threads * per_thread, worthwhile, units}));
    const bool sum = kind_ == ConvolutionKind::kBackpropFilter && (parts > 1 || type != DT_FLOAT);
    Tensor sums;
    if (sum) {
      ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({parts, s.FilterElements()}));
      ASSIGN_OR_RETURN(sums, ctx.allocate_temp(DT_FLOAT, shape));
    }
    std::vector<absl::Status> statuses(parts);
    ParallelRanges(ctx, parts, cost / parts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        ConvolutionShape part = s;
        ConvolutionBuffers at = buffers;
        Cut(part, at, i * units / parts, (i + 1) * units / parts, by_rows, DataTypeSize(type));
        if (sum) at.filter = sums.data<float>() + i * s.FilterElements();
        statuses[i] = RunOne(part, at, type);
        ApplyEpilogue(part, at);
      }
    });
    for (absl::Status& status : statuses) RETURN_IF_ERROR(std::move(status));
    if (!sum) return absl::OkStatus();
    float* const total = sums.data<float>();
    const int64_t n = s.FilterElements();
    for (int64_t part = 1; part < parts; ++part) {
      const float* const other = total + part * n;
      for (int64_t i = 0; i < n; ++i) total[i] += other[i];
    }
    if (type == DT_FLOAT) {
      std::copy_n(total, n, static_cast<float*>(buffers.filter));
    } else {
      Narrow(total, buffers.filter, n);
    }
    return absl::OkStatus();
  }

  // Narrows a problem to images, or to output rows, [begin, end).
  static void Cut(ConvolutionShape& s, ConvolutionBuffers& at, int64_t begin, int64_t end, bool by_rows, int64_t size) {
    if (by_rows) {
      const WindowDim whole = s.rows;
      const int64_t reach = (whole.filter - 1) * whole.dilation + 1;
      const int64_t first = begin * whole.stride - whole.before, last = (end - 1) * whole.stride - whole.before + reach;
      if (first >= whole.in || last <= 0) return CutPadding(s, at, begin, end, size);
      s.rows.before = std::max<int64_t>(0, -first);
      s.rows.after = std::max<int64_t>(0, last - whole.in);
      s.rows.in = std::min(last, whole.in) - std::max<int64_t>(0, first);
      s.rows.out = end - begin;
      at.input = static_cast<char*>(at.input) + std::max<int64_t>(0, first) * s.columns.in * s.in_channels * size;
      at.output = static_cast<char*>(at.output) + begin * s.columns.out * s.out_channels * size;
      return;
    }
    at.input = static_cast<char*>(at.input) + begin * (s.InputElements() / s.batch) * size;
    at.output = static_cast<char*>(at.output) + begin * (s.OutputElements() / s.batch) * size;
    s.batch = end - begin;
  }

  // Rows that look at padding alone: as they stand beside one row of the image, which they do not reach.
  static void CutPadding(ConvolutionShape& s, ConvolutionBuffers& at, int64_t begin, int64_t end, int64_t size) {
    const int64_t reach = (s.rows.filter - 1) * s.rows.dilation + 1;
    s.rows.out = end - begin;
    s.rows.before = (s.rows.out - 1) * s.rows.stride + reach;
    s.rows.in = 1;
    s.rows.after = 0;
    at.output = static_cast<char*>(at.output) + begin * s.columns.out * s.out_channels * size;
  }

  absl::Status RunOne(const ConvolutionShape& s, const ConvolutionBuffers& buffers, DataType type) {
    UseOneThread();
    try {
      ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> primitive, FindOrBuild(s, type));
      return Execute(*primitive, buffers);
    } catch (const dnnl::error& error) {
      return errors::Internal("oneDNN failed to convolve: ", error.what());
    }
  }

  absl::Status Execute(const Primitive& p, const ConvolutionBuffers& buffers) {
    dnnl::stream stream(engine_);
    std::vector<Tensor> temporaries;
    const auto allocate = [&](const memory::desc& desc) -> absl::StatusOr<memory> {
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(CpuAllocator(), DT_UINT8,
                                                       TensorShape({static_cast<int64_t>(desc.get_size())})));
      temporaries.push_back(tensor);
      return memory(desc, engine_, tensor.raw_data());
    };
    const auto input = [&](const Operand& operand, void* data) -> absl::StatusOr<memory> {
      memory ours(operand.ours, engine_, data);
      if (!operand.NeedsReorder()) return ours;
      ASSIGN_OR_RETURN(memory wanted, allocate(operand.wanted));
      operand.reorder.execute(stream, ours, wanted);
      return wanted;
    };
    std::unordered_map<int, memory> args;
    const Operand* result = &p.output;
    void* result_data = buffers.output;
    int result_arg = DNNL_ARG_DST;
    if (kind_ == ConvolutionKind::kForward) {
      ASSIGN_OR_RETURN(args[DNNL_ARG_SRC], input(p.input, buffers.input));
      ASSIGN_OR_RETURN(args[DNNL_ARG_WEIGHTS], input(p.filter, buffers.filter));
    } else {
      ASSIGN_OR_RETURN(args[DNNL_ARG_DIFF_DST], input(p.output, buffers.output));
      if (kind_ == ConvolutionKind::kBackpropInput) {
        ASSIGN_OR_RETURN(args[DNNL_ARG_WEIGHTS], input(p.filter, buffers.filter));
        result = &p.input, result_data = buffers.input, result_arg = DNNL_ARG_DIFF_SRC;
      } else {
        ASSIGN_OR_RETURN(args[DNNL_ARG_SRC], input(p.input, buffers.input));
        result = &p.filter, result_data = buffers.filter, result_arg = DNNL_ARG_DIFF_WEIGHTS;
      }
    }
    memory ours(result->ours, engine_, result_data), written = ours;
    if (result->NeedsReorder()) {
      ASSIGN_OR_RETURN(written, allocate(result->wanted));
    }
    args[result_arg] = written;
    if (p.scratchpad.get_size() > 0) {
      ASSIGN_OR_RETURN(args[DNNL_ARG_SCRATCHPAD], allocate(p.scratchpad));
    }
    p.primitive.execute(stream, args);
    if (result->NeedsReorder()) result->reorder.execute(stream, written, ours);
    stream.wait();
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const Primitive>> FindOrBuild(const ConvolutionShape& s, DataType type) {
    const Key key = {type,
                     s.batch,
                     s.in_channels,
                     s.out_channels,
                     s.groups,
                     s.channels_first,
                     s.rows.in,
                     s.rows.filter,
                     s.rows.out,
                     s.rows.stride,
                     s.rows.dilation,
                     s.rows.before,
                     s.rows.after,
                     s.columns.in,
                     s.columns.filter,
                     s.columns.out,
                     s.columns.stride,
                     s.columns.dilation,
                     s.columns.before,
                     s.columns.after};
    {
      MutexLock lock(mu_);
      for (const auto& [known, primitive] : remembered_) {
        if (known == key) return primitive;
      }
    }
    ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> built, Build(s, type));
    MutexLock lock(mu_);
    if (remembered_.size() >= kMaxRemembered) remembered_.clear();
    remembered_.emplace_back(key, built);
    return built;
  }

  // UNIMPLEMENTED if oneDNN does not support the problem.
  absl::StatusOr<std::shared_ptr<const Primitive>> Build(const ConvolutionShape& s, DataType type) const {
    const auto data_type = type == DT_FLOAT ? memory::data_type::f32 : memory::data_type::bf16;
    auto p = std::make_shared<Primitive>();
    const memory::dims in_dims = {s.batch, s.in_channels, s.rows.in, s.columns.in};
    const memory::dims out_dims = {s.batch, s.out_channels, s.rows.out, s.columns.out};
    const auto tag = s.channels_first ? memory::format_tag::nchw : memory::format_tag::nhwc;
    p->input.ours = memory::desc(in_dims, data_type, tag);
    p->output.ours = memory::desc(out_dims, data_type, tag);
    const bool gradient = kind_ == ConvolutionKind::kBackpropFilter;
    p->filter.ours = FilterDesc(s, gradient ? memory::data_type::f32 : data_type);
    // Channels last is fast as it is; channels first is worth a reorder.
    const auto any = memory::format_tag::any;
    const memory::desc src = s.channels_first ? memory::desc(in_dims, data_type, any) : p->input.ours;
    const memory::desc dst = s.channels_first ? memory::desc(out_dims, data_type, any) : p->output.ours;
    const memory::desc weights(p->filter.ours.dims(), p->filter.ours.data_type(), any);
    const memory::dims strides = {s.rows.stride, s.columns.stride};
    const memory::dims dilations = {s.rows.dilation - 1, s.columns.dilation - 1};
    const memory::dims before = {s.rows.before, s.columns.before}, after = {s.rows.after, s.columns.after};
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto direct = dnnl::algorithm::convolution_direct;
    try {
      // A gradient's descriptor needs a forward one as a hint; its filter has the images' type.
      const memory::desc forward_weights(weights.dims(), data_type, any);
      const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, direct, src, forward_weights,
                                                    dst, strides, dilations, before, after);
      const dnnl::convolution_forward::primitive_desc hint(forward, attr, engine_);
      if (kind_ == ConvolutionKind::kForward) {
        Fill(*p, hint, hint.src_desc(), hint.weights_desc(), hint.dst_desc());
        p->primitive = dnnl::convolution_forward(hint);
      } else if (kind_ == ConvolutionKind::kBackpropInput) {
        const dnnl::convolution_backward_data::desc desc(direct, src, weights, dst, strides, dilations, before, after);
        const dnnl::convolution_backward_data::primitive_desc pd(desc, attr, engine_, hint);
        Fill(*p, pd, pd.diff_src_desc(), pd.weights_desc(), pd.diff_dst_desc());
        p->primitive = dnnl::convolution_backward_data(pd);
      } else {
        const dnnl::convolution_backward_weights::desc desc(direct, src, weights, dst, strides, dilations, before,
                                                            after);
        const dnnl::convolution_backward_weights::primitive_desc pd(desc, attr, engine_, hint);
        Fill(*p, pd, pd.src_desc(), pd.diff_weights_desc(), pd.diff_dst_desc());
        p->primitive = dnnl::convolution_backward_weights(pd);
      }
      AddReorder(p->input, kind_ == ConvolutionKind::kBackpropInput);
      AddReorder(p->filter, kind_ == ConvolutionKind::kBackpropFilter);
      AddReorder(p->output, kind_ == ConvolutionKind::kForward);
    } catch (const dnnl::error& error) {
      return errors::Unimplemented("oneDNN does not convolve ", DataTypeName(type), " images so: ", error.what());
    }
    return p;
  }

  // [rows, columns, in / groups, out] in memory, in the library's order of dimensions.
  static memory::desc FilterDesc(const ConvolutionShape& s, memory::data_type data_type) {
    const int64_t depth = s.in_channels / s.groups, width = s.out_channels / s.groups, out = s.out_channels;
    const int64_t row = s.columns.filter * depth * out, column = depth * out;
    if (s.groups == 1) {
      return memory::desc({out, depth, s.rows.filter, s.columns.filter}, data_type, memory::dims{1, out, row, column});
    }
    return memory::desc({s.groups, width, depth, s.rows.filter, s.columns.filter}, data_type,
                        memory::dims{width, 1, out, row, column});
  }

  template <typename PrimitiveDesc>
  static void Fill(Primitive& p, const PrimitiveDesc& pd, memory::desc input, memory::desc filter,
                   memory::desc output) {
    p.input.wanted = std::move(input);
    p.filter.wanted = std::move(filter);
    p.output.wanted = std::move(output);
    p.scratchpad = pd.scratchpad_desc();
  }

  void AddReorder(Operand& operand, bool is_result) const {
    if (!operand.NeedsReorder()) return;
    const memory::desc& from = is_result ? operand.wanted : operand.ours;
    const memory::desc& to = is_result ? operand.ours : operand.wanted;
    operand.reorder = dnnl::reorder(dnnl::reorder::primitive_desc(engine_, from, engine_, to));
  }

  const ConvolutionKind kind_;
  const DataType type_;
  const bool deterministic_;
  const dnnl::engine engine_;
  std::atomic<bool> no_bfloat16_{false};
  Mutex mu_;
  std::vector<std::pair<Key, std::shared_ptr<const Primitive>>> remembered_ GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<Convolution> NewDnnlConvolution(ConvolutionKind kind, DataType type, bool deterministic) {
  return std::make_unique<DnnlConvolution>(kind, type, deterministic);
}

}  // namespace weir
