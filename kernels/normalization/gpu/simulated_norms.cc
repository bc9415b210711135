// A library of batch normalisation for the simulated device.
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/tensor/numeric_types.h"
#include "kernels/normalization/gpu/norm_library.h"

namespace weir {
namespace {

struct Args {
  NormProblem problem;
  NormBuffers buffers;
  void* workspace;
  size_t workspace_bytes;
};

template <typename T>
class Loops {
 public:
  explicit Loops(const Args& args) : p_(args.problem), b_(args.buffers) {}

  void Run() const {
    for (int64_t c = 0; c < p_.channels; ++c) {
      if (p_.direction == NormDirection::kForward) {
        Forward(c);
      } else {
        Backward(c);
      }
    }
  }

 private:
  float X(int64_t i) const { return static_cast<float>(static_cast<const T*>(b_.x)[i]); }
  // Element j of channel c.
  int64_t At(int64_t c, int64_t j) const {
    const int64_t plane = p_.rows * p_.columns;
    return p_.channels_first ? (j / plane * p_.channels + c) * plane + j % plane : j * p_.channels + c;
  }

  void Forward(int64_t c) const {
    const int64_t n = p_.PerChannel();
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < n; ++j) sum += X(At(c, j));
    const float mean = static_cast<float>(sum / static_cast<double>(n));
    for (int64_t j = 0; j < n; ++j) {
      const float distance = X(At(c, j)) - mean;
      squares += distance * distance;
    }
    const auto mix = [this](float old, double now) {
      return (1 - b_.average_factor) * old + b_.average_factor * static_cast<float>(now);
    };
    const float inverse = 1 / std::sqrt(static_cast<float>(squares / static_cast<double>(n)) + b_.epsilon);
    b_.mean[c] = mean;
    b_.inverse_deviation[c] = inverse;
    b_.running_mean[c] = mix(b_.zeros[c], mean);
    b_.running_variance[c] = mix(b_.zeros[c], squares / static_cast<double>(n - 1));
    for (int64_t j = 0; j < n; ++j) {
      const int64_t i = At(c, j);
      float y = (X(i) - mean) * inverse * b_.scale[c] + b_.offset[c];
      if (p_.has_side) y += static_cast<float>(static_cast<const T*>(b_.side)[i]);
      if (p_.has_relu && y < 0) y = 0;
      static_cast<T*>(b_.result)[i] = static_cast<T>(y);
    }
  }

  void Backward(int64_t c) const {
    const int64_t n = p_.PerChannel();
    const auto dy = [this](int64_t i) { return static_cast<float>(static_cast<const T*>(b_.dy)[i]); };
    const float mean = b_.mean[c], inverse = b_.inverse_deviation[c];
    double sum = 0, product = 0;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t i = At(c, j);
      sum += dy(i);
      product += dy(i) * (X(i) - mean) * inverse;
    }
    b_.dscale[c] = static_cast<float>(product);
    b_.doffset[c] = static_cast<float>(sum);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t i = At(c, j);
      const double normal = (X(i) - mean) * inverse;
      const double dx = dy(i) - (sum + normal * product) / static_cast<double>(n);
      static_cast<T*>(b_.result)[i] = static_cast<T>(static_cast<float>(dx) * inverse * b_.scale[c]);
    }
  }

  const NormProblem& p_;
  const NormBuffers& b_;
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

class SimulatedPlan : public NormPlan {
 public:
  SimulatedPlan(const NormProblem& problem, LibraryRecipe recipe, size_t workspace_bytes)
      : problem_(problem), recipe_(std::move(recipe)), workspace_bytes_(workspace_bytes) {}
  const NormProblem& problem() const override { return problem_; }
  const LibraryRecipe& recipe() const override { return recipe_; }
  size_t workspace_bytes() const override { return workspace_bytes_; }
  absl::Status Enqueue(GpuStream& stream, const NormBuffers& b, void* workspace) override {
    static const GpuKernel kKernel = {.name = "simulated batch normalisation", .simulate = &Simulate};
    const size_t image = static_cast<size_t>(problem_.Elements()) * DataTypeSize(problem_.dtype);
    const size_t vector = static_cast<size_t>(problem_.channels) * sizeof(float);
    std::vector<GpuAccess> accesses = {GpuAccess::Read(b.x, image), GpuAccess::Write(b.result, image),
                                       GpuAccess::Read(b.scale, vector)};
    if (problem_.direction == NormDirection::kForward) {
      for (const float* read : {b.offset, b.zeros}) accesses.push_back(GpuAccess::Read(read, vector));
      for (float* made : {b.mean, b.inverse_deviation, b.running_mean, b.running_variance}) {
        accesses.push_back(GpuAccess::Write(made, vector));
      }
      if (problem_.has_side) accesses.push_back(GpuAccess::Read(b.side, image));
    } else {
      accesses.push_back(GpuAccess::Read(b.dy, image));
      for (const float* read : {b.mean, b.inverse_deviation}) accesses.push_back(GpuAccess::Read(read, vector));
      for (float* made : {b.dscale, b.doffset}) accesses.push_back(GpuAccess::Write(made, vector));
    }
    if (workspace_bytes_ > 0) accesses.push_back(GpuAccess::Write(workspace, workspace_bytes_));
    return stream.LaunchWith(kKernel, Args{problem_, b, workspace, workspace_bytes_}, accesses);
  }

 private:
  const NormProblem problem_;
  const LibraryRecipe recipe_;
  const size_t workspace_bytes_;
};

class SimulatedNorms : public NormLibrary {
 public:
  SimulatedNorms(const GpuProperties& properties, const GpuMathSettings& settings)
      : settings_(settings), identity_(absl::StrCat(properties.name, ", simulated batch normalisation 1")) {}
  const std::string& identity() const override { return identity_; }
  absl::StatusOr<std::vector<LibraryRecipe>> Propose(const NormProblem& problem) override {
    if (problem.dtype == DT_BFLOAT16 && problem.channels_first) return std::vector<LibraryRecipe>();
    return std::vector<LibraryRecipe>{{.engine = 0}, {.engine = 1}};
  }
  absl::StatusOr<std::shared_ptr<NormPlan>> Make(const NormProblem& problem, const LibraryRecipe& recipe) override {
    if (problem.dtype == DT_BFLOAT16 && problem.channels_first) {
      return errors::Unimplemented("no simulated batch normalisation of bfloat16 in NCHW");
    }
    const size_t workspace = recipe.engine == 0 ? 0 : static_cast<size_t>(problem.channels) * sizeof(float);
    if (recipe.engine < 0 || recipe.engine > 1 || workspace > settings_.workspace_limit) {
      return errors::Unimplemented("no simulated batch normalisation by recipe ", recipe.ToString());
    }
    return std::make_shared<SimulatedPlan>(problem, recipe, workspace);
  }

 private:
  const GpuMathSettings settings_;
  const std::string identity_;
};

}  // namespace

std::shared_ptr<NormLibrary> NewSimulatedNorms(const GpuProperties& properties, const GpuMathSettings& settings) {
  return std::make_shared<SimulatedNorms>(properties, settings);
}

}  // namespace weir
