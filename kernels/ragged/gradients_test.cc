#include "tests/gradients/family_cases.h"
#include "tests/gradients/two_argument_test.h"

namespace weir {

std::vector<OpCase> RaggedGradientCases() {
  const std::vector<std::string> splits = {"ROW_SPLITS"};
  return {
      {"RaggedFillEmptyRows", {Longs({0, 2, 2}), X({3}), C(AsScalar<int64_t>(4)), X({})}},
      Twice({"RaggedTensorToSparse", {List({Longs({0, 2, 2, 3})}), X({3, 2})}}),
      Twice({"RaggedTensorToTensor",
             {C(AsScalar<int64_t>(-1)), X({3, 2}), X({}), List({Longs({0, 2, 2, 3})})},
             Attrs().Set("row_partition_types", splits)}),
      {"RaggedTensorToTensor",
       {Longs({2, 1, 2}), X({3, 2}), X({2}), List({Longs({0, 2, 2, 3})})},
       Attrs().Set("row_partition_types", splits)},
      {"RaggedGather",
       {List({Longs({0, 2, 2, 3})}), X({3, 2}), Longs({2, 0, 2})},
       Attrs().Set("OUTPUT_RAGGED_RANK", int64_t{1})},
  };
}

namespace {

class RaggedGradientsTest : public TwoArgumentGradientsTest {};

TEST(RaggedGradients, AgreeWithNumericOnes) { CheckCases(RaggedGradientCases()); }

TEST_F(RaggedGradientsTest, Variants) {
  for (const bool batched : {true, false}) {
    const Output variant = CallIn(scope_, "RaggedTensorToVariant", {{Tensor::Vector<int64_t>({0, 2, 3})}, {x_}},
                                  Attrs().Set("Tsplits", DT_INT64).Set("batched_input", batched));
    const Output back = CallIn(scope_, "RaggedTensorFromVariant", {{variant}},
                               Attrs()
                                   .Set("input_ragged_rank", int64_t{batched ? 0 : 1})
                                   .Set("output_ragged_rank", int64_t{1})
                                   .Set("Tvalues", DT_DOUBLE));
    Check({Square(Output(back.op(), 1))});
  }
}

}  // namespace
}  // namespace weir
