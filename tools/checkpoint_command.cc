#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/text_record.h"
#include "core/files/file_system.h"
#include "core/random_bits.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tools/commands.h"

namespace weir {
namespace {

constexpr char kIndexSuffix[] = ".index";

bool IsDirectory(FileSystem* files, const std::string& path) {
  const absl::StatusOr<FileStat> stat = files->Stat(path);
  return stat.ok() && stat->is_directory;
}

// The checkpoint that `path` names: a prefix, its index, or a directory, which stands for its newest checkpoint.
absl::StatusOr<std::string> CheckpointAt(FileSystem* files, const std::string& path) {
  if (IsDirectory(files, path)) return LatestCheckpoint(files, path);
  return std::string(absl::StripSuffix(path, kIndexSuffix));
}

// All checkpoints in a directory, oldest first, complete or not.
absl::StatusOr<std::vector<std::string>> CheckpointsIn(FileSystem* files, const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(dir));
  std::vector<std::pair<int64_t, std::string>> found;
  for (absl::string_view name : names) {
    if (!absl::ConsumeSuffix(&name, kIndexSuffix)) continue;
    ASSIGN_OR_RETURN(const FileStat stat, files->Stat(JoinPath(dir, absl::StrCat(name, kIndexSuffix))));
    found.emplace_back(stat.mtime_nanos, JoinPath(dir, name));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> prefixes;
  for (auto& [time, prefix] : found) prefixes.push_back(std::move(prefix));
  return prefixes;
}

std::string TimeText(double seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::UnixEpoch() + absl::Seconds(seconds), absl::UTCTimeZone());
}

std::string Number(uint64_t value, bool known) { return known ? absl::StrCat(value) : "-"; }

std::string InfoText(const BundleReader::Info& info) {
  const std::string text = absl::StrCat(info.name, " ", DataTypeName(info.dtype), info.shape.ToString());
  return info.slices.empty() ? text : absl::StrCat(text, " in ", info.slices.size(), " slices");
}

absl::Status ListDirectory(FileSystem* files, const std::string& dir, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<std::string> prefixes, CheckpointsIn(files, dir));
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(files, dir);
  if (!state.ok() && !absl::IsNotFound(state.status())) return state.status();
  out << absl::StreamFormat("%-24s %10s %12s %6s %20s %14s  %s\n", "checkpoint", "generation", "global step", "token",
                            "written (UTC)", "bytes", "state");
  for (const std::string& prefix : prefixes) {
    const absl::StatusOr<CheckpointManifest> manifest = ReadManifest(files, prefix);
    const absl::Status complete = CheckCheckpointComplete(files, prefix);
    const auto step = SplitCheckpointStep(prefix);
    uint64_t bytes = 0;
    if (manifest.ok()) {
      for (const auto& file : manifest->file()) bytes += file.size();
    }
    std::string words = complete.ok() ? "complete" : std::string(complete.message());
    if (state.ok() && state->latest == prefix) words += ", latest";
    if (state.ok() && std::count(state->all.begin(), state->all.end(), prefix) == 0) words += ", not on the list";
    out << absl::StreamFormat("%-24s %10s %12s %6s %20s %14s  %s\n", std::string(BaseName(prefix)),
                              Number(manifest.ok() ? manifest->generation() : 0, manifest.ok()),
                              Number(step ? step->second : 0, step.has_value()),
                              Number(manifest.ok() ? manifest->token() : 0, manifest.ok() && manifest->token() > 0),
                              manifest.ok() ? TimeText(manifest->written()) : "-", Number(bytes, manifest.ok()), words);
  }
  if (const auto lease = ReadCheckpointLease(files, dir); lease.ok()) {
    out << "lease: token " << lease->token() << ", " << DescribeLease(*lease) << "\n";
  } else if (!absl::IsNotFound(lease.status())) {
    return lease.status();
  }
  return absl::OkStatus();
}

absl::Status ListTensors(FileSystem* files, const std::string& prefix, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, prefix));
  int64_t bytes = 0;
  const std::vector<BundleReader::Info> infos = reader->List();
  for (const BundleReader::Info& info : infos) {
    out << InfoText(info) << "\n";
    bytes += info.shape.num_elements() * static_cast<int64_t>(DataTypeSize(info.dtype));
  }
  out << infos.size() << " tensors, " << bytes << " bytes in memory\n";
  return reader->CheckComplete();
}

absl::Status PrintManifest(FileSystem* files, const std::string& prefix, std::ostream& out) {
  const absl::StatusOr<CheckpointManifest> manifest = ReadManifest(files, prefix);
  if (absl::IsNotFound(manifest.status())) return absl::OkStatus();
  RETURN_IF_ERROR(manifest.status());
  out << prefix << ": generation " << manifest->generation() << ", global step " << manifest->global_step();
  if (manifest->token() > 0) out << ", by " << manifest->holder() << " with token " << manifest->token();
  out << ", written " << TimeText(manifest->written()) << " UTC\n";
  for (const auto& file : manifest->file()) {
    out << absl::StreamFormat("  %s %d bytes, crc32c %08x\n", file.name(), file.size(), file.crc32c());
  }
  return absl::OkStatus();
}

absl::Status VerifyOne(FileSystem* files, const std::string& prefix, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, prefix));
  const std::vector<BundleReader::Info> infos = reader->List();
  for (const BundleReader::Info& info : infos) RETURN_IF_ERROR(reader->Read(info.name).status());
  RETURN_IF_ERROR(reader->CheckComplete());
  const absl::StatusOr<CheckpointManifest> manifest = ReadManifest(files, prefix);
  if (absl::IsNotFound(manifest.status())) {
    out << prefix << ": " << infos.size() << " tensors are intact; there is no manifest\n";
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(manifest.status());
  RETURN_IF_ERROR(VerifyManifest(files, prefix, *manifest));
  out << prefix << ": " << infos.size() << " tensors and " << manifest->file_size() << " files are intact, generation "
      << manifest->generation() << "\n";
  return absl::OkStatus();
}

template <typename T>
std::string Largest(const Tensor& a, const Tensor& b) {
  double largest = 0;
  int64_t different = 0;
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    if (std::memcmp(&a.data<T>()[i], &b.data<T>()[i], sizeof(T)) == 0) continue;
    ++different;
    largest = std::max(largest, std::abs(static_cast<double>(a.data<T>()[i]) - static_cast<double>(b.data<T>()[i])));
  }
  return absl::StrCat(different, " of ", a.NumElements(), " elements differ, by at most ", largest);
}

// "" if the values are equal, bit for bit.
absl::StatusOr<std::string> Difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DT_VARIANT) {
    tensorflow::TensorProto first, second;
    RETURN_IF_ERROR(TensorToProto(a, &first));
    RETURN_IF_ERROR(TensorToProto(b, &second));
    return first.SerializeAsString() == second.SerializeAsString() ? "" : "the values differ";
  }
  if (a.dtype() == DT_STRING) {
    int64_t different = 0;
    for (int64_t i = 0; i < a.NumElements(); ++i) different += a.data<tstring>()[i] != b.data<tstring>()[i];
    return different == 0 ? std::string() : absl::StrCat(different, " of ", a.NumElements(), " elements differ");
  }
  if (std::memcmp(a.data<char>(), b.data<char>(), a.TotalBytes()) == 0) return "";
  switch (a.dtype()) {
    case DT_FLOAT:
      return Largest<float>(a, b);
    case DT_DOUBLE:
      return Largest<double>(a, b);
    case DT_INT32:
      return Largest<int32_t>(a, b);
    case DT_INT64:
      return Largest<int64_t>(a, b);
    default:
      return "the values differ";
  }
}

}  // namespace

absl::Status ListCheckpoint(const std::string& path, std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem* const files, registry->Find(path));
  if (IsDirectory(files, path)) return ListDirectory(files, path, out);
  ASSIGN_OR_RETURN(const std::string prefix, CheckpointAt(files, path));
  return ListTensors(files, prefix, out);
}

absl::Status ShowCheckpoint(const std::string& path, const std::vector<std::string>& names, int max_entries,
                            std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem* const files, registry->Find(path));
  ASSIGN_OR_RETURN(const std::string prefix, CheckpointAt(files, path));
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, prefix));
  if (names.empty()) RETURN_IF_ERROR(PrintManifest(files, prefix, out));
  std::vector<BundleReader::Info> infos;
  if (names.empty()) infos = reader->List();
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(BundleReader::Info info, reader->Lookup(name));
    infos.push_back(std::move(info));
  }
  for (const BundleReader::Info& info : infos) {
    ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(info.name));
    out << InfoText(info) << "\n  " << tensor.DebugString(max_entries) << "\n";
  }
  return absl::OkStatus();
}

absl::Status VerifyCheckpoint(const std::string& path, std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem* const files, registry->Find(path));
  if (!IsDirectory(files, path)) {
    ASSIGN_OR_RETURN(const std::string prefix, CheckpointAt(files, path));
    return VerifyOne(files, prefix, out);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> prefixes, CheckpointsIn(files, path));
  if (prefixes.empty()) return errors::NotFound("There is no checkpoint in ", path);
  int damaged = 0;
  for (const std::string& prefix : prefixes) {
    const absl::Status status = VerifyOne(files, prefix, out);
    if (status.ok()) continue;
    ++damaged;
    out << prefix << ": DAMAGED: " << status.message() << "\n";
  }
  if (damaged == 0) return absl::OkStatus();
  return errors::DataLoss(damaged, " of ", prefixes.size(), " checkpoints in ", path, " are damaged");
}

absl::StatusOr<int> CompareCheckpoints(const std::string& first, const std::string& second, std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem* const files, registry->Find(first));
  ASSIGN_OR_RETURN(FileSystem* const other_files, registry->Find(second));
  ASSIGN_OR_RETURN(const std::string a_prefix, CheckpointAt(files, first));
  ASSIGN_OR_RETURN(const std::string b_prefix, CheckpointAt(other_files, second));
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> a, BundleReader::Open(files, a_prefix));
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> b, BundleReader::Open(other_files, b_prefix));
  std::set<std::string> names;
  for (const auto& reader : {a.get(), b.get()}) {
    for (const BundleReader::Info& info : reader->List()) names.insert(info.name);
  }
  int different = 0;
  const auto report = [&](const std::string& name, const std::string& text) {
    ++different;
    out << name << ": " << text << "\n";
  };
  for (const std::string& name : names) {
    if (!a->Contains(name) || !b->Contains(name)) {
      report(name, absl::StrCat("only in ", a->Contains(name) ? a_prefix : b_prefix));
      continue;
    }
    ASSIGN_OR_RETURN(const BundleReader::Info left, a->Lookup(name));
    ASSIGN_OR_RETURN(const BundleReader::Info right, b->Lookup(name));
    if (left.dtype != right.dtype || left.shape != right.shape) {
      report(name, absl::StrCat(DataTypeName(left.dtype), left.shape.ToString(), " and ", DataTypeName(right.dtype),
                                right.shape.ToString()));
      continue;
    }
    ASSIGN_OR_RETURN(const Tensor left_value, a->Read(name));
    ASSIGN_OR_RETURN(const Tensor right_value, b->Read(name));
    ASSIGN_OR_RETURN(const std::string text, Difference(left_value, right_value));
    if (!text.empty()) report(name, text);
  }
  out << different << " of " << names.size() << " tensors differ\n";
  return different;
}

absl::Status ExportCheckpoint(const std::string& path, const std::string& destination,
                              const std::vector<std::string>& names, std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem* const files, registry->Find(destination));
  if (IsDirectory(files, destination) || absl::EndsWith(destination, "/")) {
    return errors::InvalidArgument(destination, " is a directory; name the new checkpoint, such as ",
                                   JoinPath(destination, "model.ckpt"));
  }
  ASSIGN_OR_RETURN(const bool exists, files->CheckExists(absl::StrCat(destination, kIndexSuffix)));
  if (exists) {
    return errors::AlreadyExists("There is already a checkpoint ", destination);
  }
  ASSIGN_OR_RETURN(FileSystem* const source_files, registry->Find(path));
  ASSIGN_OR_RETURN(const std::string prefix, CheckpointAt(source_files, path));
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(source_files, prefix));
  std::vector<std::string> chosen = names;
  if (names.empty()) {
    for (const BundleReader::Info& info : reader->List()) chosen.push_back(info.name);
  }
  const std::string temporary = absl::StrFormat("%s_temp_%016x", destination, RandomBits());
  const auto write = [&]() -> absl::Status {
    const std::string staged = JoinPath(temporary, "merged");
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(files, staged));
    for (const std::string& name : chosen) {
      ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(name));
      RETURN_IF_ERROR(writer->Add(name, tensor));
    }
    RETURN_IF_ERROR(writer->Finish());
    CheckpointManifest manifest;
    if (const auto original = ReadManifest(source_files, prefix); original.ok()) {
      manifest.set_global_step(original->global_step());
      manifest.set_holder(absl::StrCat("exported from ", prefix));
    }
    manifest.set_written(SecondsSinceEpoch());
    ASSIGN_OR_RETURN(const auto added, BundleFiles(files, staged, std::string(BaseName(destination))));
    for (const CheckpointManifest::File& file : added) *manifest.add_file() = file;
    return PublishCheckpoint(files, staged, destination, manifest);
  };
  const absl::Status written = write();
  files->DeleteRecursively(temporary).IgnoreError();
  RETURN_IF_ERROR(written);
  out << destination << ": " << chosen.size() << " tensors of " << prefix << "\n";
  return absl::OkStatus();
}

}  // namespace weir
