#include "kernels/data/dataset.h"

#include <atomic>
#include <set>

#include "core/tensor/resource_handle.h"
#include "core/tensor/variant_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/data/background.h"
#include "kernels/data/element_list.h"
#include "kernels/data/index_shuffle.h"
#include "kernels/data/iterators/optional.h"
#include "kernels/data/seed_generator.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kHuge = int64_t{1} << 62;

class DatasetTest : public OpTest {
 protected:
  static Tensor Int(int64_t value) { return Tensor::Scalar<int64_t>(value); }
  static Attrs Types(DataType dtype = DT_INT64) {
    Attrs attrs;
    attrs.Set("output_types", DataTypeVector{dtype});
    attrs.Set("output_shapes", std::vector<PartialTensorShape>{PartialTensorShape()});
    return attrs;
  }
  absl::StatusOr<Tensor> Range(int64_t stop) { return RunOp1("RangeDataset", {Int(0), Int(stop), Int(1)}, Types()); }

  // A fresh iterator over the dataset.
  Tensor Iterate(const Tensor& dataset, const Attrs& attrs = Types()) {
    absl::StatusOr<Tensor> handle = RunOp1("AnonymousIteratorV3", {}, attrs);
    EXPECT_THAT(handle.status(), IsOk());
    EXPECT_THAT(RunOp("MakeIterator", {dataset, *handle}).status(), IsOk());
    return *handle;
  }
  absl::StatusOr<int64_t> Next(const Tensor& handle) {
    ASSIGN_OR_RETURN(const Tensor value, RunOp1("IteratorGetNext", {handle}, Types()));
    return value.scalar<int64_t>();
  }
  // Elements up to the end.
  std::vector<int64_t> All(const Tensor& handle) {
    std::vector<int64_t> values;
    absl::StatusOr<int64_t> next = Next(handle);
    for (; next.ok(); next = Next(handle)) values.push_back(*next);
    EXPECT_THAT(next.status(), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("End of sequence")));
    return values;
  }
};

TEST_F(DatasetTest, IteratesToTheEnd) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(3));
  EXPECT_THAT(All(Iterate(range)), ElementsAre(0, 1, 2));
}

TEST_F(DatasetTest, CountsInsteadOfOverflowing) {
  ASSERT_OK_AND_ASSIGN(const Tensor range,
                       RunOp1("RangeDataset", {Int(INT64_MIN), Int(INT64_MAX - 1), Int(1)}, Types()));
  ASSERT_OK_AND_ASSIGN(const Tensor repeated, RunOp1("RepeatDataset", {range, Int(kHuge)}, Types()));
  ASSERT_OK_AND_ASSIGN(const Tensor batched, RunOp1("BatchDataset", {repeated, Int(kHuge)}, Types()));
  ASSERT_OK_AND_ASSIGN(const Tensor cardinality, RunOp1("DatasetCardinality", {batched}));
  EXPECT_GE(cardinality.scalar<int64_t>(), 1);
}

TEST_F(DatasetTest, RefusesBadArguments) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(3));
  const auto fails = [&](const char* op, std::vector<TestInput> inputs, const char* phrase) {
    EXPECT_THAT(RunOp(op, std::move(inputs), Types()).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(phrase)))
        << op;
  };
  fails("RangeDataset", {Int(0), Int(1), Int(0)}, "non-zero");
  fails("RangeDataset", {AsTensor<int64_t>({0, 1}), Int(1), Int(1)}, "scalar");
  fails("BatchDataset", {range, Int(-1)}, "greater than zero");
  fails("ShardDataset", {range, Int(0), Int(0)}, "greater than zero");
  fails("ShardDataset", {range, Int(3), Int(3)}, "between 0 and 2");
  fails("ShuffleDataset", {range, Int(0), Int(1), Int(2)}, "buffer_size");
  fails("WindowDataset", {range, Int(kHuge), Int(1), Int(kHuge), AsScalar<bool>(false)}, "too large");
  fails("PrefetchDataset", {range, Int(-7)}, "buffer_size");
  fails("TakeDataset", {range, AsTensor<int64_t>({1, 2})}, "scalar");
}

TEST_F(DatasetTest, RefusesMalformedVariants) {
  const Tensor empty(DT_VARIANT, TensorShape());
  const Tensor encoded = Tensor::Scalar(
      Variant(std::make_shared<EncodedVariant>("tensorflow::DatasetVariantWrapper", "", std::vector<Tensor>())));
  ASSERT_OK_AND_ASSIGN(const Tensor none, RunOp1("OptionalNone", {}));
  for (const Tensor& bad : {empty, encoded, none, Tensor(DT_VARIANT, TensorShape({2}))}) {
    EXPECT_THAT(RunOp("TakeDataset", {bad, Int(1)}, Types()).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Dataset")));
  }
}

TEST_F(DatasetTest, EndsDeepChains) {
  ASSERT_OK_AND_ASSIGN(Tensor dataset, Range(1));
  absl::Status status;
  for (int i = 0; i < 2 * kMaxDatasetDepth && status.ok(); ++i) {
    absl::StatusOr<Tensor> longer = RunOp1("TakeDataset", {dataset, Int(1)}, Types());
    status = longer.status();
    if (longer.ok()) dataset = *longer;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(All(Iterate(dataset)), ElementsAre(0));
}

TEST_F(DatasetTest, EndsDeepNesting) {
  ASSERT_OK_AND_ASSIGN(Tensor dataset, Range(1));
  const Attrs attrs = Attrs()
                          .Set("Toutput_types", DataTypeVector{DT_VARIANT})
                          .Set("output_shapes", std::vector<PartialTensorShape>{TensorShape()});
  absl::Status status;
  for (int i = 0; i < 2 * kMaxDatasetDepth && status.ok(); ++i) {
    absl::StatusOr<Tensor> deeper = RunOp1("TensorDataset", {dataset}, attrs);
    status = deeper.status();
    if (deeper.ok()) dataset = *deeper;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(DatasetTest, UninitialisedIteratorFails) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle, RunOp1("AnonymousIteratorV3", {}, Types()));
  EXPECT_THAT(Next(handle).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not been initialized")));
}

TEST_F(DatasetTest, IteratorOfOtherTypesIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(1));
  ASSERT_OK_AND_ASSIGN(const Tensor handle, RunOp1("AnonymousIteratorV3", {}, Types(DT_FLOAT)));
  EXPECT_THAT(RunOp("MakeIterator", {range, handle}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Data type mismatch at component 0")));
}

TEST_F(DatasetTest, RestoresThePosition) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(20));
  ASSERT_OK_AND_ASSIGN(const Tensor shuffled, RunOp1("ShuffleDataset", {range, Int(5), Int(1), Int(2)}, Types()));
  const Tensor first = Iterate(shuffled);
  for (int64_t i = 0; i < 7; ++i) ASSERT_THAT(Next(first).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor state, RunOp1("SerializeIterator", {first}));
  const std::vector<int64_t> rest = All(first);
  const Tensor second = Iterate(shuffled);
  ASSERT_THAT(RunOp("DeserializeIterator", {second, state}).status(), IsOk());
  EXPECT_EQ(All(second), rest);
}

TEST_F(DatasetTest, RefusesStatesOfOtherDatasets) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(20));
  ASSERT_OK_AND_ASSIGN(const Tensor shuffled, RunOp1("ShuffleDataset", {range, Int(5), Int(1), Int(2)}, Types()));
  ASSERT_OK_AND_ASSIGN(const Tensor state, RunOp1("SerializeIterator", {Iterate(range)}));
  const Tensor iterator = Iterate(shuffled);
  EXPECT_THAT(RunOp("DeserializeIterator", {iterator, state}).status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(RunOp("DeserializeIterator", {iterator, Tensor(DT_VARIANT, TensorShape({1}))}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(All(iterator).size(), 20);
}

TEST_F(DatasetTest, RefusesDamagedStates) {
  IteratorState state;
  StateWriter(&state).Scope("a").Int("n", 5);
  std::string metadata;
  std::vector<Tensor> tensors;
  ASSERT_THAT(state.Encode(&metadata, &tensors), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto decoded, IteratorState::Decode(metadata, tensors));
  EXPECT_EQ(*StateReader(decoded.get()).Scope("a").Int("n"), 5);
  for (size_t cut = 0; cut < metadata.size(); ++cut) {
    EXPECT_FALSE(IteratorState::Decode(metadata.substr(0, cut), tensors).ok()) << cut;
  }
  const StateReader reader(decoded.get());
  EXPECT_THAT(reader.Scope("a").Int("n", 6).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(reader.Scope("a").String("n").status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(reader.Int("n").status(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(DatasetTest, PrefetchKeepsTheOrder) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(100));
  ASSERT_OK_AND_ASSIGN(const Tensor ahead, RunOp1("PrefetchDataset", {range, Int(3)}, Types()));
  const std::vector<int64_t> values = All(Iterate(ahead));
  EXPECT_EQ(values.size(), 100);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
}

TEST_F(DatasetTest, CancelledStepsGetNoElement) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(3));
  const Tensor iterator = Iterate(range);
  cancellation().StartCancel(errors::DeadlineExceeded("too late"));
  EXPECT_THAT(Next(iterator).status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(DatasetTest, DatasetsStayOnTheirTask) {
  ASSERT_OK_AND_ASSIGN(const Tensor range, Range(3));
  std::string metadata;
  std::vector<Tensor> tensors;
  EXPECT_THAT(range.scalar<Variant>().value()->Encode(&metadata, &tensors),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("cannot leave its task")));
}

TEST_F(DatasetTest, OptionalsSurviveTheWire) {
  for (const std::optional<Element>& value : {std::optional<Element>(), std::optional<Element>({Int(5)})}) {
    const Tensor tensor = OptionalTensor(value);
    std::string metadata;
    std::vector<Tensor> tensors;
    ASSERT_THAT(tensor.scalar<Variant>().value()->Encode(&metadata, &tensors), IsOk());
    const Tensor sent =
        Tensor::Scalar(Variant(std::make_shared<EncodedVariant>(OptionalVariant::kTypeName, metadata, tensors)));
    ASSERT_OK_AND_ASSIGN(const std::optional<Element> back, OptionalFromTensor(sent, "OptionalGetValue"));
    EXPECT_EQ(back.has_value(), value.has_value());
  }
}

TEST(IndexShuffle, IsAPermutation) {
  for (uint64_t max_index : {0, 1, 2, 9, 255, 1000}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i <= max_index; ++i) seen.insert(IndexShuffle(i, {1, 2, 3}, max_index));
    EXPECT_EQ(seen.size(), max_index + 1);
    EXPECT_EQ(*seen.rbegin(), max_index);
  }
}

TEST(SampleStream, SkipIsAsGoodAsNext) {
  for (int skipped = 0; skipped < 12; ++skipped) {
    for (int before = 0; before < 5; ++before) {
      SampleStream a(3, 4), b(3, 4);
      for (int i = 0; i < before + skipped; ++i) a.Next();
      for (int i = 0; i < before; ++i) b.Next();
      b.Skip(skipped);
      EXPECT_EQ(a.Next(), b.Next()) << before << " " << skipped;
    }
  }
}

TEST(SeedGenerator, ReturnsToWhereItWas) {
  SeedGenerator generator({5, 6}, true);
  generator.Generate();
  const int64_t samples = generator.num_samples();
  const Seeds next = generator.Generate();
  generator.Reset(samples);
  EXPECT_EQ(generator.Generate().seed2, next.seed2);
}

TEST(BackgroundLoop, RunsUntilThereIsNothingToDo) {
  const std::unique_ptr<WorkQueue> queue = WorkQueue::Create({.name = "test", .compute_threads = 1});
  auto monitor = std::make_shared<Monitor>();
  int steps = 0;
  BackgroundLoop loop([&] {
    MutexLock lock(monitor->mu);
    monitor->changed.notify_all();
    return ++steps % 3 != 0;
  });
  loop.Wake(queue.get());
  {
    MutexLock lock(monitor->mu);
    while (steps < 3) lock.Wait(monitor->changed);
  }
  loop.Pause();
  EXPECT_EQ(steps, 3);
  loop.Wake(queue.get());
  loop.Resume(queue.get());
  MutexLock lock(monitor->mu);
  while (steps < 6) lock.Wait(monitor->changed);
}

}  // namespace
}  // namespace weir
