#include "core/kernel/variable_snapshot.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "core/kernel/variable.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 10000;  // ten pieces and a part

Tensor Counted(float first, int64_t n = kElements) {
  Tensor value(DT_FLOAT, TensorShape({n}));
  std::iota(value.flat<float>().begin(), value.flat<float>().end(), first);
  return value;
}

std::shared_ptr<Variable> MakeVariable(Tensor value) {
  auto variable = std::make_shared<Variable>(value.dtype());
  *variable->tensor() = std::move(value);
  variable->set_initialized(true);
  return variable;
}

absl::StatusOr<Tensor> ReadAll(VariableSnapshot& snapshot) {
  Tensor value(snapshot.dtype(), snapshot.shape());
  RETURN_IF_ERROR(snapshot.Read(0, value.TotalBytes(), value.data<char>(), nullptr));
  return value;
}

absl::Status Overwrite(Variable& variable, float value) {
  const std::lock_guard<std::mutex> lock(*variable.mutex());
  RETURN_IF_ERROR(PrepareToOverwrite(variable, CpuAllocator()).status());
  for (float& element : variable.tensor()->flat<float>()) element = value;
  return absl::OkStatus();
}

absl::Status UpdateRow(Variable& variable, int64_t row, int64_t width, float value,
                       Allocator* allocator = CpuAllocator()) {
  const std::lock_guard<std::mutex> lock(*variable.mutex());
  const int64_t bytes = width * 4;
  RETURN_IF_ERROR(PrepareToUpdateRanges(variable, allocator, 1, bytes, [&](int64_t) { return row * bytes; }));
  for (int64_t i = 0; i < width; ++i) variable.tensor()->data<float>()[row * width + i] = value;
  return absl::OkStatus();
}

std::shared_ptr<SharedVariableSnapshot> Take(const std::shared_ptr<Variable>& variable,
                                             Allocator* allocator = CpuAllocator()) {
  const std::lock_guard<std::mutex> lock(*variable->mutex());
  return TakeSnapshot(variable, allocator);
}

// The spare buffer; nullptr if there is none.
const void* Spare(Variable& variable) {
  std::unique_ptr<Tensor> spare = variable.spare().Take();
  if (spare == nullptr) return nullptr;
  const void* const data = spare->raw_data();
  variable.spare().Offer(std::move(spare));
  return data;
}

class NoMemory : public Allocator {
 public:
  absl::string_view name() const override { return "none"; }
  void* AllocateRaw(size_t) override { return nullptr; }
  void DeallocateRaw(void*, size_t) override {}
  AllocatorStats Stats() const override { return {}; }
};

TEST(VariableSnapshotTest, ASnapshotKeepsTheValueWhenAllElementsChange) {
  const auto variable = MakeVariable(Counted(0));
  const auto snapshot = Take(variable);
  ASSERT_THAT(Overwrite(*variable, 7), IsOk());
  ASSERT_THAT(Overwrite(*variable, 8), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor kept, ReadAll(*snapshot));
  ExpectTensorEqual(kept, Counted(0));
  EXPECT_EQ(variable->tensor()->data<float>()[5], 8);
}

TEST(VariableSnapshotTest, RowsAreUpdatedInPlaceAndKept) {
  const auto variable = MakeVariable(Counted(0));
  const void* const before = variable->tensor()->raw_data();
  const auto snapshot = Take(variable);
  ASSERT_THAT(UpdateRow(*variable, 0, 100, -1), IsOk());
  ASSERT_THAT(UpdateRow(*variable, 99, 100, -2), IsOk());
  ASSERT_THAT(UpdateRow(*variable, 99, 100, -3), IsOk());
  EXPECT_EQ(variable->tensor()->raw_data(), before);
  ASSERT_OK_AND_ASSIGN(const Tensor kept, ReadAll(*snapshot));
  ExpectTensorEqual(kept, Counted(0));
  EXPECT_EQ(variable->tensor()->data<float>()[9999], -3);
}

TEST(VariableSnapshotTest, AnyMixtureOfUpdatesAndReadsLeavesTheValue) {
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    const auto variable = MakeVariable(Counted(0));
    const auto snapshot = Take(variable);
    Tensor kept(DT_FLOAT, TensorShape({kElements}));
    int64_t at = 0;
    std::vector<float> expected(kElements);
    std::iota(expected.begin(), expected.end(), 0);
    while (at < kept.TotalBytes()) {
      const float value = -static_cast<float>(random() % 1000);
      if (random() % 8 == 0) {
        ASSERT_THAT(Overwrite(*variable, value), IsOk());
        std::fill(expected.begin(), expected.end(), value);
      } else if (random() % 2 == 0) {
        const int64_t row = random() % 100;
        ASSERT_THAT(UpdateRow(*variable, row, 100, value), IsOk());
        std::fill_n(expected.begin() + row * 100, 100, value);
      } else {
        const int64_t n = std::min<int64_t>(kept.TotalBytes() - at, random() % 9000);
        ASSERT_THAT(snapshot->Read(at, n, kept.data<char>() + at, nullptr), IsOk());
        at += n;
      }
    }
    ExpectTensorEqual(kept, Counted(0));
    EXPECT_EQ(std::vector<float>(variable->tensor()->data<float>(), variable->tensor()->data<float>() + kElements),
              expected);
  }
}

// The reader may be anywhere when rows change, and never waits for the update, nor the update for the reader.
TEST(VariableSnapshotTest, RowsThatChangeDuringAReadAreAsBefore) {
  constexpr int64_t kRows = 1 << 14, kWidth = 256;  // in one read
  const auto variable = MakeVariable(Counted(0, kRows * kWidth));
  for (int round = 0; round < 20; ++round) {
    ASSERT_OK_AND_ASSIGN(const Tensor before, variable->tensor()->DeepCopy());
    const auto snapshot = Take(variable);
    std::atomic<bool> done{false};
    std::thread updates([&] {
      std::mt19937 random(round);
      while (!done.load()) EXPECT_THAT(UpdateRow(*variable, random() % kRows, kWidth, -1.0F - round), IsOk());
    });
    const absl::StatusOr<Tensor> kept = ReadAll(*snapshot);
    done.store(true);
    updates.join();
    ASSERT_THAT(kept, IsOk());
    ASSERT_EQ(std::memcmp(kept->raw_data(), before.raw_data(), before.TotalBytes()), 0) << round;
  }
}

TEST(VariableSnapshotTest, ASlotHoldsOneBuffer) {
  SpareSlot<Tensor> slot;
  EXPECT_EQ(slot.Take(), nullptr);
  const Tensor first = Counted(0), second = Counted(1);
  slot.Offer(std::make_unique<Tensor>(first));
  slot.Offer(std::make_unique<Tensor>(second));
  EXPECT_EQ(slot.bytes(), first.TotalBytes());
  EXPECT_TRUE(second.RefCountIsOne());
  EXPECT_TRUE(slot.Take()->SharesBufferWith(first));
  EXPECT_EQ(slot.bytes(), 0);
}

// Counts what it hands out.
class CountingAllocator : public Allocator {
 public:
  absl::string_view name() const override { return "counting"; }
  void* AllocateRaw(size_t bytes) override {
    ++count;
    return CpuAllocator()->AllocateRaw(bytes);
  }
  void DeallocateRaw(void* ptr, size_t bytes) override { CpuAllocator()->DeallocateRaw(ptr, bytes); }
  AllocatorStats Stats() const override { return {}; }

  int count = 0;
};

TEST(VariableSnapshotTest, UpdatesOfRowsUseMemoryThatIsReady) {
  CountingAllocator allocator;
  const auto variable = MakeVariable(Counted(0));
  ASSERT_THAT(ReserveForSnapshot(*variable, &allocator), IsOk());
  EXPECT_EQ(allocator.count, 0);  // no row was ever updated
  for (int round = 0; round < 3; ++round) {
    ASSERT_THAT(UpdateRow(*variable, 1, 100, 0, &allocator), IsOk());
    ASSERT_THAT(ReserveForSnapshot(*variable, &allocator), IsOk());
    EXPECT_EQ(allocator.count, 1) << round;  // kept from the first round on
    EXPECT_GT(variable->MemoryUsed(), kElements * 4 + kElements * 4);
    const Tensor before = Tensor(*variable->tensor()).DeepCopy(CpuAllocator()).value();
    auto snapshot = Take(variable, &allocator);
    for (int row = 0; row < 100; row += 1 + round) {
      ASSERT_THAT(UpdateRow(*variable, row, 100, static_cast<float>(round), &allocator), IsOk());
    }
    EXPECT_EQ(allocator.count, 1) << round;
    ASSERT_OK_AND_ASSIGN(const Tensor kept, ReadAll(*snapshot));
    ExpectTensorEqual(kept, before);
    EXPECT_EQ(variable->MemoryUsed(), kElements * 4);
    snapshot.reset();
    EXPECT_GT(variable->MemoryUsed(), kElements * 4 + kElements * 4);
  }
}

TEST(VariableSnapshotTest, MemoryThatIsNotReadyIsNotUsed) {
  CountingAllocator allocator;
  const auto variable = MakeVariable(Counted(0));
  for (int round = 0; round < 2; ++round) {
    const auto snapshot = Take(variable, &allocator);
    ASSERT_THAT(UpdateRow(*variable, round, 100, -1, &allocator), IsOk());
    ASSERT_OK_AND_ASSIGN(const Tensor kept, ReadAll(*snapshot));
    EXPECT_EQ(kept.data<float>()[100 * round], 100 * round);
    EXPECT_EQ(allocator.count, 1 + round);
  }
}

TEST(VariableSnapshotTest, UpdatesOnOtherThreadsLeaveTheValue) {
  const auto variable = MakeVariable(Counted(0));
  for (int round = 0; round < 50; ++round) {
    ASSERT_THAT(Overwrite(*variable, static_cast<float>(round)), IsOk());
    const auto snapshot = Take(variable);
    std::thread updates([&] {
      for (int i = 0; i < 50; ++i) EXPECT_THAT(UpdateRow(*variable, i, 100, -1), IsOk());
      EXPECT_THAT(Overwrite(*variable, -2), IsOk());
    });
    const absl::StatusOr<Tensor> kept = ReadAll(*snapshot);
    updates.join();
    ASSERT_THAT(kept, IsOk());
    for (const float element : kept->flat<float>()) ASSERT_EQ(element, static_cast<float>(round));
  }
}

TEST(VariableSnapshotTest, TheReservedBufferIsUsedAndTheOldOneIsTheNext) {
  const auto variable = MakeVariable(Counted(0));
  ASSERT_THAT(ReserveForSnapshot(*variable, CpuAllocator()), IsOk());
  EXPECT_EQ(Spare(*variable), nullptr);  // nothing was overwritten yet
  ASSERT_THAT(Overwrite(*variable, 1), IsOk());
  ASSERT_THAT(ReserveForSnapshot(*variable, CpuAllocator()), IsOk());
  const void* const first = variable->tensor()->raw_data();
  const void* const second = Spare(*variable);
  ASSERT_NE(second, nullptr);
  for (int round = 0; round < 3; ++round) {
    const auto snapshot = Take(variable);
    ASSERT_THAT(Overwrite(*variable, 2), IsOk());
    EXPECT_EQ(variable->tensor()->raw_data(), round % 2 == 0 ? second : first);
    EXPECT_EQ(Spare(*variable), nullptr);
    ASSERT_THAT(ReadAll(*snapshot), IsOk());
    EXPECT_EQ(Spare(*variable), round % 2 == 0 ? first : second);
  }
}

TEST(VariableSnapshotTest, WhatWasReadIsKeptNoLonger) {
  const auto variable = MakeVariable(Counted(0));
  const void* const before = variable->tensor()->raw_data();
  const auto snapshot = Take(variable);
  ASSERT_THAT(ReadAll(*snapshot), IsOk());
  ASSERT_THAT(Overwrite(*variable, 1), IsOk());
  EXPECT_EQ(variable->tensor()->raw_data(), before);
}

TEST(VariableSnapshotTest, WithoutMemoryTheSnapshotFailsAndTheUpdateDoesNot) {
  NoMemory none;
  const auto rows = MakeVariable(Counted(0)), dense = MakeVariable(Counted(0));
  const auto of_rows = Take(rows, &none), of_dense = Take(dense, &none);
  ASSERT_THAT(UpdateRow(*rows, 3, 100, -1, &none), IsOk());
  EXPECT_EQ(rows->tensor()->data<float>()[300], -1);
  EXPECT_THAT(ReadAll(*of_rows), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("between steps")));
  {
    const std::lock_guard<std::mutex> lock(*dense->mutex());
    ASSERT_OK_AND_ASSIGN(const Tensor old, PrepareToOverwrite(*dense, &none));
    EXPECT_TRUE(old.SharesBufferWith(*dense->tensor()));
  }
  EXPECT_THAT(ReadAll(*of_dense), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(VariableSnapshotTest, ReadersAndOlderSnapshotsAreLeftAlone) {
  const auto variable = MakeVariable(Counted(0));
  const auto older = Take(variable);
  ASSERT_THAT(UpdateRow(*variable, 0, 100, -1), IsOk());
  const auto newer = Take(variable);
  const Tensor reader = *variable->tensor();
  ASSERT_THAT(UpdateRow(*variable, 1, 100, -2), IsOk());
  EXPECT_EQ(reader.data<float>()[100], 100);
  ASSERT_OK_AND_ASSIGN(const Tensor first, ReadAll(*older));
  ExpectTensorEqual(first, Counted(0));
  ASSERT_OK_AND_ASSIGN(const Tensor second, ReadAll(*newer));
  EXPECT_EQ(second.data<float>()[0], -1);
  EXPECT_EQ(second.data<float>()[100], 100);
}

TEST(VariableSnapshotTest, ASnapshotOutlivesItsVariable) {
  auto variable = MakeVariable(Counted(0));
  const auto snapshot = Take(variable);
  variable.reset();
  ASSERT_OK_AND_ASSIGN(const Tensor kept, ReadAll(*snapshot));
  ExpectTensorEqual(kept, Counted(0));
}

TEST(VariableSnapshotTest, ReadsBeyondTheEndOrAgainAreErrors) {
  const auto variable = MakeVariable(Counted(0));
  const auto snapshot = Take(variable);
  char bytes[64];
  EXPECT_THAT(snapshot->Read(kElements * 4 - 3, 4, bytes, nullptr), StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_THAT(snapshot->Read(0, 64, bytes, nullptr), IsOk());
  EXPECT_THAT(snapshot->Read(32, 4, bytes, nullptr), StatusIs(absl::StatusCode::kInternal, HasSubstr("twice")));
}

}  // namespace
}  // namespace weir
