#include "client/checkpoint/restore_marker.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "client/fed_scalar.h"
#include "client/ops.h"
#include "core/device/device.h"
#include "core/device/device_name.h"

namespace weir {
namespace {

// The CPU of the task of `device`; `device` itself if it is no device name.
std::string HostOf(const std::string& device) {
  absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
  if (!name.ok()) return device;
  name->type = kDeviceCpu;
  name->id = 0;
  return name->ToString();
}

std::string Encode(const RestoredGeneration& restored) {
  return absl::StrCat(restored.restore, " ", restored.generation, " ", restored.checkpoint);
}

RestoredGeneration Decode(const std::string& text) {
  RestoredGeneration restored;
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  restored.restore = parts[0];
  if (parts.size() == 3 && absl::SimpleAtoi(parts[1], &restored.generation)) restored.checkpoint = parts[2];
  return restored;
}

}  // namespace

std::string RestoredGeneration::ToString() const {
  if (restore.empty()) return "no generation";
  if (checkpoint.empty()) return absl::StrCat("initial values (", restore, ")");
  return absl::StrCat("generation ", generation, ", ", checkpoint, " (restore ", restore, ")");
}

RestoreMarker::RestoreMarker(const Scope& scope, const std::set<std::string>& devices, const std::string& training) {
  std::set<std::string> hosts;
  for (const std::string& device : devices) hosts.insert(HostOf(device));
  // A device without a job, as of variables that are colocated with others, means another task in each session.
  const auto has_job = [](const std::string& host) { return absl::StartsWith(host, "/job:"); };
  if (std::any_of(hosts.begin(), hosts.end(), has_job)) {
    std::erase_if(hosts, [&](const std::string& host) { return !has_job(host); });
  }
  hosts_.assign(hosts.begin(), hosts.end());
  const Scope inner = scope.SubScope("restore_mark");
  fed_ = FedScalar(inner, "value", DT_STRING);
  std::vector<Operation> begins, ends;
  for (const std::string& host : hosts_) {
    const Scope on_host = inner.WithDevice(host);
    // Found by the clients of other processes, whatever the names in their graphs.
    const auto variable = [&](absl::string_view name) {
      return ops::VarHandleOp(on_host.WithName("mark"), DT_STRING, TensorShape(),
                              {.shared_name = absl::StrCat(name, "/", training)});
    };
    const auto mark = [&](const Output& handle) {
      return Mark{ops::VarIsInitializedOp(on_host, handle), ops::ReadVariableOp(on_host, handle, DT_STRING)};
    };
    const Output progress = variable("weir_restore_in_progress"), generation = variable("weir_restored_generation");
    in_progress_.push_back(mark(progress));
    generations_.push_back(mark(generation));
    begins.push_back(ops::AssignVariableOp(on_host.WithName("set"), progress, fed_));
    const Operation name = ops::AssignVariableOp(on_host.WithName("name"), generation, fed_);
    ends.push_back(ops::DestroyResourceOp(on_host.WithName("remove").WithControlDependencies({name}), progress,
                                          {.ignore_lookup_error = true}));
    whole_.push_back(ops::LogicalNot(on_host, in_progress_.back().exists));
  }
  begin_ = ops::NoOp(inner.WithControlDependencies(begins).WithName("begin"));
  end_ = ops::NoOp(inner.WithControlDependencies(ends).WithName("end"));
}

absl::Status RestoreMarker::Begin(Session& session, const std::string& restore) const {
  if (hosts_.empty()) return absl::OkStatus();
  return session.Run({{fed_, Tensor::Scalar<tstring>(restore)}}, {}, {begin_}).status();
}

absl::Status RestoreMarker::End(Session& session, const RestoredGeneration& restored) const {
  if (hosts_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> marks, Read(session, in_progress_));
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (marks[i] == restored.restore) continue;
    return errors::Aborted("The variables on ", hosts_[i], " were ",
                           marks[i].empty() ? "lost or restored by another process"
                                            : absl::StrCat("taken by another restore, ", marks[i], ","),
                           " while ", restored.ToString(), " was restored");
  }
  return session.Run({{fed_, Tensor::Scalar<tstring>(Encode(restored))}}, {}, {end_}).status();
}

absl::StatusOr<std::vector<std::string>> RestoreMarker::Read(Session& session, const std::vector<Mark>& marks) {
  std::vector<Output> exist, values;
  for (const Mark& mark : marks) exist.push_back(mark.exists);
  ASSIGN_OR_RETURN(const std::vector<Tensor> flags, session.Run(exist));
  for (size_t i = 0; i < marks.size(); ++i) {
    if (flags[i].scalar<bool>()) values.push_back(marks[i].value);
  }
  std::vector<std::string> result(marks.size());
  if (values.empty()) return result;
  const absl::StatusOr<std::vector<Tensor>> read = session.Run(values);
  if (absl::IsFailedPrecondition(read.status())) {
    return errors::Unavailable("The marks of a restore were removed meanwhile: ", read.status().message());
  }
  RETURN_IF_ERROR(read.status());
  for (size_t i = 0, k = 0; i < marks.size(); ++i) {
    if (flags[i].scalar<bool>()) result[i] = (*read)[k++].scalar<tstring>();
  }
  return result;
}

absl::StatusOr<RestoredGeneration> RestoreMarker::Generation(Session& session) const {
  if (hosts_.empty()) return RestoredGeneration();
  ASSIGN_OR_RETURN(const std::vector<std::string> marks, Read(session, generations_));
  for (size_t i = 1; i < marks.size(); ++i) {
    if (marks[i] == marks[0]) continue;
    return errors::FailedPrecondition("The tasks hold variables of different restores: ", hosts_[0], " of ",
                                      Decode(marks[0]).ToString(), ", ", hosts_[i], " of ",
                                      Decode(marks[i]).ToString());
  }
  return Decode(marks[0]);
}

}  // namespace weir
