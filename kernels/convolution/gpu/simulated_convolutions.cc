#include "kernels/convolution/gpu/simulated_convolutions.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/tensor/numeric_types.h"

namespace weir {
namespace {

struct Args {
  ConvolutionProblem problem;
  GpuConvolutionBuffers buffers;
  void* workspace;
  size_t workspace_bytes;
};

// The loops over places of one direction. They add in the order of kernels/convolution/device.inc.
template <typename T>
class Loops {
 public:
  using C = AccumulatorT<T>;
  explicit Loops(const Args& args) : p_(args.problem), b_(args.buffers), steps_(ConvolutionSteps::Of(args.problem)) {}

  void Run() const {
    switch (p_.direction) {
      case ConvolutionDirection::kForward:
        return Forward();
      case ConvolutionDirection::kBackwardData:
        return BackwardData();
      default:
        return BackwardFilter();
    }
  }

 private:
  static T& At(void* data, const int64_t (&steps)[4], int64_t a, int64_t b, int64_t c, int64_t d) {
    return static_cast<T*>(data)[a * steps[0] + b * steps[1] + c * steps[2] + d * steps[3]];
  }
  C In(int64_t n, int64_t c, int64_t y, int64_t x) const { return static_cast<C>(At(b_.in, steps_.in, n, c, y, x)); }
  C Filter(int64_t k, int64_t c, int64_t i, int64_t j) const {
    return static_cast<C>(At(b_.filter, steps_.filter, k, c, i, j));
  }
  C Out(int64_t n, int64_t k, int64_t y, int64_t x) const { return static_cast<C>(At(b_.out, steps_.out, n, k, y, x)); }
  int64_t InGroup() const { return p_.in_channels / p_.groups; }
  int64_t OutGroup() const { return p_.out_channels / p_.groups; }
  // Which input an output sees through element i of the filter, or -1; and the reverse.
  int64_t Seen(int axis, int64_t out, int64_t i) const {
    const int64_t at = out * p_.stride[axis] - p_.padding[axis] + i * p_.dilation[axis];
    return at >= 0 && at < p_.in[axis] ? at : -1;
  }
  int64_t SeenBy(int axis, int64_t in, int64_t i) const {
    const int64_t at = in + p_.padding[axis] - i * p_.dilation[axis];
    if (at < 0 || at % p_.stride[axis] != 0) return -1;
    return at / p_.stride[axis] < p_.out[axis] ? at / p_.stride[axis] : -1;
  }
  template <typename Visit>
  static void Each(int64_t a, int64_t b, int64_t c, int64_t d, const Visit& visit) {
    for (int64_t i = 0; i < a * b * c * d; ++i) visit(i / d / c / b, i / d / c % b, i / d % c, i % d);
  }

  void Forward() const {
    Each(p_.batch, p_.out_channels, p_.out[0], p_.out[1], [this](int64_t n, int64_t k, int64_t y, int64_t x) {
      C sum(0);
      const int64_t first = k / OutGroup() * InGroup();
      for (int64_t i = 0; i < p_.filter[0]; ++i) {
        for (int64_t j = 0; j < p_.filter[1]; ++j) {
          const int64_t in_y = Seen(0, y, i), in_x = Seen(1, x, j);
          for (int64_t c = 0; in_y >= 0 && in_x >= 0 && c < InGroup(); ++c) {
            sum += In(n, first + c, in_y, in_x) * Filter(k, c, i, j);
          }
        }
      }
      At(b_.out, steps_.out, n, k, y, x) = static_cast<T>(sum);
    });
  }
  void BackwardData() const {
    Each(p_.batch, p_.in_channels, p_.in[0], p_.in[1], [this](int64_t n, int64_t c, int64_t y, int64_t x) {
      C sum(0);
      const int64_t first = c / InGroup() * OutGroup();
      for (int64_t i = 0; i < p_.filter[0]; ++i) {
        for (int64_t j = 0; j < p_.filter[1]; ++j) {
          const int64_t out_y = SeenBy(0, y, i), out_x = SeenBy(1, x, j);
          for (int64_t k = 0; out_y >= 0 && out_x >= 0 && k < OutGroup(); ++k) {
            sum += Out(n, first + k, out_y, out_x) * Filter(first + k, c % InGroup(), i, j);
          }
        }
      }
      At(b_.in, steps_.in, n, c, y, x) = static_cast<T>(sum);
    });
  }
  void BackwardFilter() const {
    Each(p_.out_channels, InGroup(), p_.filter[0], p_.filter[1], [this](int64_t k, int64_t c, int64_t i, int64_t j) {
      C sum(0);
      const int64_t in_c = k / OutGroup() * InGroup() + c;
      for (int64_t n = 0; n < p_.batch; ++n) {
        for (int64_t y = 0; y < p_.out[0]; ++y) {
          for (int64_t x = 0; x < p_.out[1]; ++x) {
            const int64_t in_y = Seen(0, y, i), in_x = Seen(1, x, j);
            if (in_y >= 0 && in_x >= 0) sum += In(n, in_c, in_y, in_x) * Out(n, k, y, x);
          }
        }
      }
      At(b_.filter, steps_.filter, k, c, i, j) = static_cast<T>(sum);
    });
  }

  const ConvolutionProblem& p_;
  const GpuConvolutionBuffers& b_;
  const ConvolutionSteps steps_;
};

void Simulate(const void* raw) {
  const Args& args = *static_cast<const Args*>(raw);
  if (args.workspace_bytes > 0) std::memset(args.workspace, 0xa5, args.workspace_bytes);
  switch (args.problem.dtype) {
    case DT_HALF:
      return Loops<half>(args).Run();
    case DT_BFLOAT16:
      return Loops<bfloat16>(args).Run();
    default:
      return Loops<float>(args).Run();
  }
}

class SimulatedPlan : public ConvolutionPlan {
 public:
  SimulatedPlan(const ConvolutionProblem& problem, LibraryRecipe recipe, size_t workspace_bytes)
      : problem_(problem), recipe_(std::move(recipe)), workspace_bytes_(workspace_bytes) {}
  const ConvolutionProblem& problem() const override { return problem_; }
  const LibraryRecipe& recipe() const override { return recipe_; }
  size_t workspace_bytes() const override { return workspace_bytes_; }

  absl::Status Enqueue(GpuStream& stream, const GpuConvolutionBuffers& buffers, void* workspace) override {
    static const GpuKernel kKernel = {.name = "simulated convolution", .simulate = &Simulate};
    const auto access = [this](void* data, int64_t elements, ConvolutionDirection made_by) {
      const size_t bytes = static_cast<size_t>(elements) * DataTypeSize(problem_.dtype);
      return problem_.direction == made_by ? GpuAccess::Write(data, bytes) : GpuAccess::Read(data, bytes);
    };
    std::vector<GpuAccess> accesses = {
        access(buffers.in, problem_.InElements(), ConvolutionDirection::kBackwardData),
        access(buffers.filter, problem_.FilterElements(), ConvolutionDirection::kBackwardFilter),
        access(buffers.out, problem_.OutElements(), ConvolutionDirection::kForward)};
    if (workspace_bytes_ > 0) accesses.push_back(GpuAccess::Write(workspace, workspace_bytes_));
    return stream.LaunchWith(kKernel, Args{problem_, buffers, workspace, workspace_bytes_}, accesses);
  }

 private:
  const ConvolutionProblem problem_;
  const LibraryRecipe recipe_;
  const size_t workspace_bytes_;
};

class SimulatedConvolutions : public ConvolutionLibrary {
 public:
  SimulatedConvolutions(const GpuProperties& properties, const GpuMathSettings& settings)
      : settings_(settings), identity_(absl::StrCat(properties.name, ", simulated convolutions 1")) {}

  const std::string& identity() const override { return identity_; }
  std::vector<bool> Layouts(const ConvolutionProblem& problem) const override {
    return {problem.channels_first, !problem.channels_first};
  }
  absl::StatusOr<std::vector<LibraryRecipe>> Propose(const ConvolutionProblem& problem) override {
    std::vector<LibraryRecipe> recipes;
    if (!Check(problem).ok()) return recipes;
    for (int64_t engine = 0; engine < 2; ++engine) {
      if (LibraryRecipe recipe{.engine = engine}; CheckRecipe(problem, recipe).ok()) recipes.push_back(recipe);
    }
    return recipes;
  }
  absl::StatusOr<std::shared_ptr<ConvolutionPlan>> Make(const ConvolutionProblem& problem,
                                                        const LibraryRecipe& recipe) override {
    RETURN_IF_ERROR(Check(problem));
    RETURN_IF_ERROR(CheckRecipe(problem, recipe));
    return std::make_shared<SimulatedPlan>(problem, recipe, WorkspaceOf(problem, recipe));
  }

 private:
  static absl::Status Check(const ConvolutionProblem& problem) {
    if (problem.dtype != DT_FLOAT && problem.dtype != DT_HALF && problem.dtype != DT_BFLOAT16) {
      return errors::Unimplemented("no simulated convolutions of ", DataTypeName(problem.dtype));
    }
    if (problem.groups > 1 && !problem.channels_first) return errors::Unimplemented("no simulated groups in NHWC");
    return absl::OkStatus();
  }
  static size_t WorkspaceOf(const ConvolutionProblem& problem, const LibraryRecipe& recipe) {
    return recipe.engine == 0 ? 0 : static_cast<size_t>(problem.ResultElements()) * sizeof(float);
  }
  absl::Status CheckRecipe(const ConvolutionProblem& problem, const LibraryRecipe& recipe) const {
    if (recipe.engine < 0 || recipe.engine > 1 || !recipe.knobs.empty()) {
      return errors::Unimplemented("no simulated convolution by recipe ", recipe.ToString());
    }
    if (recipe.engine == 1 && settings_.deterministic) return errors::Unimplemented("engine 1 is not deterministic");
    if (WorkspaceOf(problem, recipe) > settings_.workspace_limit) {
      return errors::Unimplemented("engine 1 wants more workspace than ", settings_.workspace_limit, " bytes");
    }
    return absl::OkStatus();
  }

  const GpuMathSettings settings_;
  const std::string identity_;
};

}  // namespace

std::shared_ptr<ConvolutionLibrary> NewSimulatedConvolutions(const GpuProperties& properties,
                                                             const GpuMathSettings& settings) {
  return std::make_shared<SimulatedConvolutions>(properties, settings);
}

}  // namespace weir
