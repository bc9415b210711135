#include "core/checkpoint/bundle_reader.h"
#include "core/files/file_system.h"
#include "tools/commands.h"

namespace weir {
namespace {

void PrintInfo(const BundleReader::Info& info, std::ostream& out) {
  out << info.name << " " << DataTypeName(info.dtype) << info.shape.ToString();
  if (!info.slices.empty()) out << " in " << info.slices.size() << " slices";
}

}  // namespace

absl::Status ListCheckpoint(const std::string& prefix, std::ostream& out) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files.get(), prefix));
  int64_t bytes = 0;
  const std::vector<BundleReader::Info> infos = reader->List();
  for (const BundleReader::Info& info : infos) {
    PrintInfo(info, out);
    out << "\n";
    bytes += info.shape.num_elements() * static_cast<int64_t>(DataTypeSize(info.dtype));
  }
  out << infos.size() << " tensors, " << bytes << " bytes in memory\n";
  return reader->CheckComplete();
}

absl::Status ShowCheckpoint(const std::string& prefix, const std::vector<std::string>& names, int max_entries,
                            std::ostream& out) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files.get(), prefix));
  std::vector<BundleReader::Info> infos;
  if (names.empty()) infos = reader->List();
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(BundleReader::Info info, reader->Lookup(name));
    infos.push_back(std::move(info));
  }
  for (const BundleReader::Info& info : infos) {
    ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(info.name));
    PrintInfo(info, out);
    out << "\n  " << tensor.DebugString(max_entries) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace weir
