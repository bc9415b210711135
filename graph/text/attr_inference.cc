#include "graph/text/attr_inference.h"

#include <algorithm>
#include <set>

#include "core/op/attr_value.h"

namespace weir::graph_text {
namespace {

using tensorflow::AttrValue;
using tensorflow::OpDef;
using Args = google::protobuf::RepeatedPtrField<OpDef::ArgDef>;

class Inference {
 public:
  explicit Inference(const tensorflow::NodeDef& node) : node_(node) {}

  void Walk(const Args& args, const KnownTypes& types);
  std::map<std::string, AttrValue> Take() { return std::move(inferred_); }

 private:
  // The length of the lists among `args`, if they all have the same length or only one is unknown.
  std::optional<size_t> ListLength(const Args& args, size_t num_types) const;
  std::optional<size_t> KnownLength(const OpDef::ArgDef& arg) const;
  const AttrValue* Find(const std::string& name) const {
    if (auto it = inferred_.find(name); it != inferred_.end()) return &it->second;
    return FindAttr(node_, name);
  }
  void Set(const std::string& name, AttrValue value) {
    if (Find(name) == nullptr) inferred_[name] = std::move(value);
  }

  const tensorflow::NodeDef& node_;
  std::map<std::string, AttrValue> inferred_;
};

bool IsList(const OpDef::ArgDef& arg) { return !arg.number_attr().empty() || !arg.type_list_attr().empty(); }

std::optional<size_t> Inference::KnownLength(const OpDef::ArgDef& arg) const {
  if (!IsList(arg)) return 1;
  if (const AttrValue* n = Find(arg.number_attr()); n != nullptr && n->i() >= 0) return n->i();
  if (const AttrValue* list = Find(arg.type_list_attr()); list != nullptr) return list->list().type_size();
  return std::nullopt;
}

std::optional<size_t> Inference::ListLength(const Args& args, size_t num_types) const {
  size_t known = 0, open = 0;
  std::set<std::string> numbers;
  for (const OpDef::ArgDef& arg : args) {
    if (auto length = KnownLength(arg); length.has_value()) {
      known += *length;
    } else {
      ++open;
      numbers.insert(arg.number_attr());
    }
  }
  const bool same = open == 1 || (numbers.size() == 1 && !numbers.begin()->empty());
  if (open == 0 || !same || num_types < known || (num_types - known) % open != 0) return std::nullopt;
  return (num_types - known) / open;
}

void Inference::Walk(const Args& args, const KnownTypes& types) {
  const std::optional<size_t> list_length = ListLength(args, types.size());
  size_t at = 0;
  for (const OpDef::ArgDef& arg : args) {
    const std::optional<size_t> length = KnownLength(arg).has_value() ? KnownLength(arg) : list_length;
    if (!length.has_value() || *length > types.size() - at) return;
    AttrValue value;
    if (!arg.number_attr().empty()) {
      value.set_i(static_cast<int64_t>(*length));
      Set(arg.number_attr(), value);
    }
    const auto first = types.begin() + static_cast<int64_t>(at), last = first + static_cast<int64_t>(*length);
    at += *length;
    if (!arg.type_attr().empty()) {
      auto known = std::find_if(first, last, [](const auto& type) { return type.has_value(); });
      if (known == last) continue;
      value.set_type(static_cast<tensorflow::DataType>(RemoveRef(**known)));
      Set(arg.type_attr(), value);
    }
    if (!arg.type_list_attr().empty() && std::all_of(first, last, [](const auto& t) { return t.has_value(); })) {
      value.mutable_list();
      for (auto type = first; type != last; ++type) {
        value.mutable_list()->add_type(static_cast<tensorflow::DataType>(RemoveRef(**type)));
      }
      Set(arg.type_list_attr(), value);
    }
  }
}

}  // namespace

std::map<std::string, AttrValue> InferAttrs(const OpDef& op, const tensorflow::NodeDef& node, const KnownTypes& inputs,
                                            const std::optional<KnownTypes>& outputs) {
  Inference inference(node);
  inference.Walk(op.input_arg(), inputs);
  if (outputs.has_value()) inference.Walk(op.output_arg(), *outputs);
  return inference.Take();
}

}  // namespace weir::graph_text
