#include "client/data/batch_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/data/dataset.h"
#include "client/data/element_specs.h"
#include "client/ops.h"

namespace weir {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 56;

// The batch size of each stage and, for each but the last, the number of elements up to its end.
struct Stages {
  std::vector<int64_t> sizes, ends;
};

absl::StatusOr<Stages> Measure(const BatchSchedule& schedule) {
  if (schedule.empty()) return errors::InvalidArgument("A batch schedule has no stage");
  Stages stages;
  int64_t end = 0;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const auto& [batches, size] = schedule[i];
    const bool last = i + 1 == schedule.size();
    if (size < 1 || (!last && (batches < 1 || batches > (kMaxElements - end) / size))) {
      return errors::InvalidArgument("Stage ", i, " of a batch schedule has ", batches, " batches of ", size);
    }
    stages.sizes.push_back(size);
    if (last) break;
    end += batches * size;
    stages.ends.push_back(end);
  }
  return stages;
}

Output StageOf(const Scope& scope, const Output& number, const std::vector<int64_t>& ends) {
  const Output passed = ops::GreaterEqual(scope, number, Tensor::Vector<int64_t>(ends));
  return ops::Sum(scope, ops::Cast(scope, passed, DT_INT64), Tensor::Scalar<int32_t>(0));
}

Output SizeOf(const Scope& scope, const Output& stage, const std::vector<int64_t>& sizes) {
  return ops::GatherV2(scope, Tensor::Vector<int64_t>(sizes), stage, Tensor::Scalar<int32_t>(0));
}

// Numbers the elements to determine their stage. Stages follow each other, so grouping the elements by stage, in
// windows of the stage's batch size, keeps their order.
absl::StatusOr<Dataset> BatchByStages(const Dataset& input, const Stages& stages) {
  const Scope& scope = input.scope();
  const Dataset numbered = Dataset::Zip({Dataset::Range(scope, std::numeric_limits<int64_t>::max()), input});
  RETURN_IF_ERROR(scope.status());
  const TensorSpecs stage_spec{{DT_INT64}, {TensorShape()}};
  const TensorSpecs batched = Batched(input.element(), -1);
  ASSIGN_OR_RETURN(const BuiltFunction key,
                   BuildFunction(scope, "stage", numbered.element(), [&](const Scope& s, const OutputList& element) {
                     return OutputList{StageOf(s, element[0], stages.ends)};
                   }));
  ASSIGN_OR_RETURN(const BuiltFunction window,
                   BuildFunction(scope, "window", stage_spec, [&](const Scope& s, const OutputList& stage) {
                     return OutputList{SizeOf(s, stage[0], stages.sizes)};
                   }));
  const TensorSpecs group{{DT_INT64, DT_VARIANT}, {TensorShape(), TensorShape()}};
  ASSIGN_OR_RETURN(
      const BuiltFunction reduce, BuildFunction(scope, "batch", group, [&](const Scope& s, const OutputList& args) {
        const Dataset elements =
            Dataset::FromVariant(s, args[1], numbered.element()).Map([](const Scope&, const OutputList& element) {
              return OutputList(element.begin() + 1, element.end());
            });
        return OutputList{ops::BatchDatasetV2(s, elements.variant(), SizeOf(s, args[0], stages.sizes),
                                              Tensor::Scalar<bool>(false), batched.types, batched.shapes)};
      }));
  const Output variant =
      ops::GroupByWindowDataset(scope, numbered.variant(), key.captured, reduce.captured, window.captured, key.function,
                                reduce.function, window.function, batched.types, batched.shapes);
  RETURN_IF_ERROR(scope.status());
  return Dataset::FromVariant(scope, variant, batched);
}

}  // namespace

BatchSchedule GrowingBatches(int64_t size, double factor, int64_t batches, int64_t largest) {
  BatchSchedule schedule;
  while (size >= 1 && size < largest && factor > 1 && batches > 0) {
    schedule.push_back({batches, size});
    const double next = std::ceil(static_cast<double>(size) * factor);
    size = next < static_cast<double>(largest) ? static_cast<int64_t>(next) : largest;
  }
  schedule.push_back({0, std::min(size, largest)});
  return schedule;
}

Dataset Dataset::Batch(const BatchSchedule& schedule) const {
  if (!usable()) return *this;
  absl::StatusOr<Stages> stages = Measure(schedule);
  absl::StatusOr<Dataset> batched = stages.ok() ? BatchByStages(*this, *stages) : stages.status();
  if (batched.ok()) return *std::move(batched);
  scope_->UpdateStatus(batched.status());
  return With(Output());
}

}  // namespace weir
