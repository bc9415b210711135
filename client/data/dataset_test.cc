// Pipelines built by the client and run by a local session.

#include "client/data/dataset.h"

#include "client/data/input_stream.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/session.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "graph/graph.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DatasetTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = directory_.Path(name);
    EXPECT_THAT(WriteStringToFile(files_.get(), path, bytes), IsOk());
    return path;
  }

  // The remaining elements, at most `most`.
  absl::StatusOr<std::vector<std::vector<Tensor>>> Read(Session& session, const OutputList& next, int most = 1000) {
    std::vector<std::vector<Tensor>> elements;
    while (static_cast<int>(elements.size()) < most) {
      auto element = session.Run(next);
      if (absl::IsOutOfRange(element.status())) break;
      RETURN_IF_ERROR(element.status());
      elements.push_back(*std::move(element));
    }
    return elements;
  }
  absl::StatusOr<std::vector<std::vector<Tensor>>> ReadAll(const Dataset& dataset) {
    const DataIterator iterator = dataset.MakeIterator();
    const OutputList next = iterator.GetNext(scope_);
    RETURN_IF_ERROR(scope_.status());
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope_));
    RETURN_IF_ERROR(session->RunTargets({iterator.initializer()}));
    return Read(*session, next);
  }
  // The elements of a dataset of int64 scalars or vectors.
  static std::vector<int64_t> Numbers(const std::vector<std::vector<Tensor>>& elements) {
    std::vector<int64_t> numbers;
    for (const auto& element : elements) {
      for (int64_t number : element[0].flat<int64_t>()) numbers.push_back(number);
    }
    return numbers;
  }
  absl::StatusOr<std::vector<int64_t>> ReadNumbers(const Dataset& dataset) {
    ASSIGN_OR_RETURN(const auto elements, ReadAll(dataset));
    return Numbers(elements);
  }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const ScratchDirectory directory_;
  Scope scope_ = Scope::NewRoot();
};

OutputList Double(const Scope& scope, const OutputList& element) { return {ops::Mul(scope, element[0], 2)}; }

TEST_F(DatasetTest, ReordersAndCounts) {
  const Dataset dataset = Dataset::Range(scope_, 10).Shard(2, 1).Skip(1).Take(3).Repeat(2);
  ASSERT_OK_AND_ASSIGN(const auto numbers, ReadNumbers(dataset.Concatenate(Dataset::Range(scope_, 2))));
  EXPECT_THAT(numbers, ElementsAre(3, 5, 7, 3, 5, 7, 0, 1));
}

TEST_F(DatasetTest, MapsFiltersAndCapturesWhatIsOutside) {
  const Output factor = ops::AddV2(scope_, Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(2));
  const Dataset dataset =
      Dataset::Range(scope_, 6)
          .Map([&](const Scope& s, const OutputList& x) {
            return OutputList{ops::Mul(s, x[0], factor), x[0]};
          })
          .Filter([](const Scope& s, const OutputList& x) {
            return ops::Equal(s, ops::FloorMod(s, x[1], Tensor::Scalar<int64_t>(2)), Tensor::Scalar<int64_t>(1));
          });
  ASSERT_OK_AND_ASSIGN(const auto numbers, ReadNumbers(dataset));
  EXPECT_THAT(numbers, ElementsAre(3, 9, 15));
}

TEST_F(DatasetTest, LeavesNoOpsOfFunctionsInTheGraph) {
  Dataset::Range(scope_, 6).Map(Double);
  for (const Node* node : scope_.graph()->nodes()) EXPECT_NE(node->op(), "Mul");
}

TEST_F(DatasetTest, InterleavesDatasetsThatHaveFunctionsOfTheirOwn) {
  for (const int64_t calls : {0, 2}) {
    const Dataset dataset = Dataset::Range(scope_, 3).Interleave(
        [](const Scope& s, const OutputList& x) { return Dataset::FromTensors(s, {x[0]}).Repeat(2).Map(Double); },
        {.cycle_length = 2, .num_parallel_calls = calls});
    ASSERT_OK_AND_ASSIGN(const auto numbers, ReadNumbers(dataset));
    EXPECT_THAT(numbers, ElementsAre(0, 2, 0, 2, 4, 4));
  }
}

TEST_F(DatasetTest, ParallelMapKeepsTheOrder) {
  const Dataset dataset = Dataset::Range(scope_, 50).ParallelMap(Double, {.num_parallel_calls = 4}).Prefetch(3);
  ASSERT_OK_AND_ASSIGN(const auto numbers, ReadNumbers(dataset));
  ASSERT_THAT(numbers, SizeIs(50));
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(numbers[i], 2 * i);
}

TEST_F(DatasetTest, APassThatIsGivenUpLeavesNothingBehind) {
  const Dataset dataset = Dataset::Range(scope_, 10000)
                              .ParallelMap(Double, {.num_parallel_calls = 3})
                              .ParallelMap(Double, {.num_parallel_calls = 2, .deterministic = false})
                              .Prefetch(2);
  const DataIterator iterator = dataset.MakeIterator();
  const OutputList next = iterator.GetNext(scope_);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  for (int pass = 0; pass < 50; ++pass) {
    ASSERT_THAT(session->RunTargets({iterator.initializer()}), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto elements, Read(*session, next, pass % 7));
    ASSERT_THAT(elements, SizeIs(pass % 7));
  }
}

TEST_F(DatasetTest, ShufflesAsTensorFlowDoes) {
  // The output of TensorFlow 2.21's ShuffleDataset for these seeds.
  ASSERT_OK_AND_ASSIGN(const auto numbers, ReadNumbers(Dataset::Range(scope_, 8).Shuffle(4, {.seed = 3, .seed2 = 5})));
  EXPECT_THAT(numbers, ElementsAre(0, 3, 1, 6, 5, 7, 4, 2));
}

TEST_F(DatasetTest, BatchesKnowTheirShapes) {
  const Dataset full = Dataset::Range(scope_, 5).Batch(2, {.drop_remainder = true});
  EXPECT_EQ(full.shapes()[0].ToString(), "[2]");
  const Dataset all = Dataset::Range(scope_, 5).Batch(2, {.num_parallel_calls = 2});
  EXPECT_EQ(all.shapes()[0].ToString(), "[?]");
  ASSERT_OK_AND_ASSIGN(const auto batches, ReadAll(all));
  ASSERT_THAT(batches, SizeIs(3));
  EXPECT_EQ(batches[2][0].shape(), TensorShape({1}));
  ASSERT_OK_AND_ASSIGN(const auto numbers, ReadNumbers(all.Unbatch()));
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(DatasetTest, PadsToTheLargestOfABatch) {
  const Dataset ragged = Dataset::Range(scope_, 1, 4).Map([](const Scope& s, const OutputList& x) {
    return OutputList{ops::Fill(s, ops::ExpandDims(s, x[0], Tensor::Scalar<int32_t>(0)), x[0])};
  });
  ASSERT_OK_AND_ASSIGN(const auto batches, ReadAll(ragged.PaddedBatch(3)));
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_THAT(Numbers(batches), ElementsAre(1, 0, 0, 2, 2, 0, 3, 3, 3));
  const Dataset wider =
      ragged.PaddedBatch(1, {.shapes = {TensorShape({4})}, .padding_values = {Tensor::Scalar<int64_t>(-1)}});
  ASSERT_OK_AND_ASSIGN(const auto numbers, ReadNumbers(wider.Take(1)));
  EXPECT_THAT(numbers, ElementsAre(1, -1, -1, -1));
}

TEST_F(DatasetTest, LongStringsAreNotMadeFarAhead) {
  const ResourceVariable calls = ResourceVariable::Make(scope_.WithName("calls"), TensorShape(), DT_INT64,
                                                        initializers::Zeros(), {.trainable = false});
  const Output text = scope_.Constant(Tensor::Scalar<tstring>(std::string(2 << 20, 'x')));
  const auto count = [&](const Scope& s, const OutputList&) {
    const Operation counted = calls.AssignAdd(s, int64_t{1});
    return OutputList{ops::Identity(s.WithControlDependencies({counted}), text)};
  };
  const DataIterator iterator =
      Dataset::Range(scope_, 100).ParallelMap(count, {.num_parallel_calls = 1}).MakeIterator();
  const OutputList next = iterator.GetNext(scope_);
  ASSERT_THAT(scope_.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_THAT(session->RunTargets({calls.initializer(), iterator.initializer()}), IsOk());
  for (int taken = 1; taken <= 20; ++taken) {
    ASSERT_THAT(session->Run(next), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto made, session->Run({calls.value()}));
    EXPECT_LE(made[0].scalar<int64_t>(), taken + 1);
  }
}

TEST_F(DatasetTest, BatchesGrowByTheSchedule) {
  ASSERT_OK_AND_ASSIGN(const auto batches, ReadAll(Dataset::Range(scope_, 14).Batch({{2, 1}, {1, 3}, {0, 4}})));
  std::vector<int64_t> sizes;
  for (const auto& batch : batches) sizes.push_back(batch[0].NumElements());
  EXPECT_THAT(sizes, ElementsAre(1, 1, 3, 4, 4, 1));
  const auto numbers = Numbers(batches);
  for (int64_t i = 0; i < 14; ++i) EXPECT_EQ(numbers[i], i);
}

TEST_F(DatasetTest, GrowingBatchesStopAtTheLargest) {
  const BatchSchedule schedule = GrowingBatches(8, 2, 100, 30);
  ASSERT_THAT(schedule, SizeIs(3));
  EXPECT_EQ(schedule[1].size, 16);
  EXPECT_EQ(schedule[2].size, 30);
}

TEST_F(DatasetTest, NoBatchesGrowFromNothing) {
  for (const int64_t size : {0, -5}) {
    ASSERT_THAT(GrowingBatches(size, 2, 100, 30), SizeIs(1));
    const Scope scope = Scope::NewRoot();
    Dataset::Range(scope, 4).Batch(GrowingBatches(size, 2, 100, 30));
    EXPECT_THAT(scope.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("batch schedule")));
  }
}

TEST_F(DatasetTest, SchedulesThatCannotBeAreErrors) {
  Dataset::Range(scope_, 4).Batch(BatchSchedule{{0, 2}, {1, 1}});
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("batch schedule")));
}

TEST_F(DatasetTest, ReadsCsvByColumns) {
  const std::string path = Write("table.csv", "a,b,c\n1,\"x,y\",0.5\n2,,1.5\n");
  const Dataset dataset =
      Dataset::Csv(scope_, path.c_str(), {Tensor::Scalar<int64_t>(0), Tensor::Scalar<tstring>("none")},
                   {.header = true, .select_cols = {0, 1}});
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(dataset));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0][1].scalar<tstring>(), "x,y");
  EXPECT_EQ(rows[1][0].scalar<int64_t>(), 2);
  EXPECT_EQ(rows[1][1].scalar<tstring>(), "none");
}

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

TEST_F(DatasetTest, ReadsIdx) {
  const std::string head = std::string("\0\0\x0B\x03", 4) + BigEndian(2) + BigEndian(1) + BigEndian(2);
  const std::string path = Write("images.idx", head + std::string("\x01\x02\0\x03\xFF\xFF\0\x07", 8));
  const Dataset dataset = Dataset::Idx(scope_, path);
  EXPECT_EQ(dataset.types()[0], DT_INT16);
  EXPECT_EQ(dataset.shapes()[0].ToString(), "[1,2]");
  ASSERT_OK_AND_ASSIGN(const auto slices, ReadAll(dataset));
  ASSERT_THAT(slices, SizeIs(2));
  EXPECT_THAT(slices[0][0].flat<int16_t>(), ElementsAre(0x0102, 3));
  EXPECT_THAT(slices[1][0].flat<int16_t>(), ElementsAre(-1, 7));
}

TEST_F(DatasetTest, AnIdxFileOfFewerSlicesThanItSaysIsAnError) {
  const std::string path = Write("short.idx", std::string("\0\0\x08\x01", 4) + BigEndian(3) + "ab");
  EXPECT_THAT(ReadAll(Dataset::Idx(scope_, path)).status(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(DatasetTest, IdxHeadsThatLieAreErrors) {
  const std::vector<std::string> heads = {
      "", std::string("\0\0\x07\x01", 4) + BigEndian(1), std::string("\0\0\x08\0", 4),
      std::string("\0\0\x08\x03", 4) + BigEndian(1),
      std::string("\0\0\x08\x03", 4) + BigEndian(1) + BigEndian(~0u) + BigEndian(~0u)};
  for (const std::string& head : heads) {
    const Scope scope = Scope::NewRoot();
    Dataset::Idx(scope, Write("bad.idx", head));
    EXPECT_THAT(scope.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bad.idx")));
  }
}

TEST_F(DatasetTest, OneShotIteratorsBeginByThemselves) {
  const DataIterator iterator = Dataset::Range(scope_, 3).Map(Double).MakeOneShotIterator();
  const OutputList next = iterator.GetNext(scope_);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_OK_AND_ASSIGN(const auto elements, Read(*session, next));
  EXPECT_THAT(Numbers(elements), ElementsAre(0, 2, 4));
}

TEST_F(DatasetTest, AOneShotIteratorCannotBeFed) {
  const Output fed = ops::Placeholder(scope_.WithName("fed"), DT_INT64, {.shape = TensorShape()});
  Dataset::FromTensors(scope_, {fed}).MakeOneShotIterator();
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fed")));
}

TEST_F(DatasetTest, AFunctionMakesNoVariable) {
  Dataset::Range(scope_, 3).Map([](const Scope& s, const OutputList& x) {
    ResourceVariable::Make(s, TensorShape(), DT_FLOAT,
                           [](const Scope& v, const TensorShape&, DataType) { return v.Constant(0.0f); });
    return x;
  });
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("creates a variable")));
}

TEST_F(DatasetTest, TheErrorOfAnElementNamesItsFunction) {
  const Dataset dataset = Dataset::Range(scope_, 3).Map([](const Scope& s, const OutputList& x) {
    return OutputList{ops::FloorDiv(s, Tensor::Scalar<int64_t>(1), x[0])};
  });
  EXPECT_THAT(ReadAll(dataset).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("FloorDiv")));
}

TEST_F(DatasetTest, APositionIsSavedAndRestoredWithWhatIsInTheBuffers) {
  const Dataset dataset = Dataset::Range(scope_, 40).Shuffle(16, {.seed = 7}).ParallelMap(Double).Batch(3).Prefetch(2);
  const DataIterator iterator = dataset.MakeIterator("input");
  const OutputList next = iterator.GetNext(scope_);
  const Saver saver(scope_, {}, {.saveables = {iterator.Position()}, .no_variables = true});
  const std::string prefix = directory_.Path("position");
  std::vector<int64_t> expected;
  {
    ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
    ASSERT_THAT(session->RunTargets({iterator.initializer()}), IsOk());
    ASSERT_THAT(Read(*session, next, 4), IsOk());
    ASSERT_THAT(saver.Save(*session, prefix, 4), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto rest, Read(*session, next));
    expected = Numbers(rest);
    ASSERT_THAT(expected, SizeIs(28));
  }
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_THAT(saver.Restore(*session, absl::StrCat(prefix, "-4")), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rest, Read(*session, next));
  EXPECT_EQ(Numbers(rest), expected);
}

// Records a fetch of each step.
class Remember : public TrainingHook {
 public:
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    seen.push_back(report.fetches[0].scalar<int64_t>());
    return false;
  }
  std::vector<int64_t> seen;
};

TEST_F(DatasetTest, ATrainingLoopGoesOnWithTheElementAfterTheLastSaved) {
  const DataIterator iterator = Dataset::Range(scope_, 10).MakeIterator("input");
  const Output element = iterator.GetNext(scope_)[0];
  TrainingLoopOptions options;
  options.global_step = GlobalStep(scope_);
  options.train = options.global_step.AssignAdd(scope_.WithControlDependencies({element}), int64_t{1});
  options.fetches = {element};
  options.checkpoint_dir = directory_.path();
  options.saveables = {iterator.Position()};
  auto first = std::make_shared<Remember>(), second = std::make_shared<Remember>();
  options.hooks = {first, StopAtStepHook(4)};
  {
    TrainingLoop loop(scope_, options);
    ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
    ASSERT_OK_AND_ASSIGN(const int64_t reached, loop.Run(*session));
    EXPECT_EQ(reached, 4);
  }
  options.hooks = {second};
  TrainingLoop loop(scope_, options);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_OK_AND_ASSIGN(const int64_t reached, loop.Run(*session));
  EXPECT_EQ(reached, 10);  // the input ends
  EXPECT_THAT(first->seen, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(second->seen, ElementsAre(4, 5, 6, 7, 8, 9));
}

TEST_F(DatasetTest, AGeneratorFeedsADataset) {
  const InputStream stream(scope_, {{DT_INT64}, {TensorShape()}}, 2);
  const DataIterator iterator = stream.dataset().Map(Double).MakeIterator();
  const OutputList next = iterator.GetNext(scope_);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_THAT(session->RunTargets({iterator.initializer()}), IsOk());
  GeneratorFeed feed(session.get(), &stream,
                     [i = int64_t{0}](std::vector<Tensor>* element) mutable -> absl::StatusOr<bool> {
                       *element = {Tensor::Scalar<int64_t>(i)};
                       return i++ < 5;
                     });
  ASSERT_OK_AND_ASSIGN(const auto elements, Read(*session, next));
  EXPECT_THAT(Numbers(elements), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(feed.Await(), IsOk());
}

TEST_F(DatasetTest, AGeneratorsErrorReachesTheStepThatReadsOn) {
  const InputStream stream(scope_, {{DT_INT64, DT_STRING}, {TensorShape({2}), TensorShape()}}, 4);
  const DataIterator iterator = stream.dataset().MakeIterator();
  const OutputList next = iterator.GetNext(scope_);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_THAT(session->RunTargets({iterator.initializer()}), IsOk());
  GeneratorFeed feed(session.get(), &stream, [i = 0](std::vector<Tensor>* element) mutable -> absl::StatusOr<bool> {
    if (i++ == 1) return errors::DataLoss("the camera is off");
    *element = {Tensor::Vector<int64_t>({1, 2}), Tensor::Scalar<tstring>("x")};
    return true;
  });
  EXPECT_THAT(session->Run(next), IsOk());
  EXPECT_THAT(session->Run(next), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the camera is off")));
  EXPECT_THAT(feed.Await(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(session->Run(next), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(DatasetTest, AFeedStopsWhileItsQueueIsFull) {
  const InputStream stream(scope_, {{DT_INT64}, {TensorShape()}}, 1);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  GeneratorFeed feed(session.get(), &stream, [](std::vector<Tensor>* element) {
    *element = {Tensor::Scalar<int64_t>(1)};
    return true;
  });
  EXPECT_THAT(feed.Stop(), IsOk());
}

TEST_F(DatasetTest, AStreamTakesOnlyItsElements) {
  const InputStream stream(scope_, {{DT_INT64}, {TensorShape()}}, 1);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  EXPECT_THAT(stream.Push(*session, {Tensor::Scalar<float>(1)}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(stream.Push(*session, {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
