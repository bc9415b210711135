#include "client/models/object_checkpoint.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"

namespace weir {
namespace {

using tensorflow::TrackableObjectGraph;
using TrackableObject = TrackableObjectGraph::TrackableObject;

constexpr char kObjects[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr char kValue[] = "VARIABLE_VALUE";
constexpr absl::string_view kValueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";
constexpr char kSaveCounter[] = "save_counter";
constexpr int64_t kBytesAtOnce = int64_t{256} << 20;  // fed or fetched in one step

std::string Escaped(absl::string_view name) {
  std::string escaped;
  for (const char c : name) absl::StrAppend(&escaped, c == '.' ? ".." : c == '/' ? ".S" : std::string(1, c));
  return escaped;
}

// InvalidArgument for what Escaped does not return.
absl::StatusOr<std::string> Unescaped(absl::string_view part) {
  std::string name;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '.') {
      name += part[i];
      continue;
    }
    const char next = ++i < part.size() ? part[i] : '\0';
    if (next != '.' && next != 'S') {
      return errors::InvalidArgument("'", part, "' is not an object's name: write '.' as '..' and '/' as '.S'");
    }
    name += next == '.' ? '.' : '/';
  }
  if (name.empty()) return errors::InvalidArgument("A path of objects has an empty name");
  return name;
}

std::string KeyOf(absl::string_view path) { return absl::StrCat(path, kValueSuffix); }

// The object at `path`, created where it does not exist. `nodes` maps the paths of existing objects to their places.
absl::StatusOr<TrackableObject*> ObjectAt(const std::string& path, std::map<std::string, int>* nodes,
                                          TrackableObjectGraph* objects) {
  int at = 0;
  std::string so_far;
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    ASSIGN_OR_RETURN(std::string name, Unescaped(part));
    absl::StrAppend(&so_far, so_far.empty() ? "" : "/", part);
    const auto [node, is_new] = nodes->emplace(so_far, objects->nodes_size());
    if (is_new) {
      auto* const child = objects->mutable_nodes(at)->add_children();
      child->set_node_id(node->second);
      child->set_local_name(std::move(name));
      objects->add_nodes()->mutable_has_checkpoint_values()->set_value(true);
    }
    at = node->second;
  }
  return objects->mutable_nodes(at);
}

absl::Status AddVariable(const std::string& path, const std::string& full_name, std::map<std::string, int>* nodes,
                         TrackableObjectGraph* objects) {
  ASSIGN_OR_RETURN(TrackableObject * object, ObjectAt(path, nodes, objects));
  auto* const value = object->add_attributes();
  value->set_name(kValue);
  value->set_full_name(full_name);
  value->set_checkpoint_key(KeyOf(path));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BundleWriter>> NewWriter(FileSystemRegistry& registry, const std::string& prefix) {
  ASSIGN_OR_RETURN(FileSystem * files, registry.Find(prefix));
  return BundleWriter::Create(files, prefix);
}

Output Placeholder(const Scope& scope, DataType dtype) {
  tensorflow::NodeDef node;
  node.set_op("Placeholder");
  SetNodeAttr("dtype", dtype, &node);
  return Output(scope.AddOp(std::move(node), {}), 0);
}

// Calls `run(begin, end)` for consecutive ranges of `sizes` whose sums are moderate.
absl::Status InParts(const std::vector<int64_t>& sizes, const std::function<absl::Status(size_t, size_t)>& run) {
  for (size_t begin = 0; begin < sizes.size();) {
    size_t end = begin + 1;
    for (int64_t sum = sizes[begin]; end < sizes.size() && sum + sizes[end] <= kBytesAtOnce; ++end) sum += sizes[end];
    RETURN_IF_ERROR(run(begin, end));
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace

ObjectCheckpoint::ObjectCheckpoint() : objects_(std::make_unique<TrackableObjectGraph>()) {}
ObjectCheckpoint::~ObjectCheckpoint() = default;

absl::StatusOr<std::unique_ptr<ObjectCheckpoint>> ObjectCheckpoint::Open(const std::string& prefix) {
  auto checkpoint = std::unique_ptr<ObjectCheckpoint>(new ObjectCheckpoint());
  checkpoint->files_ = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, checkpoint->files_->Find(prefix));
  ASSIGN_OR_RETURN(checkpoint->reader_, BundleReader::Open(files, prefix));
  RETURN_IF_ERROR(checkpoint->ReadObjects(prefix));
  return checkpoint;
}

absl::Status ObjectCheckpoint::ReadObjects(const std::string& prefix) {
  if (!reader_->Contains(kObjects)) {
    return errors::FailedPrecondition("The checkpoint ", prefix,
                                      " has no objects, only variables by name; read it with ", "a Saver");
  }
  ASSIGN_OR_RETURN(const Tensor text, reader_->Read(kObjects));
  if (text.dtype() != DT_STRING || text.NumElements() != 1 || !objects_->ParseFromString(text.scalar<tstring>())) {
    return errors::DataLoss("The objects of the checkpoint ", prefix, " are damaged");
  }
  std::set<std::string> seen;
  for (const TrackableObject& object : objects_->nodes()) {
    for (const auto& child : object.children()) {
      if (child.node_id() < 0 || child.node_id() >= objects_->nodes_size()) {
        return errors::DataLoss("An object of the checkpoint ", prefix, " has the child ", child.node_id(), " of ",
                                objects_->nodes_size(), " objects");
      }
    }
    for (const auto& attribute : object.attributes()) {
      const std::string& key = attribute.checkpoint_key();
      if (attribute.name() != kValue || !seen.insert(key).second) continue;
      const absl::StatusOr<BundleReader::Info> info = reader_->Lookup(key);
      if (!info.ok()) return errors::DataLoss("The checkpoint ", prefix, " lists '", key, "', but has no value for it");
      variables_.push_back(
          {std::string(absl::StripSuffix(key, kValueSuffix)), attribute.full_name(), key, info->dtype, info->shape});
    }
  }
  std::sort(variables_.begin(), variables_.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return absl::OkStatus();
}

absl::StatusOr<ObjectVariable> ObjectCheckpoint::Find(const std::string& path) const {
  const auto with_key = [&](const std::string& key) {
    return std::find_if(variables_.begin(), variables_.end(), [&](const auto& v) { return v.key == key; });
  };
  if (const auto found = with_key(KeyOf(path)); found != variables_.end()) return *found;
  int at = 0;
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (objects_->nodes().empty()) return errors::NotFound("The checkpoint has no objects");
    const auto& children = objects_->nodes(at).children();
    const auto child = std::find_if(children.begin(), children.end(),
                                    [&](const auto& reference) { return Escaped(reference.local_name()) == part; });
    if (child == children.end()) {
      const std::string names = absl::StrJoin(children, ", ", [](std::string* out, const auto& reference) {
        absl::StrAppend(out, Escaped(reference.local_name()));
      });
      return errors::NotFound("There is no object '", path, "' in the checkpoint: nothing is called '", part,
                              "' beside ", names.empty() ? "a leaf" : names);
    }
    at = child->node_id();
  }
  for (const auto& attribute : objects_->nodes(at).attributes()) {
    if (attribute.name() != kValue) continue;
    if (const auto found = with_key(attribute.checkpoint_key()); found != variables_.end()) return *found;
  }
  return errors::NotFound("The object '", path, "' of the checkpoint is no variable");
}

absl::StatusOr<ObjectVariable> ObjectCheckpoint::FindByName(const std::string& full_name) const {
  const ObjectVariable* found = nullptr;
  for (const ObjectVariable& variable : variables_) {
    if (variable.full_name != full_name) continue;
    if (found != nullptr) {
      return errors::InvalidArgument("Two variables of the checkpoint have the name '", full_name, "': ", found->path,
                                     " and ", variable.path);
    }
    found = &variable;
  }
  if (found == nullptr) return errors::NotFound("The checkpoint has no variable with the name '", full_name, "'");
  return *found;
}

absl::StatusOr<Tensor> ObjectCheckpoint::Read(const ObjectVariable& variable) const {
  return reader_->Read(variable.key);
}

ObjectSaver::ObjectSaver(const Scope& scope, Variables variables) {
  const Scope inner = scope.Root().SubScope("objects");
  for (auto& [path, variable] : variables) {
    if (!variable.valid()) {
      scope.UpdateStatus(errors::InvalidArgument("The variable at '", path, "' was never built"));
      return;
    }
    const Scope on_device = inner.WithDevice(variable.handle().node()->requested_device());
    Entry entry{.path = path, .variable = variable};
    entry.value = variable.Read(on_device);
    entry.fed = Placeholder(on_device, variable.dtype());
    entry.assign = variable.Assign(on_device, entry.fed);
    entries_.push_back(std::move(entry));
  }
}

absl::Status ObjectSaver::Restore(Session& session, const std::string& prefix, Match match) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectCheckpoint> checkpoint, ObjectCheckpoint::Open(prefix));
  std::vector<ObjectVariable> found;
  std::vector<int64_t> sizes;
  for (const Entry& entry : entries_) {
    const ResourceVariable& variable = entry.variable;
    absl::StatusOr<ObjectVariable> stored =
        match == Match::kPath ? checkpoint->Find(entry.path) : checkpoint->FindByName(variable.name());
    if (!stored.ok()) return Annotate(stored.status(), prefix);
    if (stored->dtype != variable.dtype() || stored->shape != variable.shape()) {
      return errors::InvalidArgument("Variable '", variable.name(), "' is ", DataTypeName(variable.dtype()),
                                     variable.shape().ToString(), ", but '", stored->path, "' of the checkpoint ",
                                     prefix, " is ", DataTypeName(stored->dtype), stored->shape.ToString());
    }
    sizes.push_back(stored->shape.num_elements() * static_cast<int64_t>(DataTypeSize(stored->dtype)));
    found.push_back(*std::move(stored));
  }
  RETURN_IF_ERROR(checkpoint->reader().CheckComplete());
  return InParts(sizes, [&](size_t begin, size_t end) -> absl::Status {
    FeedList feeds;
    std::vector<Operation> targets;
    for (size_t i = begin; i < end; ++i) {
      ASSIGN_OR_RETURN(Tensor value, checkpoint->Read(found[i]));
      feeds.emplace_back(entries_[i].fed, std::move(value));
      targets.push_back(entries_[i].assign);
    }
    return session.Run(feeds, {}, targets).status();
  });
}

absl::StatusOr<std::vector<Tensor>> ObjectSaver::Values(Session& session) const {
  std::vector<int64_t> sizes;
  for (const Entry& entry : entries_) {
    sizes.push_back(entry.variable.shape().num_elements() * static_cast<int64_t>(DataTypeSize(entry.variable.dtype())));
  }
  std::vector<Tensor> values;
  RETURN_IF_ERROR(InParts(sizes, [&](size_t begin, size_t end) -> absl::Status {
    std::vector<Output> fetches;
    for (size_t i = begin; i < end; ++i) fetches.push_back(entries_[i].value);
    ASSIGN_OR_RETURN(std::vector<Tensor> part, session.Run(fetches));
    std::move(part.begin(), part.end(), std::back_inserter(values));
    return absl::OkStatus();
  }));
  return values;
}

absl::Status ObjectSaver::Save(Session& session, const std::string& prefix) const {
  TrackableObjectGraph objects;
  objects.add_nodes()->mutable_has_checkpoint_values()->set_value(true);
  std::map<std::string, int> nodes;
  bool has_counter = false;
  for (const Entry& entry : entries_) {
    RETURN_IF_ERROR(AddVariable(entry.path, entry.variable.name(), &nodes, &objects));
    has_counter |= entry.path == kSaveCounter;
  }
  if (!has_counter) RETURN_IF_ERROR(AddVariable(kSaveCounter, kSaveCounter, &nodes, &objects));
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, Values(session));
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, NewWriter(*registry, prefix));
  for (size_t i = 0; i < entries_.size(); ++i) RETURN_IF_ERROR(writer->Add(KeyOf(entries_[i].path), values[i]));
  if (!has_counter) RETURN_IF_ERROR(writer->Add(KeyOf(kSaveCounter), Tensor::Scalar<int64_t>(1)));
  RETURN_IF_ERROR(writer->Add(kObjects, Tensor::Scalar<tstring>(objects.SerializeAsString())));
  return writer->Finish();
}

absl::Status ObjectSaver::SaveLike(Session& session, const std::string& like, const std::string& prefix) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectCheckpoint> checkpoint, ObjectCheckpoint::Open(like));
  std::map<std::string, size_t> ours;  // by key
  for (size_t i = 0; i < entries_.size(); ++i) {
    absl::StatusOr<ObjectVariable> stored = checkpoint->Find(entries_[i].path);
    if (!stored.ok()) return Annotate(stored.status(), like);
    if (!ours.emplace(stored->key, i).second) {
      return errors::InvalidArgument("Two variables are '", stored->path, "' of the checkpoint ", like);
    }
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, Values(session));
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, NewWriter(*registry, prefix));
  for (const BundleReader::Info& info : checkpoint->reader().List()) {
    if (const auto own = ours.find(info.name); own != ours.end()) {
      RETURN_IF_ERROR(writer->Add(info.name, values[own->second]));
      continue;
    }
    ASSIGN_OR_RETURN(const Tensor value, checkpoint->reader().Read(info.name));
    RETURN_IF_ERROR(writer->Add(info.name, value));
  }
  return writer->Finish();
}

}  // namespace weir
