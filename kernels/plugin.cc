#include "kernels/plugin.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "core/files/file_system.h"
#include "core/mutex.h"
#include "core/shared_library.h"
#include "kernels/library.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFileBytes = size_t{1} << 30;
constexpr size_t kMaxAbiBytes = 256;

struct Loaded {
  std::string path;  // canonical
  OpFamily family;
};

// dlopen's list of libraries is the process's, and so is this one.
struct LoadedPlugins {
  Mutex loading;  // held while one is loaded; before mu
  Mutex mu;
  std::vector<Loaded> plugins GUARDED_BY(mu);
};

LoadedPlugins& Plugins() {
  static auto* const plugins = new LoadedPlugins;
  return *plugins;
}

// The path of libweir.so, if this code is in it; empty in a program that has Weir within.
std::string OwnSharedLibrary() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&OwnSharedLibrary), &self) == 0) return "";
  const std::string name = self.dli_fname;
  return absl::StartsWith(fs::path(name).filename().string(), "libweir.so") ? name : "";
}

// Not for a file in a folder that every user may change.
absl::Status CheckWritable(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errors::NotFound(path.string(), ": ", strerror(errno));
  if ((status.st_mode & S_IWOTH) == 0) return absl::OkStatus();
  return errors::PermissionDenied(path.string(), " can be written by every user: chmod o-w ", path.string());
}

// The file's canonical path, if it is in one of the folders.
absl::StatusOr<std::string> Admit(const std::string& path, std::vector<std::string> folders) {
  if (std::string folder = DefaultPluginFolder(); !folder.empty()) folders.push_back(std::move(folder));
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error) return errors::NotFound("Plug-in ", path, ": ", error.message());
  for (const std::string& folder : folders) {
    const fs::path allowed = fs::canonical(folder, error);
    if (error || file.parent_path() != allowed) continue;
    RETURN_IF_ERROR(CheckWritable(allowed));
    RETURN_IF_ERROR(CheckWritable(file));
    return file.string();
  }
  return errors::PermissionDenied("Plug-in ", file.string(),
                                  " is in none of the folders that plug-ins may be in: ", absl::StrJoin(folders, ", "));
}

absl::Status CheckAbi(const std::string& path) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(files.get(), path, kMaxFileBytes));
  const size_t mark = bytes.find(WEIR_PLUGIN_MARK);
  if (mark == std::string::npos)
    return errors::InvalidArgument(path, " is not a plug-in of Weir: it has no WEIR_PLUGIN");
  const std::string abi(bytes.substr(mark + std::strlen(WEIR_PLUGIN_MARK), kMaxAbiBytes).c_str());
  if (abi == WEIR_PLUGIN_ABI) return absl::OkStatus();
  return errors::FailedPrecondition("Plug-in ", path, " was built for ", abi, ", but this is ", WEIR_PLUGIN_ABI,
                                    ": build it with this version's headers");
}

}  // namespace

std::string DefaultPluginFolder() {
  std::error_code error;
  const std::string library = OwnSharedLibrary();
  const fs::path file = fs::canonical(library.empty() ? "/proc/self/exe" : library, error);
  if (error) return "";
  return (library.empty() ? file.parent_path().parent_path() / "lib" : file.parent_path()) / "weir";
}

absl::Status LoadPlugin(const std::string& path, const PluginOptions& options) {
  ASSIGN_OR_RETURN(const std::string file, Admit(path, options.folders));
  LoadedPlugins& plugins = Plugins();
  MutexLock loading(plugins.loading);
  {
    MutexLock lock(plugins.mu);
    for (const Loaded& loaded : plugins.plugins) {
      if (loaded.path == file) return absl::OkStatus();
    }
  }
  RETURN_IF_ERROR(CheckAbi(file));
  if (OwnSharedLibrary().empty()) {
    return errors::FailedPrecondition(
        "Plug-in ", file,
        " needs libweir.so, but this program has Weir within: link it with the shared library "
        "(Weir::client), or use the installed weir");
  }
  const std::array<const char*, 1> candidates = {file.c_str()};
  ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open("Plug-in", candidates));
  void (*family_of)(OpFamily*) = nullptr;
  RETURN_IF_ERROR(library.Find({{"weir_plugin_family", &family_of}}));
  OpFamily family{};
  family_of(&family);
  RETURN_IF_ERROR(Annotate(CheckFamily(family), absl::StrCat("Plug-in ", file)));
  MutexLock lock(plugins.mu);
  plugins.plugins.push_back({file, std::move(family)});
  return absl::OkStatus();
}

std::vector<OpFamily> PluginFamilies() {
  LoadedPlugins& plugins = Plugins();
  MutexLock lock(plugins.mu);
  std::vector<OpFamily> families;
  for (const Loaded& loaded : plugins.plugins) families.push_back(loaded.family);
  return families;
}

}  // namespace weir
