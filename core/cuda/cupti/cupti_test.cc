// Tests of CUPTI records with made-up records and a fake library: no GPU is needed.
#include <cstring>

#include "core/cuda/cupti/cupti_tracer.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CUpti_ActivityKernel10 KernelRecord(const char* name, uint64_t start, uint64_t end, uint32_t correlation,
                                    uint32_t device = 0) {
  CUpti_ActivityKernel10 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = start;
  record.end = end;
  record.correlationId = correlation;
  record.deviceId = device;
  record.streamId = 13;
  return record;
}
CUpti_ActivityAPI CallRecord(CUpti_ActivityKind kind, uint64_t start, uint32_t thread, uint32_t correlation) {
  CUpti_ActivityAPI record = {};
  record.kind = kind;
  record.start = start;
  record.end = start + 1;
  record.threadId = thread;
  record.correlationId = correlation;
  return record;
}
template <typename Record>
const CUpti_Activity& Of(const Record& record) {
  return reinterpret_cast<const CUpti_Activity&>(record);
}
std::vector<std::string> Names(const std::vector<GpuActivity>& activities) {
  std::vector<std::string> names;
  for (const GpuActivity& activity : activities) names.push_back(activity.name);
  return names;
}

TEST(CuptiRecords, WhatTheDeviceDidJoinsTheCallThatAskedForIt) {
  CuptiRecords records;
  records.Add(Of(KernelRecord("_ZN4weir5ScaleEPfi", 300, 400, 5)));
  records.Add(Of(CallRecord(CUPTI_ACTIVITY_KIND_DRIVER, 120, 77, 5)));  // within the runtime's call
  records.Add(Of(CallRecord(CUPTI_ACTIVITY_KIND_RUNTIME, 110, 77, 5)));
  const std::vector<GpuActivity> taken = records.Take(0, 0, 1000, 10000);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].name, "weir::Scale(float*, int)");
  EXPECT_EQ(taken[0].start_nanos, 10300);
  EXPECT_EQ(taken[0].end_nanos, 10400);
  EXPECT_EQ(taken[0].enqueued_nanos, 10110);
  EXPECT_EQ(taken[0].thread, 77);
  EXPECT_EQ(taken[0].stream, 13);
}

TEST(CuptiRecords, CopiesAndFillsHaveNames) {
  CuptiRecords records;
  CUpti_ActivityMemcpy6 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.bytes = 4096;
  copy.start = 1;
  copy.end = 2;
  copy.correlationId = 1;
  CUpti_ActivityMemset4 fill = {};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.bytes = 16;
  fill.start = 3;
  fill.end = 4;
  fill.correlationId = 2;
  records.Add(Of(fill));
  records.Add(Of(copy));
  for (const uint32_t correlation : {1, 2}) {
    records.Add(Of(CallRecord(CUPTI_ACTIVITY_KIND_RUNTIME, 0, 1, correlation)));
  }
  EXPECT_THAT(Names(records.Take(0, 0, 10, 0)), ElementsAre("copy to host 4096 bytes", "fill 16 bytes"));
}

TEST(CuptiRecords, OtherDevicesTimesAndKindsAreLeftOut) {
  CuptiRecords records;
  CUpti_ActivityAPI odd = CallRecord(CUPTI_ACTIVITY_KIND_OVERHEAD, 0, 0, 1);
  records.Add(Of(odd));
  EXPECT_EQ(records.size(), 0);
  records.Add(Of(KernelRecord("other device", 100, 200, 1, 1)));
  records.Add(Of(KernelRecord("before", 10, 20, 1)));
  records.Add(Of(KernelRecord("after", 900, 1100, 1)));
  records.Add(Of(KernelRecord("nobody called", 100, 200, 2)));
  records.Add(Of(KernelRecord(nullptr, 100, 200, 1)));
  records.Add(Of(CallRecord(CUPTI_ACTIVITY_KIND_RUNTIME, 50, 1, 1)));
  EXPECT_THAT(Names(records.Take(0, 50, 1000, 0)), ElementsAre("kernel"));
  records.Forget(2000);
  EXPECT_EQ(records.size(), 0);
}

// The fake library: the calls that it received and the records that it returns.
struct Fake {
  uint64_t now = 1000;
  int enabled = 0;
  CUptiResult refusal = CUPTI_SUCCESS;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::vector<CUpti_ActivityKernel10> kernels;  // not returned yet
};
Fake* fake = nullptr;

// A buffer of the fake library holds one record.
CUptiResult NextRecord(uint8_t* buffer, size_t, CUpti_Activity** record) {
  if (*record != nullptr) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer);
  return CUPTI_SUCCESS;
}
template <typename Record>
void Give(const Record& record) {
  uint8_t* buffer = nullptr;
  size_t bytes = 0, most = 1;
  fake->request(&buffer, &bytes, &most);
  ASSERT_GE(bytes, sizeof(record));
  std::memcpy(buffer, &record, sizeof(record));
  fake->complete(nullptr, 0, buffer, bytes, sizeof(record));
}

CuptiFunctions FakeFunctions() {
  CuptiFunctions f = {};
  f.GetResultString = [](CUptiResult, const char** text) {
    *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
    return CUPTI_SUCCESS;
  };
  f.GetTimestamp = [](uint64_t* now) {
    *now = fake->now += 1000;
    return CUPTI_SUCCESS;
  };
  f.SetThreadIdType = [](CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; };
  f.RegisterCallbacks = [](CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
    fake->request = request;
    fake->complete = complete;
    return CUPTI_SUCCESS;
  };
  f.Enable = [](CUpti_ActivityKind kind) {
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER && fake->refusal != CUPTI_SUCCESS) return fake->refusal;
    ++fake->enabled;
    return CUPTI_SUCCESS;
  };
  f.Disable = [](CUpti_ActivityKind) {
    --fake->enabled;
    return CUPTI_SUCCESS;
  };
  f.FlushAll = [](uint32_t) {
    for (const CUpti_ActivityKernel10& kernel : std::exchange(fake->kernels, {})) {
      Give(kernel);
      Give(CallRecord(CUPTI_ACTIVITY_KIND_RUNTIME, kernel.start, 7, kernel.correlationId));
    }
    return CUPTI_SUCCESS;
  };
  f.GetNextRecord = &NextRecord;
  return f;
}

class CuptiTracerTest : public testing::Test {
 protected:
  CuptiTracerTest() { fake = &fake_; }
  Fake fake_;
  const CuptiFunctions functions_ = FakeFunctions();
  CuptiTracer tracer_{functions_};
};

TEST_F(CuptiTracerTest, ARecordingHasWhatHappenedMeanwhile) {
  ASSERT_OK_AND_ASSIGN(const auto recording, tracer_.Record(0));
  EXPECT_EQ(fake_.enabled, 5);
  fake_.kernels = {KernelRecord("early", 100, 200, 1), KernelRecord("mine", 2100, 2200, 2),
                   KernelRecord("elsewhere", 2100, 2200, 3, 1)};
  ASSERT_OK_AND_ASSIGN(const std::vector<GpuActivity> activities, recording->Stop());
  EXPECT_THAT(Names(activities), ElementsAre("mine"));
  EXPECT_EQ(fake_.enabled, 0);
}

TEST_F(CuptiTracerTest, SeveralRecordingsShareTheRecords) {
  ASSERT_OK_AND_ASSIGN(const auto first, tracer_.Record(0));
  ASSERT_OK_AND_ASSIGN(auto second, tracer_.Record(1));
  EXPECT_EQ(fake_.enabled, 5);
  fake_.kernels = {KernelRecord("first", 3100, 3200, 1), KernelRecord("second", 3100, 3200, 2, 1)};
  ASSERT_OK_AND_ASSIGN(const std::vector<GpuActivity> of_first, first->Stop());
  EXPECT_THAT(Names(of_first), ElementsAre("first"));
  EXPECT_EQ(fake_.enabled, 5);
  ASSERT_OK_AND_ASSIGN(const std::vector<GpuActivity> of_second, second->Stop());
  EXPECT_THAT(Names(of_second), ElementsAre("second"));
  EXPECT_EQ(fake_.enabled, 0);
}

TEST_F(CuptiTracerTest, ARecordingThatIsDroppedEnds) {
  ASSERT_THAT(tracer_.Record(0), IsOk());
  EXPECT_EQ(fake_.enabled, 0);
}

TEST_F(CuptiTracerTest, ARefusalIsSaid) {
  fake_.refusal = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  EXPECT_THAT(tracer_.Record(0),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")));
}

TEST(Cupti, IsLoadedWhereItIs) {
  const auto loaded = LoadCupti();
  if (!loaded.ok()) GTEST_SKIP() << loaded.status().message();
  EXPECT_NE((*loaded)->GetNextRecord, nullptr);
}

}  // namespace
}  // namespace weir
