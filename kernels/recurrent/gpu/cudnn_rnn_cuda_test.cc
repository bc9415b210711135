// cuDNN's side of recurrent networks without a GPU: descriptors are the library's own; functions that need a device are
// stood for by ones that write down how they were called.
#include <vector>

#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "kernels/device/cudnn/described_devices_testing.h"
#include "kernels/recurrent/gpu/cudnn_rnn_descriptors.h"
#include "kernels/recurrent/gpu/cudnn_rnns.h"

namespace weir {
namespace {

using testing::HasSubstr;
using Code = absl::StatusCode;

// What was called, and what it is to say.
struct Calls {
  RnnSizes sizes;
  size_t element = sizeof(float), too_many = 0, moved = 0;
  cudnnForwardMode_t mode{};
  const void *x = nullptr, *h = nullptr, *cx = nullptr, *params = nullptr, *lengths = nullptr, *y = nullptr;
  const void *reserve = nullptr, *workspace = nullptr, *dparams = nullptr, *dx = nullptr, *dropout_state = nullptr;
  size_t reserve_bytes = 0, params_bytes = 0;
  bool has_cells = false, seeded = false, restored = false;
  unsigned long long seed = 0;
  float ratio = -1;
};
Calls* calls = nullptr;

cudnnStatus_t WeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t, size_t* bytes) {
  *bytes = static_cast<size_t>(calls->sizes.NumParams()) * calls->element + calls->too_many;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t WeightParams(cudnnHandle_t, cudnnRNNDescriptor_t, int32_t part, size_t, const void* space, int32_t i,
                           cudnnTensorDescriptor_t, void** matrix, cudnnTensorDescriptor_t, void** bias) {
  const auto at = [space](int64_t offset) {
    return const_cast<char*>(static_cast<const char*>(space)) + static_cast<size_t>(offset) * calls->element;
  };
  *matrix = at(calls->sizes.MatrixOffset(part, i)) + (part == 1 && i == 2 ? calls->moved : 0);
  *bias = i < calls->sizes.BiasesPerPart() ? at(calls->sizes.BiasOffset(part, i)) : nullptr;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t TempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t,
                             size_t* workspace, size_t* reserve) {
  calls->mode = mode;
  *workspace = 1000;
  *reserve = 2001;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t Forward(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t mode, const int32_t* lengths,
                      cudnnRNNDataDescriptor_t, const void* x, cudnnRNNDataDescriptor_t, void* y,
                      cudnnTensorDescriptor_t, const void* hx, void*, cudnnTensorDescriptor_t c, const void* cx, void*,
                      size_t params_bytes, const void* params, size_t, void* workspace, size_t reserve_bytes,
                      void* reserve) {
  calls->mode = mode;
  calls->lengths = lengths;
  calls->x = x;
  calls->y = y;
  calls->h = hx;
  calls->has_cells = c != nullptr;
  calls->cx = cx;
  calls->params_bytes = params_bytes;
  calls->params = params;
  calls->workspace = workspace;
  calls->reserve_bytes = reserve_bytes;
  calls->reserve = reserve;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t BackwardData(cudnnHandle_t, cudnnRNNDescriptor_t, const int32_t*, cudnnRNNDataDescriptor_t, const void* y,
                           const void*, cudnnRNNDataDescriptor_t, void* dx, cudnnTensorDescriptor_t, const void*,
                           const void*, void*, cudnnTensorDescriptor_t, const void*, const void*, void*, size_t,
                           const void* params, size_t, void*, size_t reserve_bytes, void* reserve) {
  calls->y = y;
  calls->dx = dx;
  calls->params = params;
  calls->reserve_bytes = reserve_bytes;
  calls->reserve = reserve;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t BackwardWeights(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnWgradMode_t mode, const int32_t*,
                              cudnnRNNDataDescriptor_t, const void*, cudnnTensorDescriptor_t, const void*,
                              cudnnRNNDataDescriptor_t, const void*, size_t, void* dparams, size_t, void*, size_t,
                              void*) {
  if (mode != CUDNN_WGRAD_MODE_ADD) return CUDNN_STATUS_NOT_SUPPORTED;
  calls->dparams = dparams;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t SetDropout(cudnnDropoutDescriptor_t, cudnnHandle_t, float ratio, void* state, size_t,
                         unsigned long long seed) {
  calls->seeded = state != nullptr;
  calls->ratio = ratio;
  calls->seed = seed;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t RestoreDropout(cudnnDropoutDescriptor_t, cudnnHandle_t, float ratio, void* state, size_t,
                             unsigned long long seed) {
  calls->restored = true;
  calls->ratio = ratio;
  calls->dropout_state = state;
  calls->seed = seed;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t DropoutStatesSize(cudnnHandle_t, size_t* bytes) {
  *bytes = 4096;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t SetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }

class CudnnRnnTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto loaded = LoadCudnn();
    if (!loaded.ok()) GTEST_SKIP() << loaded.status().message();
    cudnn_ = **loaded;
    ASSERT_OK_AND_ASSIGN(const CudnnRnnFunctions* const rnn, LoadCudnnRnn());
    rnn_ = *rnn;
    calls = &calls_;
  }

  static RnnProblem Problem(RnnMode mode = RnnMode::kLstm, DataType type = DT_FLOAT, bool is_bidirectional = true) {
    return {.dtype = type,
            .batch = {
                .sizes = *RnnSizes::Of(mode, is_bidirectional, 2, 8, 5), .steps = 4, .rows = 3, .lengths = {4, 4, 4}}};
  }
  absl::Status Describe(const RnnProblem& problem) const {
    return CudnnRnnDescriptors::Make(cudnn_, rnn_, problem, /*allow_tf32=*/false, nullptr).status();
  }
  // With all that needs a device replaced.
  absl::StatusOr<std::shared_ptr<RnnLibrary>> NewLibrary() {
    cudnn_.SetStream = &SetStream;
    rnn_.WeightSpaceSize = &WeightSpaceSize;
    rnn_.WeightParams = &WeightParams;
    rnn_.TempSpaceSizes = &TempSpaceSizes;
    rnn_.Forward = &Forward;
    rnn_.BackwardData = &BackwardData;
    rnn_.BackwardWeights = &BackwardWeights;
    rnn_.SetDropout = &SetDropout;
    rnn_.RestoreDropout = &RestoreDropout;
    rnn_.DropoutStatesSize = &DropoutStatesSize;
    ASSIGN_OR_RETURN(std::unique_ptr<CudnnTarget> target, CudnnTarget::Describe(cudnn_, Json(kH100)));
    return NewCudnnRnns(std::move(target), "an H100", rnn_, {});
  }
  absl::StatusOr<std::shared_ptr<RnnPlan>> PlanFor(const RnnProblem& problem) {
    calls_.sizes = problem.batch.sizes;
    ASSIGN_OR_RETURN(library_, NewLibrary());
    return library_->Make(problem);
  }

  CudnnFunctions cudnn_;
  CudnnRnnFunctions rnn_;
  Calls calls_;
  std::shared_ptr<RnnLibrary> library_;
  SimulatedGpu gpu_{SimulatedGpu::Options()};
};

TEST_F(CudnnRnnTest, TakesNetworksOfAllKindsTypesAndSequences) {
  for (const RnnMode mode : {RnnMode::kLstm, RnnMode::kGru, RnnMode::kRelu, RnnMode::kTanh}) {
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16, DT_DOUBLE}) {
      for (const bool is_bidirectional : {false, true}) {
        for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{4, 4, 4}, {1, 4, 0}}) {
          RnnProblem problem = Problem(mode, type, is_bidirectional);
          problem.batch.lengths = lengths;
          EXPECT_THAT(Describe(problem), IsOk()) << static_cast<int>(mode) << " " << DataTypeName(type);
        }
      }
    }
  }
}

TEST_F(CudnnRnnTest, TakesProjectionsAndInputsThatAreSkipped) {
  RnnProblem projected = Problem(), skipped = Problem();
  ASSERT_OK_AND_ASSIGN(projected.batch.sizes, projected.batch.sizes.WithProjection(6));
  EXPECT_THAT(Describe(projected), IsOk());
  skipped.batch.sizes.input = 8;
  ASSERT_OK_AND_ASSIGN(skipped.batch.sizes, skipped.batch.sizes.WithInputSkipped());
  EXPECT_THAT(Describe(skipped), IsOk());
  RnnProblem gru = Problem(RnnMode::kGru);  // as no kernel asks for it
  gru.batch.sizes.projected = 6;
  EXPECT_THAT(Describe(gru), StatusIs(Code::kUnimplemented));
}

TEST_F(CudnnRnnTest, RefusesDimensionsThatItsIntegersDoNotHold) {
  RnnProblem steps = Problem(), rows = Problem();
  steps.batch.steps = int64_t{1} << 31;
  EXPECT_THAT(Describe(steps), StatusIs(Code::kUnimplemented, HasSubstr("2147483648 steps")));
  rows.batch.rows = int64_t{1} << 29;
  EXPECT_THAT(Describe(rows), StatusIs(Code::kUnimplemented, HasSubstr("536870912 rows of 8 units")));
}

TEST_F(CudnnRnnTest, CallsCarryTheirArguments) {
  RnnProblem problem = Problem(RnnMode::kLstm, DT_FLOAT, /*is_bidirectional=*/false);
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanFor(problem));
  EXPECT_EQ(calls_.mode, CUDNN_FWD_MODE_TRAINING);
  EXPECT_EQ(plan->workspace_bytes(), 1000);
  EXPECT_EQ(plan->reserve_bytes(), 2001);
  EXPECT_EQ(calls_.ratio, 0);
  EXPECT_FALSE(calls_.restored);
  ASSERT_OK_AND_ASSIGN(const auto stream, gpu_.CreateStream("compute"));
  const size_t params_bytes = static_cast<size_t>(problem.batch.sizes.NumParams()) * sizeof(float);
  ASSERT_OK_AND_ASSIGN(void* const dparams, gpu_.AllocateDevice(params_bytes));
  int at[10];  // addresses alone
  const int32_t lengths[] = {4, 4, 4};
  ASSERT_THAT(plan->Forward(*stream, {.x = &at[0],
                                      .h = &at[1],
                                      .c = &at[2],
                                      .params = &at[3],
                                      .lengths = lengths,
                                      .y = &at[4],
                                      .last_h = &at[5],
                                      .last_c = &at[6],
                                      .reserve = &at[7],
                                      .workspace = &at[8]}),
              IsOk());
  EXPECT_EQ(calls_.x, &at[0]);
  EXPECT_EQ(calls_.h, &at[1]);
  EXPECT_EQ(calls_.cx, &at[2]);
  EXPECT_EQ(calls_.params, &at[3]);
  EXPECT_EQ(calls_.params_bytes, params_bytes);
  EXPECT_EQ(calls_.lengths, lengths);
  EXPECT_EQ(calls_.y, &at[4]);
  EXPECT_EQ(calls_.reserve, &at[7]);
  EXPECT_EQ(calls_.reserve_bytes, 2001);
  EXPECT_EQ(calls_.workspace, &at[8]);
  EXPECT_TRUE(calls_.has_cells);
  calls_ = {};
  ASSERT_THAT(
      plan->Backward(
          *stream,
          {.params = &at[3], .y = &at[4], .reserve = &at[7], .dx = &at[9], .dparams = dparams, .workspace = &at[8]}),
      IsOk());
  EXPECT_EQ(calls_.y, &at[4]);
  EXPECT_EQ(calls_.dx, &at[9]);
  EXPECT_EQ(calls_.params, &at[3]);
  EXPECT_EQ(calls_.dparams, dparams);
  EXPECT_EQ(calls_.reserve, &at[7]);
  EXPECT_EQ(calls_.reserve_bytes, 2001);
  ASSERT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(*static_cast<float*>(dparams), 0);  // to which the library adds
  EXPECT_THAT(gpu_.FreeDevice(dparams), IsOk());
}

TEST_F(CudnnRnnTest, InferenceKeepsNothingAndOtherNetworksHaveNoCells) {
  RnnProblem problem = Problem(RnnMode::kGru);
  problem.is_training = false;
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanFor(problem));
  EXPECT_EQ(plan->reserve_bytes(), 0);
  ASSERT_OK_AND_ASSIGN(const auto stream, gpu_.CreateStream("compute"));
  int reserve = 0;
  calls_.has_cells = true;
  ASSERT_THAT(plan->Forward(*stream, {.reserve = &reserve}), IsOk());
  EXPECT_EQ(calls_.mode, CUDNN_FWD_MODE_INFERENCE);
  EXPECT_EQ(calls_.reserve, nullptr);
  EXPECT_EQ(calls_.reserve_bytes, 0);
  EXPECT_FALSE(calls_.has_cells);
}

TEST_F(CudnnRnnTest, ParametersThatLieElsewhereAreNone) {
  EXPECT_THAT(PlanFor(Problem()), IsOk());
  RnnProblem projected = Problem();
  ASSERT_OK_AND_ASSIGN(projected.batch.sizes, projected.batch.sizes.WithProjection(6));
  EXPECT_THAT(PlanFor(projected), IsOk());
  calls_.too_many = 4;
  EXPECT_THAT(PlanFor(Problem()), StatusIs(Code::kUnimplemented, HasSubstr("bytes of parameters")));
  calls_.too_many = 0;
  calls_.moved = 4;
  EXPECT_THAT(PlanFor(Problem()), StatusIs(Code::kUnimplemented, HasSubstr("parameter 2 of part 1")));
}

TEST_F(CudnnRnnTest, DropoutGoesOnWhereItWas) {
  ASSERT_OK_AND_ASSIGN(const auto library, NewLibrary());
  const std::unique_ptr<WorkQueue> work_queue = WorkQueue::Create({.compute_threads = 1});
  ASSERT_OK_AND_ASSIGN(const auto device,
                       GpuDevice::Create(std::make_shared<SimulatedGpu>(SimulatedGpu::Options()), work_queue.get(),
                                         {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                          .config = {.memory_limit = size_t{1} << 20}}));
  RnnProblem problem = Problem();
  calls_.sizes = problem.batch.sizes;
  ASSERT_OK_AND_ASSIGN(problem.dropout, library->NewDropout(*device, device->compute(), 0.25f, 77));
  EXPECT_TRUE(calls_.seeded);
  EXPECT_EQ(calls_.seed, 77);
  EXPECT_EQ(problem.dropout.state.TotalBytes(), 4096);
  calls_.seeded = false;
  ASSERT_THAT(library->Make(problem), IsOk());
  EXPECT_TRUE(calls_.restored);
  EXPECT_FALSE(calls_.seeded);
  EXPECT_EQ(calls_.ratio, 0.25f);
  EXPECT_EQ(calls_.seed, 77);
  EXPECT_EQ(calls_.dropout_state, problem.dropout.state.raw_data());
}

}  // namespace
}  // namespace weir
