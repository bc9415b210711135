#include "core/op/attr_value.h"
#include "graph/functions/function_body.h"
#include "graph/functions/lower_control_flow.h"
#include "graph/node_replacement.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using tensorflow::NameAttrList;

// Output b of a switch enters branch b; its result is input b of a merge.
class BranchLowering {
 public:
  // With `devices`, branch b runs on devices[b], and the node's first input is the device name.
  BranchLowering(Node* node, Graph* graph, std::vector<std::string> devices = {})
      : replacement_(node, graph), devices_(std::move(devices)) {}

  absl::Status Run(std::vector<NameAttrList> branches, bool is_case) {
    absl::Status status = Build(std::move(branches), is_case);
    if (!status.ok()) replacement_.Abandon();
    return status;
  }

 private:
  absl::Status Build(std::vector<NameAttrList> branches, bool is_case) {
    branches_ = std::move(branches);
    is_case_ = is_case;
    ASSIGN_OR_RETURN(choice_, replacement_.Input(0));
    if (!devices_.empty()) {
      tensorflow::NodeDef target;
      target.set_op("_TargetDevice");
      SetNodeAttr("devices", devices_, &target);
      ASSIGN_OR_RETURN(choice_, replacement_.Add("target", std::move(target), {{choice_}}, nullptr));
    } else if (!is_case_) {
      ASSIGN_OR_RETURN(choice_, replacement_.AddTruth("condition", choice_));
    }
    // An Identity per branch, which keeps the branch's constants from running if it is not taken.
    ASSIGN_OR_RETURN(Output pivot, AddSwitch("choice", choice_, nullptr));
    replacement_.InheritControl(pivot.node());
    std::vector<std::vector<Output>> args(branches_.size());
    for (int i = 1; i < node().num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Output value, replacement_.Input(i));
      ASSIGN_OR_RETURN(Output split, AddSwitch("input", value, &value.node()->requested_device()));
      for (size_t b = 0; b < branches_.size(); ++b) args[b].emplace_back(split.node(), static_cast<int>(b));
    }
    for (size_t b = 0; b < branches_.size(); ++b) RETURN_IF_ERROR(AddBranch(b, pivot, args[b]));
    return Join();
  }

  absl::StatusOr<Output> AddSwitch(absl::string_view role, const Output& value, const std::string* device) {
    tensorflow::NodeDef def;
    def.set_op(is_case_ ? "_SwitchN" : "Switch");
    if (is_case_) SetNodeAttr("num_outs", static_cast<int64_t>(branches_.size()), &def);
    return replacement_.Add(role, std::move(def), {{value}, {choice_}}, device);
  }

  absl::Status AddBranch(size_t b, const Output& pivot, const std::vector<Output>& args) {
    const std::string role = is_case_ ? absl::StrCat("branch", b) : b == 0 ? "else" : "then";
    ASSIGN_OR_RETURN(Output way_in, replacement_.AddOp(absl::StrCat(role, "_pivot"), "Identity",
                                                       {{Output(pivot.node(), static_cast<int>(b))}}));
    ASSIGN_OR_RETURN(Node * call, replacement_.AddCall(role, branches_[b], args, node().output_types()));
    if (!devices_.empty()) {
      call->mutable_def()->set_device(devices_[b]);
      SetNodeAttr(kWholeCallAttr, true, call->mutable_def());
    }
    replacement_.graph()->AddControlEdge(way_in.node(), call);
    if (node().num_outputs() == 0) {
      ASSIGN_OR_RETURN(way_in, replacement_.AddOp(absl::StrCat(role, "_done"), "Identity", {{way_in}}));
      replacement_.graph()->AddControlEdge(call, way_in.node());
    }
    calls_.push_back(call);
    done_.push_back(way_in);
    return absl::OkStatus();
  }

  absl::Status Join() {
    std::vector<Output> results;
    for (int i = 0; i < node().num_outputs(); ++i) {
      InputList values;
      for (Node* call : calls_) values.emplace_back(Output(call, i));
      ASSIGN_OR_RETURN(Output merged, replacement_.AddOp("output", "Merge", {values}));
      results.push_back(merged);
    }
    if (!results.empty()) return replacement_.Finish(results, {});
    ASSIGN_OR_RETURN(Output merged, replacement_.AddOp("done", "Merge", {InputList(done_.begin(), done_.end())}));
    return replacement_.Finish({}, {merged.node()});
  }

  const Node& node() const { return *replacement_.node(); }

  NodeReplacement replacement_;
  const std::vector<std::string> devices_;
  std::vector<NameAttrList> branches_;
  bool is_case_ = false;
  Output choice_;
  std::vector<Node*> calls_;
  std::vector<Output> done_;
};

}  // namespace

absl::Status LowerIf(Node* node, Graph* graph) {
  NameAttrList then_branch, else_branch;
  RETURN_IF_ERROR(GetNodeAttr(node->def(), "then_branch", &then_branch));
  RETURN_IF_ERROR(GetNodeAttr(node->def(), "else_branch", &else_branch));
  return BranchLowering(node, graph).Run({else_branch, then_branch}, /*is_case=*/false);
}

absl::Status LowerCase(Node* node, Graph* graph) {
  std::vector<NameAttrList> branches;
  RETURN_IF_ERROR(GetNodeAttr(node->def(), "branches", &branches));
  return BranchLowering(node, graph).Run(std::move(branches), /*is_case=*/true);
}

absl::Status LowerRemoteCall(Node* node, const std::vector<std::string>& devices, Graph* graph) {
  NameAttrList function;
  RETURN_IF_ERROR(GetNodeAttr(node->def(), "f", &function));
  std::vector<NameAttrList> branches(devices.size(), function);
  return BranchLowering(node, graph, devices).Run(std::move(branches), /*is_case=*/true);
}

}  // namespace weir
