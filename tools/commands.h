// The weir commands that inspect something and print it.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

class KernelRegistry;
class OpRegistry;

// weir status grpc://HOST:PORT: the devices of that task's cluster with their incarnations, and the task's GPUs and
// links; with `resources` also its stateful objects.
absl::Status PrintStatus(const std::string& target, bool resources, std::ostream& out);

// weir status --json grpc://HOST:PORT: the task's TaskReport (protos/weir/status.proto) as JSON.
absl::Status PrintStatusJson(const std::string& target, std::ostream& out);

struct Repetition {
  absl::Duration interval = absl::Seconds(2);
  int count = 0;  // 0: until SIGINT or SIGTERM, which is no error
};
struct StatusWatch {
  bool json = false;  // a line for each report
  bool resources = false;
  Repetition repeat;
};
// weir status --watch: the same, again and again.
absl::Status WatchStatus(const std::string& target, const StatusWatch& watch, std::ostream& out);
// weir top grpc://HOST:PORT: the tasks of the cluster with steps, bytes and memory, again and again; in place if `out`
// is a terminal.
absl::Status RunTop(const std::string& target, const Repetition& repeat, bool is_terminal, std::ostream& out);

// weir probe TARGET…: OK if each of these tasks answers GetStatus within `wait`.
absl::Status ProbeTasks(const std::vector<std::string>& targets, absl::Duration wait);

// weir resolve: the TF_CONFIG derived from this process's environment. `from` is the name of a ClusterSource, or
// "auto".
absl::Status PrintResolvedCluster(const std::string& from, std::ostream& out);

// The ops and kernels of a build.
struct OpRegistries {
  const OpRegistry& ops;
  const KernelRegistry& kernels;
};
// weir ops: every op with its types, the devices that have kernels for it, and whether it has a gradient.
absl::Status PrintOps(const OpRegistries& registries, std::ostream& out);
// weir ops --markdown: a short form, the page docs/ops.md.
absl::Status PrintOpsPage(const OpRegistries& registries, std::ostream& out);
// weir ops --against FILE: prints differences from the OpList in FILE, binary or text. Returns the number of ops that
// differ; ops that exist on one side only are counted separately.
absl::StatusOr<int> CompareOps(const OpRegistry& ops, const std::string& file, std::ostream& out);

// weir graph print FILE: prints a GraphDef, binary or text, in the text form. With `shapes`, includes the inferred
// shape of each output; unknown for a node whose inputs do not match.
absl::Status PrintGraphFile(const OpRegistry& ops, const std::string& file, bool shapes, std::ostream& out);

struct PlaceCommand {
  std::vector<std::string> files;  // GraphDefs, binary or text
  std::string devices;             // as ParseDeviceCosts takes them, or "@FILE"
  std::string link = "latency_us=150,gbs=3";
  std::string times;  // a file with a RunMetadata; "": none
  bool explain = false;
  int unknown_dimension = 32;
  int effort = 50;  // millions of kernels to simulate for a graph
};
// weir graph place FILE…: places each graph by cost, and prints the predicted time of its heaviest step beside that of
// other placements; with `explain` also each unit with its device and its alternatives.
absl::Status PlaceGraphFiles(const OpRegistries& registries, const PlaceCommand& command, std::ostream& out);

// The commands of weir checkpoint take a PATH: a checkpoint's prefix or index, or a directory, which stands for its
// newest checkpoint unless stated otherwise.
// weir checkpoint list PATH: the name, type and shape of every tensor; for a directory its checkpoints and its lease.
absl::Status ListCheckpoint(const std::string& path, std::ostream& out);
// weir checkpoint show PATH [NAME…]: also prints values; of all tensors, and the manifest, if no name is given.
absl::Status ShowCheckpoint(const std::string& path, const std::vector<std::string>& names, int max_entries,
                            std::ostream& out);
// weir checkpoint verify PATH: reads everything and compares the checksums; of all checkpoints of a directory. DataLoss
// if one is damaged.
absl::Status VerifyCheckpoint(const std::string& path, std::ostream& out);
// weir checkpoint diff A B: prints the tensors that differ, and returns their number.
absl::StatusOr<int> CompareCheckpoints(const std::string& first, const std::string& second, std::ostream& out);
// weir checkpoint export PATH DESTINATION [NAME…]: writes the tensors, or those named, to a new checkpoint in one file,
// slices joined.
absl::Status ExportCheckpoint(const std::string& path, const std::string& destination,
                              const std::vector<std::string>& names, std::ostream& out);

// The commands of weir model take a PATH: the folder of a SavedModel, or the file of a frozen GraphDef.
// weir model show PATH: tags, signatures, variables, assets, and ops that this build lacks, of each graph.
absl::Status ShowModel(const std::string& path, std::ostream& out);

struct ModelCommand {
  std::string path;
  std::string signature = "serving_default";
  std::vector<std::string> tags = {"serve"};
  std::string target;                // "grpc://host:port"; "": this process
  std::vector<std::string> inputs;   // "x=FILE.npy" or "x=[[1, 2]]"
  std::vector<std::string> outputs;  // "y=FILE.npy" or "y"
  std::string init_op;               // of a frozen graph
};
// weir model run PATH: runs a signature once and prints its results as JSON, without those that go to files.
absl::Status RunModel(const ModelCommand& command, std::ostream& out);
// weir model freeze PATH -o FILE: writes a frozen GraphDef of the signature, and prints its inputs and outputs.
absl::Status FreezeModelTo(const ModelCommand& command, const std::string& file, std::ostream& out);

}  // namespace weir
