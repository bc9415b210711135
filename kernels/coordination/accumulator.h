// The objects behind the conditional accumulators: gradients of several workers, added up until somebody takes their
// sum or mean.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/device/request_line.h"

namespace weir {

// Thread-safe. Nothing blocks: taking waits asynchronously. Takers are served in their order.
class ConditionalAccumulator : public Resource, public std::enable_shared_from_this<ConditionalAccumulator> {
 public:
  struct Options {
    std::string name;
    DataType dtype = DT_INVALID;
    PartialTensorShape shape;
    bool mean = true;  // else the sum
    bool sparse = false;
    // Keeps the gradients until they are taken and adds them in an order that depends on their values only, not on
    // which came first.
    bool deterministic = false;
  };
  // Dense: `values` alone. Sparse: values[i] belongs to row rows[i] of a tensor of `shape`, if that is known.
  struct Gradient {
    std::vector<int64_t> rows;
    Tensor values;
    std::vector<int64_t> shape;
    bool has_shape = false;
  };
  using TakeCallback = std::function<void(absl::StatusOr<Gradient>)>;

  static absl::StatusOr<std::shared_ptr<ConditionalAccumulator>> Create(Options options);
  explicit ConditionalAccumulator(Options options)
      : options_(std::move(options)), line_(std::make_shared<RequestLine>(RequestLine::Discipline::kStrict)) {}

  const Options& options() const { return options_; }
  std::string DebugString() const override;

  // Drops a gradient that was computed from an older step than the current one.
  absl::Status Apply(OpKernelContext& ctx, int64_t local_step, Gradient gradient);
  // Done when at least `required` gradients have come; starts anew then, a step further.
  void Take(OpKernelContext& ctx, int64_t required, TakeCallback done);
  void SetGlobalStep(int64_t step);
  int64_t count() const;

 protected:
  // InvalidArgument where a gradient does not fit the accumulator or what is in it.
  virtual absl::Status Check(const Gradient& gradient) const = 0;
  // Adds to what is there; count() is at least 1.
  virtual absl::Status Add(OpKernelContext& ctx, Gradient gradient) = 0;
  // Becomes what is there.
  virtual void Start(Gradient gradient) { sum_ = std::move(gradient); }
  virtual absl::Status Divide(OpKernelContext& ctx) = 0;
  // What a taker gets.
  virtual void Complete() {}

  const Options options_;
  // Guarded by the line's mutex, which is held when the functions above are called.
  Gradient sum_;
  int64_t count_ = 0;

 private:
  // With the line's mutex held, as above.
  // Adds a gradient, or starts with it.
  absl::Status AddOrStart(OpKernelContext& ctx, Gradient gradient);
  // Adds up the gradients that were kept.
  absl::Status AddKept(OpKernelContext& ctx);

  std::vector<Gradient> kept_;  // if deterministic; sum_ is then the first of them until all are added
  int64_t global_step_ = 0;
  const std::shared_ptr<RequestLine> line_;
};

std::shared_ptr<ConditionalAccumulator> NewDenseAccumulator(ConditionalAccumulator::Options options);
std::shared_ptr<ConditionalAccumulator> NewSparseAccumulator(ConditionalAccumulator::Options options);

// Divides n elements of `dtype` by `divisor`; the caller's alone.
void DivideElements(DataType dtype, void* values, int64_t n, int64_t divisor);

}  // namespace weir
