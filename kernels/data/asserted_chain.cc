#include "kernels/data/asserted_chain.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// Whether `name` is `base`, or a version of it: "BatchV2" of "Batch".
bool IsVersionOf(absl::string_view base, absl::string_view name) {
  if (!absl::ConsumePrefix(&name, base)) return false;
  if (name.empty()) return true;
  return absl::ConsumePrefix(&name, "V") && !name.empty() && std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
}

// Input `index` of the node that made the dataset, where it is a scalar of that type.
template <typename T>
const T* ScalarInput(const DatasetBase& dataset, size_t index) {
  const std::vector<Tensor>& inputs = dataset.origin().inputs;
  if (index >= inputs.size() || inputs[index].dtype() != DataTypeOf<T>() || inputs[index].NumElements() != 1) {
    return nullptr;
  }
  return inputs[index].data<T>();
}

// What its iterators are called in TensorFlow: the op without "Dataset", but for some that name what they do. Empty for
// a dataset that is not seen.
std::string NameOf(const DatasetBase& dataset) {
  if (dataset.origin().node == nullptr) return dataset.type();
  absl::string_view op = dataset.origin().node->op();
  absl::ConsumePrefix(&op, "Experimental");
  const std::string name = absl::StrReplaceAll(op, {{"Dataset", ""}});
  for (const char* hidden : {"Options", "Finalize", "Rewrite", "Optimize"}) {
    if (IsVersionOf(hidden, name)) return "";
  }
  for (const char* unversioned : {"Shuffle", "ShuffleAndRepeat", "Snapshot"}) {
    if (IsVersionOf(unversioned, name)) return unversioned;
  }
  if (name == "Take" || name == "Skip") return "Finite" + name;
  if (name == "Repeat") {
    const int64_t* const count = ScalarInput<int64_t>(dataset, 1);
    return count != nullptr && *count < 0 ? "ForeverRepeat[0]" : "FiniteRepeat[0]";
  }
  if (IsVersionOf("Cache", name)) {
    const tstring* const file = ScalarInput<tstring>(dataset, 1);
    return file != nullptr && file->empty() ? "MemoryCacheImpl" : "FileCacheImpl";
  }
  return name;
}

absl::Status CheckNext(const std::vector<std::string>& expected, const std::vector<std::string>& behind) {
  if (expected.size() > behind.size()) {
    return errors::InvalidArgument("Asserted next ", expected.size(), " transformations but encountered only ",
                                   behind.size(), ".");
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string& name = behind[behind.size() - 1 - i];
    if (IsVersionOf(expected[i], name)) continue;
    return errors::InvalidArgument("Asserted transformation matching ", expected[i], " at offset ", i,
                                   " but encountered ", name, " transformation instead.");
  }
  return absl::OkStatus();
}

// Says nothing: the caller shows the text.
class Silence : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
};

// `text` is a NameAttrList: the op, and attributes that its node has.
absl::Status CheckNode(const DatasetBase& dataset, const std::string& text) {
  constexpr int kMaxDepth = 64;
  Silence silence;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silence);
  parser.SetRecursionLimit(kMaxDepth);
  tensorflow::NameAttrList expected;
  if (!parser.ParseFromString(text, &expected)) {
    return errors::InvalidArgument("Couldn't parse transformation '", text, "'.");
  }
  const tensorflow::NodeDef* const node = dataset.origin().node.get();
  const std::string op = node != nullptr ? node->op() : dataset.type() + "Dataset";
  if (!IsVersionOf(expected.name(), op)) {
    return errors::InvalidArgument("Asserted transformation matching '", expected.name(), "', but found '", op, "'.");
  }
  for (const auto& [name, value] : expected.attr()) {
    const tensorflow::AttrValue* found = nullptr;
    if (node != nullptr) {
      const auto attr = node->attr().find(name);
      if (attr != node->attr().end()) found = &attr->second;
    }
    if (found == nullptr) {
      return errors::InvalidArgument("Asserted attribute '", name, "' having a value of '", value.DebugString(),
                                     "', but found no such attribute defined.");
    }
    if (!google::protobuf::util::MessageDifferencer::Equivalent(*found, value)) {
      return errors::InvalidArgument("Asserted attribute '", name, "' having a value of '", value.DebugString(),
                                     "', but found value of '", found->DebugString(), "'.");
    }
  }
  return absl::OkStatus();
}

// Of a dataset with several inputs the last one counts.
absl::Status CheckPrevious(const DatasetBase& dataset, const std::vector<std::string>& expected) {
  const DatasetBase* current = &dataset;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (current->inputs().empty()) {
      return errors::InvalidArgument("Asserted previous ", expected.size(), " transformations but encountered only ", i,
                                     ".");
    }
    current = current->inputs().back().get();
    const absl::Status status = CheckNode(*current, expected[i]);
    if (status.ok()) continue;
    return errors::InvalidArgument("Failure checking transformations at offset ", i, ": ", status.message());
  }
  return absl::OkStatus();
}

class AssertedDataset : public UnaryDataset {
 public:
  AssertedDataset(std::string type, const DatasetPtr& input, const NodeArguments& node,
                  std::vector<std::string> expected)
      : UnaryDataset(std::move(type), input, node.output_types(), node.output_shapes()),
        expected_(std::move(expected)) {}
  const std::vector<std::string>& expected() const { return expected_; }
  bool looks_ahead() const { return type() == "AssertNext"; }
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<AssertedDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    // What comes behind was checked when the iterator at the root was made.
    absl::Status Initialize(IteratorContext& ctx) override {
      if (!dataset().looks_ahead()) RETURN_IF_ERROR(CheckPrevious(dataset(), dataset().expected_));
      return UnaryIterator::Initialize(ctx);
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override { return input_->GetNext(ctx, element); }
  };

  const std::vector<std::string> expected_;
};

class AssertedKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    type_ = ctx.op() == "AssertPrevDataset" ? "AssertPrev" : "AssertNext";
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(std::vector<std::string> expected, inputs.Strings("transformations"));
    return std::make_shared<AssertedDataset>(type_, input, inputs.node(), std::move(expected));
  }

 private:
  std::string type_;
};

// Goes through a pipeline from its root. A dataset that is reached in several ways is looked at once.
class NextChecker {
 public:
  absl::Status Check(const DatasetBase& dataset) {
    if (!seen_.insert(&dataset).second) return absl::OkStatus();
    if (const auto* asserted = dynamic_cast<const AssertedDataset*>(&dataset); asserted && asserted->looks_ahead()) {
      RETURN_IF_ERROR(CheckNext(asserted->expected(), behind_));
    }
    const std::string name = NameOf(dataset);
    const bool has_selector = dataset.type() == "DirectedInterleave";  // before the inputs
    for (size_t i = 0; i < dataset.inputs().size(); ++i) {
      const size_t index = i - (has_selector && i > 0 ? 1 : 0);
      if (!name.empty()) {
        behind_.push_back(dataset.inputs().size() > 1 ? absl::StrCat(name, "[", index, "]") : name);
      }
      RETURN_IF_ERROR(Check(*dataset.inputs()[i]));
      if (!name.empty()) behind_.pop_back();
    }
    return absl::OkStatus();
  }

 private:
  absl::flat_hash_set<const DatasetBase*> seen_;
  std::vector<std::string> behind_ = {"Root"};  // the names of what draws from the dataset, nearest last
};

}  // namespace

absl::Status CheckAssertedNext(const DatasetBase& root) { return NextChecker().Check(root); }

absl::Status RegisterAssertedChainKernels(KernelRegistry& kernels) {
  for (const char* op : {"AssertNextDataset", "ExperimentalAssertNextDataset", "AssertPrevDataset"}) {
    RETURN_IF_ERROR(kernels.Register<AssertedKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
