#include "core/kernel/variable.h"

#include <future>
#include <thread>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(VariableTest, AnUpdateOfAValueThatIsNotSharedIsInPlace) {
  Variable variable(DT_FLOAT);
  *variable.tensor() = Tensor::Vector<float>({1, 2});
  variable.set_initialized(true);
  void* before = variable.tensor()->raw_data();
  ASSERT_TRUE(PrepareToUpdate(variable, CpuAllocator()).ok());
  EXPECT_EQ(variable.tensor()->raw_data(), before);
  EXPECT_EQ(variable.MemoryUsed(), 8);
}

TEST(VariableTest, AValueThatWasAssignedThroughAReferenceIsListedWithItsBytes) {
  Variable variable(DT_FLOAT);
  EXPECT_EQ(variable.DebugString(), "float uninitialized");
  EXPECT_EQ(variable.MemoryUsed(), 0);
  *variable.tensor() = Tensor::Vector<float>({1, 2});  // as Assign does, which does not know the variable
  EXPECT_EQ(variable.DebugString(), "float[2]");
  EXPECT_EQ(variable.MemoryUsed(), 8);
}

// VariableV2 gives its tensor a shape and a buffer without memory before anything is assigned.
class EmptyBuffer : public TensorBuffer {
 public:
  EmptyBuffer() : TensorBuffer(nullptr, 0) {}
};

TEST(VariableTest, AReferenceVariableWithoutValueIsListedAsUninitializedAndWithoutBytes) {
  Variable variable(DT_FLOAT);
  *variable.tensor() = Tensor::FromBuffer(DT_FLOAT, TensorShape({2}), new EmptyBuffer);
  EXPECT_EQ(variable.DebugString(), "float uninitialized");
  EXPECT_EQ(variable.MemoryUsed(), 0);
  *variable.tensor() = Tensor::Vector<float>({1, 2});
  EXPECT_EQ(variable.DebugString(), "float[2]");
  EXPECT_EQ(variable.MemoryUsed(), 8);
}

TEST(VariableTest, AnEmptyValueIsAValue) {
  Variable variable(DT_FLOAT);
  *variable.tensor() = Tensor(DT_FLOAT, TensorShape({0}));
  variable.set_initialized(true);
  EXPECT_EQ(variable.DebugString(), "float[0]");
  EXPECT_EQ(variable.MemoryUsed(), 0);
}

TEST(VariableTest, AnUpdateOfASharedValueLeavesReadersAlone) {
  Variable variable(DT_FLOAT);
  *variable.tensor() = Tensor::Vector<float>({1, 2});
  Tensor reader = *variable.tensor();
  ASSERT_TRUE(PrepareToUpdate(variable, CpuAllocator()).ok());
  EXPECT_FALSE(variable.tensor()->SharesBufferWith(reader));
  EXPECT_EQ(variable.tensor()->data<float>()[1], 2);
  variable.tensor()->data<float>()[1] = 5;
  EXPECT_EQ(reader.data<float>()[1], 2);
}

TEST(VariableTest, AnUpdateWaitsForBriefReadersRatherThanCloneTheValue) {
  Variable variable(DT_FLOAT);
  *variable.tensor() = Tensor::Vector<float>({1, 2});
  void* const before = variable.tensor()->raw_data();
  std::promise<void> began;
  std::thread reader([&] {
    std::shared_lock reading(*variable.brief_readers());
    const Tensor value = *variable.tensor();
    began.set_value();
    std::this_thread::yield();
    EXPECT_EQ(value.data<float>()[1], 2);
  });
  began.get_future().wait();
  ASSERT_TRUE(PrepareToUpdate(variable, CpuAllocator()).ok());
  EXPECT_EQ(variable.tensor()->raw_data(), before);
  reader.join();
}

TEST(VariableTest, AnUninitializedVariableHasNothingToPrepare) {
  Variable variable(DT_FLOAT);
  EXPECT_TRUE(PrepareToUpdate(variable, CpuAllocator()).ok());
  EXPECT_EQ(variable.MemoryUsed(), 0);
}

}  // namespace
}  // namespace weir
