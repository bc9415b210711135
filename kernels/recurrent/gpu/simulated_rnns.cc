// The loops of the CPU as a library for the simulated device.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/recurrent/gpu/rnn_library.h"

namespace weir {
namespace {

constexpr char kDevice[] = "a simulated GPU";
constexpr size_t kWorkspace = 64;  // to see that it is there

// Of a launch, which takes bytes alone.
struct Network {
  RnnSizes sizes;
  int64_t steps, rows;
  DataType dtype;
  bool is_training;

  RnnBatch Batch(const int32_t* lengths) const {
    return {.sizes = sizes, .steps = steps, .rows = rows, .lengths = std::vector<int64_t>(lengths, lengths + rows)};
  }
};
struct ForwardArgs {
  Network network;
  RnnForwardBuffers buffers;
};
struct BackwardArgs {
  Network network;
  RnnBackwardBuffers buffers;
};

// Elements of type T as the loops compute them; what is null stays so.
template <typename T>
class Numbers {
 public:
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

  Numbers(const void* data, int64_t count) {
    if (data == nullptr) return;
    const T* const from = static_cast<const T*>(data);
    numbers_.assign(from, from + count);
  }
  Wide* get() { return numbers_.empty() ? nullptr : numbers_.data(); }
  void Store(void* to) const {
    if (to == nullptr) return;
    std::transform(numbers_.begin(), numbers_.end(), static_cast<T*>(to), [](Wide x) { return static_cast<T>(x); });
  }

 private:
  std::vector<Wide> numbers_;
};

template <typename T>
void Run(const ForwardArgs& args) {
  const RnnForwardBuffers& b = args.buffers;
  const RnnBatch batch = args.network.Batch(b.lengths);
  const int64_t state = batch.StateElements();
  Numbers<T> x(b.x, batch.InElements()), h(b.h, state), c(b.c, state), params(b.params, batch.sizes.NumParams());
  Numbers<T> y(b.y, batch.OutElements()), last_h(b.last_h, state), last_c(b.last_c, state);
  std::vector<typename Numbers<T>::Wide> kept(static_cast<size_t>(batch.KeptElements()));
  RunRnn<typename Numbers<T>::Wide>(batch, {.x = x.get(),
                                            .h = h.get(),
                                            .c = c.get(),
                                            .params = params.get(),
                                            .y = y.get(),
                                            .last_h = last_h.get(),
                                            .last_c = last_c.get(),
                                            .kept = kept.data()});
  y.Store(b.y);
  last_h.Store(b.last_h);
  last_c.Store(b.last_c);
  if (!args.network.is_training) return;
  std::transform(kept.begin(), kept.end(), static_cast<T*>(b.reserve), [](auto k) { return static_cast<T>(k); });
}

template <typename T>
void Run(const BackwardArgs& args) {
  const RnnBackwardBuffers& b = args.buffers;
  const RnnBatch batch = args.network.Batch(b.lengths);
  const int64_t state = batch.StateElements(), in = batch.InElements(), out = batch.OutElements();
  Numbers<T> x(b.x, in), h(b.h, state), c(b.c, state), params(b.params, batch.sizes.NumParams());
  Numbers<T> kept(b.reserve, batch.KeptElements());
  Numbers<T> dy(b.dy, out), dlast_h(b.dlast_h, state), dlast_c(b.dlast_c, state);
  Numbers<T> dx(b.dx, in), dh(b.dh, state), dc(b.dc, state), dparams(b.dparams, batch.sizes.NumParams());
  RunRnnGradient<typename Numbers<T>::Wide>(batch, {.x = x.get(),
                                                    .h = h.get(),
                                                    .c = c.get(),
                                                    .params = params.get(),
                                                    .kept = kept.get(),
                                                    .dy = dy.get(),
                                                    .dlast_h = dlast_h.get(),
                                                    .dlast_c = dlast_c.get(),
                                                    .dx = dx.get(),
                                                    .dh = dh.get(),
                                                    .dc = dc.get(),
                                                    .dparams = dparams.get()});
  dx.Store(b.dx);
  dh.Store(b.dh);
  dc.Store(b.dc);
  dparams.Store(b.dparams);
  // As cuDNN, it is through with what was kept.
  std::memset(b.reserve, 0xa5, static_cast<size_t>(batch.KeptElements()) * sizeof(T));
}

template <typename Args>
void Simulate(const void* raw) {
  const Args& args = *static_cast<const Args*>(raw);
  std::memset(args.buffers.workspace, 0xa5, kWorkspace);
  switch (args.network.dtype) {
    case DT_DOUBLE:
      return Run<double>(args);
    case DT_HALF:
      return Run<half>(args);
    case DT_BFLOAT16:
      return Run<bfloat16>(args);
    default:
      return Run<float>(args);
  }
}

class SimulatedPlan : public RnnPlan {
 public:
  explicit SimulatedPlan(const RnnProblem& problem)
      : batch_(problem.batch),
        network_{.sizes = batch_.sizes,
                 .steps = batch_.steps,
                 .rows = batch_.rows,
                 .dtype = problem.dtype,
                 .is_training = problem.is_training} {}

  size_t workspace_bytes() const override { return kWorkspace; }
  size_t reserve_bytes() const override { return network_.is_training ? Bytes(batch_.KeptElements()) : 0; }

  absl::Status Forward(GpuStream& stream, const RnnForwardBuffers& b) override {
    static const GpuKernel kKernel = {.name = "simulated recurrent network", .simulate = &Simulate<ForwardArgs>};
    const size_t state = Bytes(batch_.StateElements());
    std::vector<GpuAccess> accesses = Inputs(b.x, b.h, b.c, b.params, b.lengths);
    accesses.push_back(GpuAccess::Write(b.workspace, kWorkspace));
    accesses.push_back(GpuAccess::Write(b.y, Bytes(batch_.OutElements())));
    accesses.push_back(GpuAccess::Write(b.last_h, state));
    if (b.last_c != nullptr) accesses.push_back(GpuAccess::Write(b.last_c, state));
    if (network_.is_training) accesses.push_back(GpuAccess::Write(b.reserve, reserve_bytes()));
    return stream.LaunchWith(kKernel, ForwardArgs{network_, b}, accesses);
  }

  absl::Status Backward(GpuStream& stream, const RnnBackwardBuffers& b) override {
    static const GpuKernel kKernel = {.name = "simulated gradient of a recurrent network",
                                      .simulate = &Simulate<BackwardArgs>};
    const size_t state = Bytes(batch_.StateElements()), out = Bytes(batch_.OutElements());
    std::vector<GpuAccess> accesses = Inputs(b.x, b.h, b.c, b.params, b.lengths);
    for (const void* data : {b.y, b.dy}) accesses.push_back(GpuAccess::Read(data, out));
    for (const void* data : {b.dlast_h, b.dlast_c}) {
      if (data != nullptr) accesses.push_back(GpuAccess::Read(data, state));
    }
    accesses.push_back(GpuAccess::Write(b.reserve, reserve_bytes()));
    accesses.push_back(GpuAccess::Write(b.workspace, kWorkspace));
    accesses.push_back(GpuAccess::Write(b.dx, Bytes(batch_.InElements())));
    accesses.push_back(GpuAccess::Write(b.dh, state));
    if (b.dc != nullptr) accesses.push_back(GpuAccess::Write(b.dc, state));
    accesses.push_back(GpuAccess::Write(b.dparams, Bytes(batch_.sizes.NumParams())));
    return stream.LaunchWith(kKernel, BackwardArgs{network_, b}, accesses);
  }

 private:
  size_t Bytes(int64_t elements) const { return static_cast<size_t>(elements) * DataTypeSize(network_.dtype); }
  std::vector<GpuAccess> Inputs(const void* x, const void* h, const void* c, const void* params,
                                const int32_t* lengths) const {
    const size_t state = Bytes(batch_.StateElements());
    std::vector<GpuAccess> accesses = {GpuAccess::Read(x, Bytes(batch_.InElements())), GpuAccess::Read(h, state),
                                       GpuAccess::Read(params, Bytes(batch_.sizes.NumParams())),
                                       GpuAccess::Read(lengths, static_cast<size_t>(batch_.rows) * sizeof(int32_t))};
    if (c != nullptr) accesses.push_back(GpuAccess::Read(c, state));
    return accesses;
  }

  const RnnBatch batch_;
  const Network network_;
};

class SimulatedRnns : public RnnLibrary {
 public:
  std::string DebugString() const override { return "simulated recurrent networks"; }
  absl::Status Check(const OpKernelConstruction& ctx, const RnnAttrs& attrs) const override {
    return CheckRnnLoops(ctx, attrs, kDevice);
  }
  absl::StatusOr<std::shared_ptr<RnnPlan>> Make(const RnnProblem& problem) override {
    RETURN_IF_ERROR(CheckRnnInput(problem.batch.sizes, kDevice));
    // The loops keep this on the host while they run, where nobody could be told that there is no memory.
    if (problem.batch.KeptElements() > int64_t{1} << 28) {
      return errors::ResourceExhausted("A simulated GPU keeps at most 2^28 elements of a recurrent network, not ",
                                       problem.batch.KeptElements());
    }
    return std::make_shared<SimulatedPlan>(problem);
  }
  absl::StatusOr<RnnDropout> NewDropout(GpuDevice&, GpuStream&, float ratio, uint64_t) override {
    RETURN_IF_ERROR(CheckRnnDropout(ratio, kDevice));
    return RnnDropout();
  }
};

}  // namespace

std::shared_ptr<RnnLibrary> NewSimulatedRnns() { return std::make_shared<SimulatedRnns>(); }

}  // namespace weir
