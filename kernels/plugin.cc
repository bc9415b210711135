#include "kernels/plugin.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

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

absl::Status CheckOwnership(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errors::NotFound(path.string(), ": ", strerror(errno));
  if ((status.st_mode & S_IWOTH) == 0) return absl::OkStatus();
  return errors::PermissionDenied(path.string(), " can be written by every user: chmod o-w ", path.string());
}

// The file's canonical path, if it is in one of the folders.
absl::StatusOr<std::string> Admit(const std::string& path, std::vector<std::string> folders) {
  if (folders.empty()) folders.push_back(DefaultPluginFolder());
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error) return errors::NotFound("Plug-in ", path, ": ", error.message());
  for (const std::string& folder : folders) {
    const fs::path allowed = fs::canonical(folder, error);
    if (error || file.parent_path() != allowed) continue;
    RETURN_IF_ERROR(CheckOwnership(allowed));
    RETURN_IF_ERROR(CheckOwnership(file));
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
  Dl_info self{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&DefaultPluginFolder), &self) == 0) return "";
  const fs::path folder = fs::canonical(self.dli_fname, error).parent_path();
  return (folder.filename() == "bin" ? folder.parent_path() / "lib" / "weir" : folder / "weir").string();
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
