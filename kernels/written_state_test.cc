// The ops that write variables and tables: the updates that the commit of a step makes wait for a decision.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "kernels/library.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

class WrittenStateTest : public OpTest {};

bool TakesState(const tensorflow::OpDef& op) {
  return std::any_of(op.input_arg().begin(), op.input_arg().end(),
                     [](const auto& arg) { return arg.is_ref() || arg.type() == tensorflow::DT_RESOURCE; });
}

// Ops that take state without writing a variable or a table.
bool WritesNothing(const std::string& op) {
  static const auto* const kReaders = new absl::flat_hash_set<std::string>{
      "DebugGradientRefIdentity", "DisableCopyOnRead", "EmbeddingMapRead", "EmbeddingTableExport",
      "EmbeddingTableGather", "EmbeddingTableIsInitialized", "EmbeddingTableLoad", "EmbeddingTableSave",
      "EmbeddingTableSize", "EmbeddingTableStatistics", "IsResourceHandleRefCounting", "IsVariableInitialized",
      "LookupTableExport", "LookupTableExportV2", "LookupTableFind", "LookupTableFindV2", "LookupTableSize",
      "LookupTableSizeV2", "MakeWeakResourceHandle", "ReadVariableOp", "ReserveVariableSnapshot", "ResourceGather",
      "ResourceGatherNd", "SnapshotVariable", "VarIsInitializedOp", "VariableShape",
      // Claims, and chunks under leases; a division of a chunk leaves the same examples in the progress.
      "DealtIteratorGetNext", "InputDealerClaim", "InputDealerTake",
      // Pass references on.
      "RefEnter", "RefExit", "RefIdentity", "RefMerge", "RefNextIteration", "RefSelect", "RefSwitch",
      // Moves of parts between servers have a protocol of their own.
      "EmbeddingMapCommit", "EmbeddingMapSeal", "EmbeddingMapSet", "EmbeddingRoute", "EmbeddingTableAdopt",
      "EmbeddingTableOwn", "EmbeddingTableReceive", "EmbeddingTableSend",
      // Reads a dataset, which may wait for other steps, before it fills the table at once.
      "InitializeTableFromDataset",
      // Resources of tests.
      "ResourceCreateOp", "ResourceInitializedOp", "ResourceUsingOp",
      // State of the step itself.
      "DestroyTemporaryVariable"};
  static constexpr const char* kFamilies[] = {
      // State of the step itself.
      "Stack", "TensorArray",
      // Steps take from them, or put into them: docs/commit.md lists them among what it does not cover.
      "Accumulator", "ResourceAccumulator", "SparseAccumulator", "Barrier", "FakeQueue", "Queue", "Reader", "Mutex",
      "Iterator", "MultiDeviceIterator", "MakeIterator", "SerializeIterator", "DeserializeIterator",
      "ExperimentalIterator", "DeleteIterator", "DeleteMultiDeviceIterator", "DeleteMemoryCache",
      "DeleteRandomSeedGenerator", "DeleteSeedGenerator", "Rng", "Stateful",
      // Files and collectives.
      "CloseSummaryWriter", "CreateSummaryFileWriter", "FlushSummaryWriter", "Write", "Collective"};
  return kReaders->contains(op) || absl::EndsWith(op, "Dataset") || absl::StrContains(op, "DatasetV") ||
         std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](const char* family) { return absl::StartsWith(op, family); });
}

TEST_F(WrittenStateTest, OpsThatWriteStateSaySo) {
  int writers = 0;
  for (const OpRegistration* op : ops().All()) {
    const std::string& name = op->op_def->name();
    if (!TakesState(*op->op_def)) {
      EXPECT_FALSE(op->writes_state) << name << " writes state that it does not take";
      continue;
    }
    writers += op->writes_state ? 1 : 0;
    EXPECT_NE(op->writes_state, WritesNothing(name)) << name
                                                     << (op->writes_state ? " writes state, but is listed here"
                                                                          : " takes state: does it write it? Then its "
                                                                            "registration needs WritesState()");
  }
  EXPECT_GT(writers, 100);
}

}  // namespace
}  // namespace weir
