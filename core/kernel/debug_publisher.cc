#include "core/kernel/debug_publisher.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/fingerprint.h"
#include "core/tensor/tensor_proto.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
namespace {

// Microseconds since 1970, strictly increasing.
int64_t NextMicros() {
  static std::atomic<int64_t> last{0};
  const int64_t now =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  int64_t before = last.load();
  int64_t next = std::max(now, before + 1);
  while (!last.compare_exchange_weak(before, next)) next = std::max(now, before + 1);
  return next;
}

// "_tfdbg_device_,job_worker,replica_0,task_0,device_CPU_0"
std::string DumpDirectory(absl::string_view device) {
  return absl::StrCat("_tfdbg_device_", absl::StrReplaceAll(device, {{":", "_"}, {"/", ","}}));
}

// Writes <url>/<path>_<micros>; `path` may contain directories.
absl::Status Write(const FileSystemRegistry& files, const std::vector<std::string>& urls, absl::string_view path,
                   int64_t micros, tensorflow::Event event) {
  event.set_wall_time(static_cast<double>(micros));
  std::string bytes;
  if (!event.SerializeToString(&bytes))
    return errors::InvalidArgument("The debug event of ", path, " is too large to serialise");
  for (const std::string& url : urls) {
    ASSIGN_OR_RETURN(FileSystem * file_system, files.Find(url));
    const std::string full = JoinPath(url, absl::StrCat(path, "_", micros));
    RETURN_IF_ERROR(file_system->CreateDir(std::string(DirName(full))));
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system->NewWritableFile(full));
    RETURN_IF_ERROR(file->Append(bytes));
    RETURN_IF_ERROR(file->Close());
  }
  return absl::OkStatus();
}

// The debugger checks tensor_content to see whether there is a value; handles go there too, each with its length.
void WriteHandles(tensorflow::TensorProto* proto) {
  google::protobuf::io::StringOutputStream stream(proto->mutable_tensor_content());
  google::protobuf::io::CodedOutputStream coded(&stream);
  for (const auto& handle : proto->resource_handle_val()) {
    const std::string bytes = handle.SerializeAsString();
    coded.WriteVarint32(static_cast<uint32_t>(bytes.size()));
    coded.WriteString(bytes);
  }
}

std::string Quoted(const std::vector<std::string>& names) {
  return absl::StrCat(
      "[",
      absl::StrJoin(names, ",",
                    [](std::string* out, const std::string& name) { absl::StrAppend(out, "\"", name, "\""); }),
      "]");
}

}  // namespace

absl::StatusOr<DebugKey> DebugKey::Parse(absl::string_view device, absl::string_view tensor,
                                         absl::string_view debug_op) {
  DebugKey key;
  const size_t colon = tensor.rfind(':');
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(tensor.substr(colon + 1), &key.slot)) {
    return errors::InvalidArgument("tensor_name is '", tensor, "'; expected node:slot");
  }
  key.device = std::string(device);
  key.node = std::string(tensor.substr(0, colon));
  key.debug_op = std::string(debug_op);
  return key;
}

absl::Status PublishDebugTensor(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                                const DebugKey& key, const Tensor& tensor) {
  tensorflow::Event event;
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(key.node);
  value->set_node_name(absl::StrCat(key.node, ":", key.slot, ":", key.debug_op));
  auto* metadata = value->mutable_metadata()->mutable_plugin_data();
  metadata->set_plugin_name("debugger");
  metadata->set_content(absl::StrFormat(R"({"device":"%s","outputSlot":%d,"numChunks":1})", key.device, key.slot));
  if (tensor.IsInitialized()) {
    RETURN_IF_ERROR(TensorToProto(tensor, value->mutable_tensor()));
  } else {
    value->mutable_tensor()->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
    tensor.shape().ToProto(value->mutable_tensor()->mutable_tensor_shape());
  }
  if (tensor.dtype() == DT_RESOURCE) WriteHandles(value->mutable_tensor());
  const std::string path = absl::StrCat(key.node, "_", key.slot, "_", key.debug_op);
  return Write(files, urls, JoinPath(DumpDirectory(key.device), path), NextMicros(), std::move(event));
}

absl::Status PublishDebugGraph(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                               absl::string_view device, const tensorflow::GraphDef& graph) {
  tensorflow::Event event;
  graph.SerializeToString(event.mutable_graph_def());
  const std::string name = absl::StrCat("_tfdbg_graph_hash", Fingerprint64(event.graph_def()));
  return Write(files, urls, JoinPath(DumpDirectory(device), name), NextMicros(), std::move(event));
}

absl::Status PublishDebugStep(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                              const DebugStep& step) {
  tensorflow::Event event;
  const std::string asked =
      absl::StrCat(R"({"global_step":)", step.global_step, R"(,"session_run_index":)", step.run_index,
                   R"(,"executor_step_index":)", step.executor_index, R"(,"input_names":)", Quoted(step.inputs),
                   R"(,"output_names":)", Quoted(step.outputs), R"(,"target_nodes":)", Quoted(step.targets), "}");
  // Deprecated in event files, but the debugger reads it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  event.mutable_log_message()->set_message(asked);
#pragma GCC diagnostic pop
  const std::string name = absl::StrFormat("_tfdbg_core_metadata_sessionrun%014d", step.run_index);
  return Write(files, urls, name, NextMicros(), std::move(event));
}

}  // namespace weir
