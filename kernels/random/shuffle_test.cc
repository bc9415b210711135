#include <algorithm>
#include <numeric>

#include "kernels/device/kernel_inputs_testing.h"
#include "kernels/random/philox_block.h"

namespace weir {
namespace {

using ShuffleTest = KernelInputsTest;

TEST_F(ShuffleTest, ManyGroupsAreThoseOfOneByOne) {
  for (const Philox& start :
       {Philox(1, 2), Philox({0xfffffff0, 0xffffffff, 7, 8}, {3, 4}), Philox({0xfffffff8, 1, 0, 0}, {5, 6})}) {
    Philox one = start, many = start;
    std::vector<uint32_t> words(4 * 53);
    NextGroups(&many, 53, words.data());
    for (int i = 0; i < 53; ++i) {
      const Philox::Group group = one.Next();
      ASSERT_TRUE(std::equal(group.begin(), group.end(), words.begin() + 4 * i)) << i;
    }
    EXPECT_EQ(one.Next(), many.Next());
  }
}

TEST_F(ShuffleTest, ShufflesAsFisherAndYates) {
  const int64_t n = 1000;
  Tensor x(DT_INT32, TensorShape({n}));
  std::iota(x.data<int32_t>(), x.data<int32_t>() + n, 0);
  std::vector<int32_t> expected(x.data<int32_t>(), x.data<int32_t>() + n);
  Philox stream(1, 2);
  Philox::Group group{};
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (i % 4 == 0) group = stream.Next();
    std::swap(expected[i], expected[i + group[i % 4] % static_cast<uint32_t>(n - i)]);
  }
  const Attrs seeds = Attrs().Set("seed", int64_t{1}).Set("seed2", int64_t{2});
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("RandomShuffle", {x}, seeds));
  ExpectTensorEqual(out, AsTensor<int32_t>(expected));
  Tensor pairs(DT_INT32, TensorShape({n, 2}));
  for (int64_t i = 0; i < 2 * n; ++i) pairs.data<int32_t>()[i] = static_cast<int32_t>(i / 2);
  ASSERT_OK_AND_ASSIGN(out, RunOp1("RandomShuffle", {pairs}, seeds));
  for (int64_t i = 0; i < 2 * n; ++i) ASSERT_EQ(out.data<int32_t>()[i], expected[i / 2]);
}

}  // namespace
}  // namespace weir
