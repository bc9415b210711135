#include "kernels/coordination/accumulator.h"

#include <algorithm>
#include <cstring>

#include "core/tensor/numeric_types.h"
#include "kernels/state/update_loops.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// A total order, but for equal gradients, of those that fit one accumulator.
bool ComesBefore(const ConditionalAccumulator::Gradient& a, const ConditionalAccumulator::Gradient& b) {
  if (a.rows != b.rows) return a.rows < b.rows;
  return std::memcmp(a.values.raw_data(), b.values.raw_data(), a.values.TotalBytes()) < 0;
}

}  // namespace

void DivideElements(DataType dtype, void* values, int64_t n, int64_t divisor) {
  const auto divide = [&](auto typed_divisor) { FindUpdateLoop(UpdateOp::kDiv, dtype)(values, &typed_divisor, 0, n); };
  switch (dtype) {
    case DT_FLOAT:
      return divide(static_cast<float>(divisor));
    case DT_DOUBLE:
      return divide(static_cast<double>(divisor));
    case DT_HALF:
      return divide(static_cast<half>(static_cast<float>(divisor)));
    case DT_BFLOAT16:
      return divide(static_cast<bfloat16>(static_cast<float>(divisor)));
    default:
      return;  // accumulators have no other types
  }
}

absl::StatusOr<std::shared_ptr<ConditionalAccumulator>> ConditionalAccumulator::Create(Options options) {
  return options.sparse ? NewSparseAccumulator(std::move(options)) : NewDenseAccumulator(std::move(options));
}

std::string ConditionalAccumulator::DebugString() const {
  return absl::StrCat("Accumulator '", options_.name, "' of ", DataTypeName(options_.dtype), " ",
                      options_.shape.ToString(), ", ", count(), " gradients");
}

absl::Status ConditionalAccumulator::Apply(OpKernelContext& ctx, int64_t local_step, Gradient gradient) {
  {
    MutexLock lock(line_->mutex());
    if (local_step < global_step_) return absl::OkStatus();
    RETURN_IF_ERROR(Check(gradient));
    if (options_.deterministic) {
      kept_.push_back(gradient);
      if (count_ == 0) Start(std::move(gradient));
    } else {
      RETURN_IF_ERROR(AddOrStart(ctx, std::move(gradient)));
    }
    ++count_;
  }
  line_->Advance();
  return absl::OkStatus();
}

void ConditionalAccumulator::Take(OpKernelContext& ctx, int64_t required, TakeCallback done) {
  auto taken = std::make_shared<Gradient>();
  const auto attempt = [self = shared_from_this(), &ctx, required, taken](absl::Status* status) {
    if (self->count_ < required) return false;
    ++self->global_step_;
    *status = self->AddKept(ctx);
    if (status->ok() && self->options_.mean) *status = self->Divide(ctx);
    if (!status->ok()) return true;
    self->Complete();
    *taken = std::exchange(self->sum_, Gradient());
    self->count_ = 0;
    return true;
  };
  line_->Submit(ctx.cancellation(), "TakeGrad operation", attempt,
                [taken, done = std::move(done)](absl::Status status) {
                  if (!status.ok()) return done(std::move(status));
                  done(std::move(*taken));
                });
}

absl::Status ConditionalAccumulator::AddOrStart(OpKernelContext& ctx, Gradient gradient) {
  if (count_ > 0) return Add(ctx, std::move(gradient));
  Start(std::move(gradient));
  return absl::OkStatus();
}

absl::Status ConditionalAccumulator::AddKept(OpKernelContext& ctx) {
  if (!options_.deterministic) return absl::OkStatus();
  std::vector<Gradient> kept = std::exchange(kept_, {});
  std::sort(kept.begin(), kept.end(), ComesBefore);
  sum_ = Gradient();
  count_ = 0;
  for (Gradient& gradient : kept) {
    RETURN_IF_ERROR(AddOrStart(ctx, std::move(gradient)));
    ++count_;
  }
  return absl::OkStatus();
}

void ConditionalAccumulator::SetGlobalStep(int64_t step) {
  MutexLock lock(line_->mutex());
  global_step_ = step;
}

int64_t ConditionalAccumulator::count() const {
  MutexLock lock(line_->mutex());
  return count_;
}

namespace {

class DenseAccumulator : public ConditionalAccumulator {
 public:
  using ConditionalAccumulator::ConditionalAccumulator;

 protected:
  absl::Status Check(const Gradient& gradient) const override {
    const TensorShape& shape = gradient.values.shape();
    if (count_ > 0 && sum_.values.shape() != shape) return Mismatch(sum_.values.shape(), shape);
    return options_.shape.IsCompatibleWith(shape) ? absl::OkStatus() : Mismatch(options_.shape, shape);
  }

  absl::Status Add(OpKernelContext& ctx, Gradient gradient) override {
    RETURN_IF_ERROR(EnsureExclusive(sum_.values, ctx.allocator()));
    const UpdateLoop add = FindUpdateLoop(UpdateOp::kAdd, options_.dtype);
    add(sum_.values.raw_data(), gradient.values.raw_data(), 1, gradient.values.NumElements());
    return absl::OkStatus();
  }

  absl::Status Divide(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(EnsureExclusive(sum_.values, ctx.allocator()));
    DivideElements(options_.dtype, sum_.values.raw_data(), sum_.values.NumElements(), count_);
    return absl::OkStatus();
  }

 private:
  static absl::Status Mismatch(const PartialTensorShape& expected, const TensorShape& got) {
    return errors::InvalidArgument("Shape mismatch: expected ", expected.ToString(), ", got ", got.ToString());
  }
};

}  // namespace

std::shared_ptr<ConditionalAccumulator> NewDenseAccumulator(ConditionalAccumulator::Options options) {
  return std::make_shared<DenseAccumulator>(std::move(options));
}

}  // namespace weir
