// A library of attention for the simulated device.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/tensor/numeric_types.h"
#include "kernels/attention/gpu/attention_library.h"

namespace weir {
namespace {

constexpr size_t kWorkspace = 64;  // to see that it is there

struct Args {
  AttentionProblem problem;
  AttentionBuffers buffers;
  void* workspace;
};

template <typename T>
void Run(const Args& args) {
  const AttentionProblem& p = args.problem;
  const auto at = [](const void* data, int64_t i) { return static_cast<float>(static_cast<const T*>(data)[i]); };
  const int64_t mask_query = p.mask_varies[2] ? p.keys : 0;
  const int64_t mask_head = p.mask_varies[1] ? p.MaskSize(2) * p.keys : 0;
  const int64_t mask_batch = p.mask_varies[0] ? p.MaskSize(1) * p.MaskSize(2) * p.keys : 0;
  std::vector<float> weights(static_cast<size_t>(p.keys));
  for (int64_t row = 0; row < p.Rows(); ++row) {
    const int64_t query = row % p.queries, head = row / p.queries % p.heads, batch = row / p.queries / p.heads;
    const int64_t q = batch * p.q[0] + head * p.q[1] + query * p.depth, k = batch * p.k[0] + head * p.k[1];
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t key = 0; key < p.keys; ++key) {
      float score = 0;
      for (int64_t d = 0; d < p.depth; ++d)
        score += at(args.buffers.q, q + d) * at(args.buffers.k, k + key * p.depth + d);
      score *= args.buffers.scale;
      if (p.has_mask) {
        score += at(args.buffers.mask, batch * mask_batch + head * mask_head + query * mask_query + key);
      }
      weights[static_cast<size_t>(key)] = score;
      if (score > largest) largest = score;
    }
    for (float& weight : weights) sum += weight = std::exp(weight - largest);
    static_cast<float*>(args.buffers.row_statistics)[row] = largest + std::log(sum);
    for (int64_t column = 0; column < p.columns; ++column) {
      float mixed = 0;
      for (int64_t key = 0; key < p.keys; ++key) {
        mixed += weights[static_cast<size_t>(key)] / sum *
                 at(args.buffers.v, batch * p.v[0] + head * p.v[1] + key * p.columns + column);
      }
      static_cast<T*>(args.buffers.out)[row * p.columns + column] = static_cast<T>(mixed);
    }
  }
}

template <typename T>
void RunGradient(const Args& args) {
  const AttentionProblem& p = args.problem;
  const AttentionBuffers& b = args.buffers;
  const auto at = [](const void* data, int64_t i) { return static_cast<float>(static_cast<const T*>(data)[i]); };
  const int64_t mask_query = p.mask_varies[2] ? p.keys : 0;
  const int64_t mask_head = p.mask_varies[1] ? p.MaskSize(2) * p.keys : 0;
  const int64_t mask_batch = p.mask_varies[0] ? p.MaskSize(1) * p.MaskSize(2) * p.keys : 0;
  for (int64_t item = 0; item < p.batch * p.heads; ++item) {
    const int64_t head = item % p.heads, batch = item / p.heads;
    const int64_t q0 = batch * p.q[0] + head * p.q[1], k0 = batch * p.k[0] + head * p.k[1],
                  v0 = batch * p.v[0] + head * p.v[1];
    std::vector<float> dq(static_cast<size_t>(p.queries * p.depth)), dk(static_cast<size_t>(p.keys * p.depth)),
        dv(static_cast<size_t>(p.keys * p.columns));
    for (int64_t query = 0; query < p.queries; ++query) {
      const int64_t row = item * p.queries + query;
      float dot = 0;
      for (int64_t c = 0; c < p.columns; ++c)
        dot += at(b.out, row * p.columns + c) * at(b.gradient, row * p.columns + c);
      for (int64_t key = 0; key < p.keys; ++key) {
        float score = 0, of_weight = 0;
        for (int64_t d = 0; d < p.depth; ++d)
          score += at(b.q, q0 + query * p.depth + d) * at(b.k, k0 + key * p.depth + d);
        score *= args.buffers.scale;
        if (p.has_mask) score += at(b.mask, batch * mask_batch + head * mask_head + query * mask_query + key);
        const float weight = std::exp(score - static_cast<const float*>(b.row_statistics)[row]);
        for (int64_t c = 0; c < p.columns; ++c) {
          const float gradient = at(b.gradient, row * p.columns + c);
          of_weight += gradient * at(b.v, v0 + key * p.columns + c);
          dv[static_cast<size_t>(key * p.columns + c)] += weight * gradient;
        }
        const float of_score = weight * (of_weight - dot) * args.buffers.scale;
        for (int64_t d = 0; d < p.depth; ++d) {
          dq[static_cast<size_t>(query * p.depth + d)] += of_score * at(b.k, k0 + key * p.depth + d);
          dk[static_cast<size_t>(key * p.depth + d)] += of_score * at(b.q, q0 + query * p.depth + d);
        }
      }
    }
    const auto give = [&](const std::vector<float>& from, void* to) {
      const int64_t size = static_cast<int64_t>(from.size());
      std::transform(from.begin(), from.end(), static_cast<T*>(to) + item * size,
                     [](float x) { return static_cast<T>(x); });
    };
    give(dq, b.dq);
    give(dk, b.dk);
    give(dv, b.dv);
  }
}

void Simulate(const void* raw) {
  const Args& args = *static_cast<const Args*>(raw);
  std::memset(args.workspace, 0xa5, kWorkspace);
  if (args.problem.is_gradient) {
    return args.problem.dtype == DT_HALF ? RunGradient<half>(args) : RunGradient<bfloat16>(args);
  }
  if (args.problem.dtype == DT_HALF) return Run<half>(args);
  Run<bfloat16>(args);
}

// From the first to the last element of batches and heads, of matrices of `matrix` elements.
size_t BytesOf(const AttentionProblem& p, const int64_t (&steps)[2], int64_t matrix) {
  return static_cast<size_t>((p.batch - 1) * steps[0] + (p.heads - 1) * steps[1] + matrix) * DataTypeSize(p.dtype);
}

class SimulatedPlan : public AttentionPlan {
 public:
  explicit SimulatedPlan(const AttentionProblem& problem) : problem_(problem) {}
  const AttentionProblem& problem() const override { return problem_; }
  const LibraryRecipe& recipe() const override { return recipe_; }
  size_t workspace_bytes() const override { return kWorkspace; }
  absl::Status Enqueue(GpuStream& stream, const AttentionBuffers& buffers, void* workspace) override {
    static const GpuKernel kKernel = {.name = "simulated attention", .simulate = &Simulate};
    const AttentionProblem& p = problem_;
    const size_t size = DataTypeSize(p.dtype);
    std::vector<GpuAccess> accesses = {GpuAccess::Read(buffers.q, BytesOf(p, p.q, p.queries * p.depth)),
                                       GpuAccess::Read(buffers.k, BytesOf(p, p.k, p.keys * p.depth)),
                                       GpuAccess::Read(buffers.v, BytesOf(p, p.v, p.keys * p.columns)),
                                       GpuAccess::Write(workspace, kWorkspace)};
    const size_t out_bytes = static_cast<size_t>(p.OutElements()) * size;
    const size_t row_bytes = static_cast<size_t>(p.Rows()) * sizeof(float);
    if (p.is_gradient) {
      const size_t items = static_cast<size_t>(p.batch * p.heads) * size;
      accesses.insert(accesses.end(),
                      {GpuAccess::Read(buffers.out, out_bytes), GpuAccess::Read(buffers.gradient, out_bytes),
                       GpuAccess::Read(buffers.row_statistics, row_bytes),
                       GpuAccess::Write(buffers.dq, items * static_cast<size_t>(p.queries * p.depth)),
                       GpuAccess::Write(buffers.dk, items * static_cast<size_t>(p.keys * p.depth)),
                       GpuAccess::Write(buffers.dv, items * static_cast<size_t>(p.keys * p.columns)),
                       GpuAccess::Write(buffers.dots, row_bytes),
                       GpuAccess::Write(buffers.queries_sum, row_bytes * static_cast<size_t>(p.depth))});
    } else {
      accesses.push_back(GpuAccess::Write(buffers.out, out_bytes));
      accesses.push_back(GpuAccess::Write(buffers.row_statistics, row_bytes));
    }
    if (p.has_mask) {
      accesses.push_back(GpuAccess::Read(
          buffers.mask, static_cast<size_t>(p.MaskSize(0) * p.MaskSize(1) * p.MaskSize(2) * p.keys) * size));
    }
    return stream.LaunchWith(kKernel, Args{p, buffers, workspace}, accesses);
  }

 private:
  const AttentionProblem problem_;
  const LibraryRecipe recipe_;
};

class SimulatedAttention : public AttentionLibrary {
 public:
  explicit SimulatedAttention(const GpuProperties& properties)
      : identity_(absl::StrCat(properties.name, ", simulated attention 1")) {}
  const std::string& identity() const override { return identity_; }
  absl::StatusOr<std::vector<LibraryRecipe>> Propose(const AttentionProblem&) override {
    return std::vector<LibraryRecipe>{{}};
  }
  absl::StatusOr<std::shared_ptr<AttentionPlan>> Make(const AttentionProblem& problem, const LibraryRecipe&) override {
    if (problem.depth % 8 != 0 || problem.columns % 8 != 0) {
      return errors::Unimplemented("no simulated attention of depths and columns that are no multiples of 8");
    }
    return std::make_shared<SimulatedPlan>(problem);
  }

 private:
  const std::string identity_;
};

}  // namespace

std::shared_ptr<AttentionLibrary> NewSimulatedAttention(const GpuProperties& properties) {
  return std::make_shared<SimulatedAttention>(properties);
}

}  // namespace weir
