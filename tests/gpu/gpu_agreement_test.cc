// Compares the output of every GPU kernel with the CPU kernel's.
#include "kernels/library.h"
#include "tests/gpu/gpu_agreement_elsewhere_testing.h"
#include "tests/gpu/gpu_agreement_testing.h"
#include "tests/gpu/kernel_coverage_testing.h"

namespace weir {
namespace {

const DataType kFloats[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
// Beside them and int64 and bool: what the rarer kernels have.
const DataType kRarer[] = {DT_INT8, DT_UINT8, DT_INT16, DT_UINT16, DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128};

TEST_P(GpuKernelAgreementTest, EveryKernelAgreesWithTheCpus) {
  AddElementwise();
  for (const DataType type : kFloats) {
    AddFloats(type);
    AddMoves(type);
    AddValues(type);
  }
  AddValues(DT_INT64);
  std::vector<DataType> moved = {DT_INT64, DT_BOOL};
  moved.insert(moved.end(), std::begin(kRarer), std::end(kRarer));
  for (const DataType type : moved) AddMoves(type);
  moved.insert(moved.end(), std::begin(kFloats), std::end(kFloats));
  for (const DataType type : moved) {
    AddDiagonals(type);
    AddSpaces(type);
    AddReplacements(type);
  }
  for (const DataType type : kRarer) {
    AddLists("AddN", {{Of(type, TensorShape({3})), Of(type, TensorShape({3})), Of(type, TensorShape({3}))}});
  }
  for (const DataType type : {DT_COMPLEX64, DT_COMPLEX128}) {
    for (const char* op : {"Sum", "Mean", "Prod"}) {
      Add(op, {Of(type, TensorShape({2, 3, 4})), AsTensor<int32_t>({0, 2})});
      Add(op, {Of(type, TensorShape({2, 0})), AsTensor<int32_t>({0})});
    }
    AddProducts(type);
  }
  std::vector<float> odd(50, 0.0f);
  odd[7] = odd[30] = NAN;
  odd[9] = -0.0f;
  odd[11] = -INFINITY;
  odd[12] = INFINITY;
  odd[49] = -3;
  Add("TopKV2", {AsTensor<float>(odd), AsScalar<int32_t>(50)});
  AddPredictions();
  for (const DataType type : kFloats) AddSparse(type);
  AddCounts();
  for (const DataType type : {DT_FLOAT, DT_HALF}) AddLstms(type);
  AddGrus();
  AddQuantised();
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64}) AddIndexed(type);
  for (const DataType type : kFloats) {
    AddSteps(type);
    AddRandom(type);
    AddConvolutions(type);
    AddPools(type);
    if (type != DT_DOUBLE) AddNorms(type);
    AddImages(type);
    AddVolumes(type);
    AddRnns(type);
    AddRnnParameters(type);
  }
  AddRandomIntegers();
  Add("ResizeNearestNeighbor", {Of(DT_INT64, TensorShape({1, 3, 4, 2})), AsTensor<int32_t>({5, 2})});
  for (const char* op : {"Sum", "Max", "Min"}) {
    Add(op, {Of(DT_INT64, TensorShape({2, 3})), AsTensor<int32_t>({1})});
  }
  for (const char* op : {"All", "Any"}) Add(op, {Of(DT_BOOL, TensorShape({4, 3})), AsTensor<int32_t>({1})});
  AddLists("AddN", {{Of(DT_INT64, TensorShape({3})), Of(DT_INT64, TensorShape({3}))}});
  AddInt32();
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_INT32, DT_BOOL}) {
    AddLists(type);
    AddListsOfRows(type);
    AddLongLists(type);
    AddArrays(type);
    AddStacks(type);
  }
  AddListsOfLists();
  AddArraysOfLists();
  Compare();

  ExpectThatAllKernelsRan();
}

INSTANTIATE_TEST_SUITE_P(Gpus, GpuKernelAgreementTest, testing::Values("Simulated", "Cuda"),
                         [](const auto& gpus) { return gpus.param; });

}  // namespace

void GpuAgreementTest::ExpectThatAllKernelsRan() {
  OpRegistry ops;
  ASSERT_THAT(RegisterAllOps(ops), IsOk());
  std::vector<const weir::Node*> fetched;
  for (const Output& output : fetches_) fetched.push_back(output.node());
  const std::set<KernelTypes> ran = KernelsThatRun(kernels_, fetched);
  std::set<KernelTypes> missing;
  for (const KernelTypes& types : KernelsForGpus(kernels_, ops)) {
    if (!ran.contains(types)) missing.insert(types);
  }
  for (const CheckedElsewhere& elsewhere : KernelsCheckedElsewhere()) {
    for (const KernelTypes& what : elsewhere.what) {
      const size_t exempt =
          std::erase_if(missing, [&](const KernelTypes& t) { return t == what || t.starts_with(what + " of "); });
      EXPECT_GT(exempt, 0u) << what << " needs no exemption: a case runs it, or there is no such kernel";
    }
  }
  for (const KernelTypes& types : missing) ADD_FAILURE() << types << ": no case compares the kernel for GPUs";
}

}  // namespace weir
