#include "client/data/dealt_dataset.h"

#include <algorithm>

#include "client/initializers.h"
#include "client/ops.h"

namespace weir {
namespace {

constexpr int64_t kColumns = 4;  // of the progress: kernels/dealing/input_dealer.h

// Nothing of the first epoch is used.
Tensor InitialProgress(const std::vector<int64_t>& chunk_sizes, const DealOptions& options) {
  Tensor table(DT_INT64, TensorShape({static_cast<int64_t>(chunk_sizes.size()) + 1, kColumns}));
  int64_t* row = table.data<int64_t>();
  std::fill(row, row + kColumns, 0);
  const int64_t batch = std::max<int64_t>(options.batch_size, 1);
  for (const int64_t size : chunk_sizes) {
    row += kColumns;
    row[0] = 0;
    row[1] = row[2] = row[3] = options.drop_remainder ? size - size % batch : size;
  }
  return table;
}

}  // namespace

std::vector<int64_t> EvenChunks(int64_t examples, int64_t size) {
  std::vector<int64_t> sizes;
  for (int64_t begin = 0; size > 0 && begin < examples; begin += size)
    sizes.push_back(std::min(size, examples - begin));
  return sizes;
}

DealtDataset::DealtDataset(const Scope& scope, const std::string& name, const std::vector<int64_t>& chunk_sizes,
                           const DealOptions& options)
    : options_(options), scope_(scope.SubScope(name).WithNoControlDependencies().WithVariablePolicy(nullptr)) {
  name_ = scope_.name();
  dealer_ = ops::InputDealer(scope_.WithName("dealer"), chunk_sizes, options.batch_size,
                             {.drop_remainder = options.drop_remainder,
                              .epochs = options.epochs,
                              .shuffle = options.shuffle,
                              .seed = options.seed,
                              .lease_ms = absl::ToInt64Milliseconds(options.lease),
                              .straggler_factor = static_cast<float>(options.straggler_factor),
                              .shared_name = name_});
  Tensor initial = InitialProgress(chunk_sizes, options);
  const TensorShape shape = initial.shape();
  progress_ = ResourceVariable::Make(scope_.WithName("progress"), shape, DT_INT64,
                                     initializers::Value(std::move(initial)), {.trainable = false});
}

DealtInput DealtDataset::ForWorker(const Scope& scope, const Input& worker, const ChunkFunction& chunk) const {
  DealtInput input;
  if (!progress_.valid() || !scope.ok()) return input;
  input.dealer_scope_ = scope_;
  input.dealer_ = dealer_;
  input.progress_ = progress_.handle();
  input.range_ = ops::InputDealerTake(scope_.WithName("take"), dealer_, input.progress_, worker);
  const Scope inner = scope.SubScope(name_).WithNoControlDependencies();
  TensorSpecs element;
  const TensorSpecs arguments = {{DT_INT64, DT_INT64, DT_INT64, DT_INT64},
                                 {TensorShape(), TensorShape(), TensorShape(), TensorShape()}};
  const absl::StatusOr<BuiltFunction> function =
      BuildFunction(inner, "chunk", arguments, [&](const Scope& s, const OutputList& range) {
        const Dataset whole = chunk(s, range[0], range[1]);
        if (!whole.valid()) {
          s.UpdateStatus(errors::InvalidArgument("The function of ", name_, " returns no dataset"));
          return OutputList();
        }
        const TensorSpecs& example = whole.element();
        const Output rest = ops::SkipDataset(s, whole.variant(), range[2], example.types, example.shapes);
        const Output part = ops::TakeDataset(s, rest, ops::Sub(s, range[3], range[2]), example.types, example.shapes);
        // Without a remainder parts are whole batches.
        const Dataset batches = Dataset::FromVariant(s, part, example)
                                    .Batch(options_.batch_size, {.drop_remainder = options_.drop_remainder})
                                    .Prefetch();
        element = batches.element();
        return OutputList{batches.variant()};
      });
  if (!function.ok()) {
    scope.UpdateStatus(function.status());
    return input;
  }
  const Output iterator = ops::DealtIterator(inner.WithName("iterator"), element.types, element.shapes);
  input.next_ = ops::DealtIteratorGetNext(inner.WithName("next"), iterator, input.range_, function->captured,
                                          function->function, element.types, element.shapes);
  return input;
}

Operation DealtInput::Advance(const Scope& scope, const std::vector<Operation>& after) const {
  if (!range_.valid() || next_.empty()) {
    scope.UpdateStatus(errors::InvalidArgument("Advance of an input that DealtDataset::ForWorker did not make"));
    return {};
  }
  std::vector<Operation> before = after;
  before.push_back(next_[0].op());
  const Output claim = ops::InputDealerClaim(dealer_scope_.WithName("claim").WithControlDependencies(before), dealer_,
                                             progress_, range_);
  return ops::InputDealerAdvance(dealer_scope_.WithName("advance"), dealer_, progress_, claim);
}

}  // namespace weir
