#include "tests/recovery/counting_model.h"

#include "client/initializers.h"
#include "client/ops.h"
#include "core/testing.h"

namespace weir {
namespace {

constexpr int kSize = 4;
const char* const kNames[] = {"one", "other"};

}  // namespace

Output CountingLoss(const ReplicaContext& replica, const OutputList& inputs) {
  const Scope& scope = replica.scope();
  Output loss = ops::Mean(scope, inputs[2], Tensor::Vector<int32_t>({0, 1}));
  for (const char* const name : kNames) {
    const auto count =
        ResourceVariable::Make(scope.WithName(name), TensorShape({kSize}), DT_FLOAT, initializers::Zeros());
    loss = ops::AddV2(scope, loss, ops::Sum(scope, count.value(), Tensor::Vector<int32_t>({0})));
  }
  return loss;
}

void ExpectCounts(const std::map<std::string, Tensor>& variables, int64_t updates) {
  const std::vector<float> expected(kSize, -static_cast<float>(updates));
  for (const char* const name : kNames) ExpectTensorEqual(variables.at(name), AsTensor<float>(expected), name);
}

}  // namespace weir
