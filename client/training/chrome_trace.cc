#include "client/training/chrome_trace.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/json_text.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace weir {
namespace {

// "name = MatMul(x, w)" is a node's label: its op.
absl::string_view OpOf(const tensorflow::NodeExecStats& node) {
  absl::string_view label = node.timeline_label();
  if (const size_t equals = label.find(" = "); equals != absl::string_view::npos) label.remove_prefix(equals + 3);
  label = label.substr(0, label.find('('));
  return label.empty() ? absl::string_view(node.node_name()) : label;
}

std::string NodeEvent(int device, const tensorflow::NodeExecStats& node) {
  return absl::StrFormat(R"({"ph":"X","pid":%d,"tid":%d,"ts":%d,"dur":%d,"name":%s,"args":{"node":%s,"label":%s}})",
                         device, node.thread_id(), node.all_start_micros(),
                         std::max<int64_t>(node.all_end_rel_micros(), 1), JsonString(OpOf(node)),
                         JsonString(node.node_name()), JsonString(node.timeline_label()));
}

}  // namespace

std::string ChromeTrace(const tensorflow::StepStats& stats) {
  std::vector<std::string> events;
  for (int i = 0; i < stats.dev_stats_size(); ++i) {
    const tensorflow::DeviceStepStats& device = stats.dev_stats(i);
    events.push_back(absl::StrFormat(R"({"ph":"M","pid":%d,"name":"process_name","args":{"name":%s}})", i,
                                     JsonString(device.device())));
    for (const auto& [id, name] : device.thread_names()) {
      events.push_back(absl::StrFormat(R"({"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}})", i, id,
                                       JsonString(name)));
    }
    for (const tensorflow::NodeExecStats& node : device.node_stats()) events.push_back(NodeEvent(i, node));
  }
  return absl::StrCat("{\"traceEvents\":[\n", absl::StrJoin(events, ",\n"), "\n]}\n");
}

}  // namespace weir
