// Ops in a shared object: an op family with a project of its own.
//
//   // my_ops.cc, built into my_ops.so
//   absl::Status RegisterOps(weir::OpRegistry& ops) { return ops.Register(weir::Op("MyCube").Input("x: float")…); }
//   absl::Status RegisterKernels(weir::KernelRegistry& kernels) { … }
//   WEIR_PLUGIN({.name = "my_ops", .ops = {RegisterOps}, .kernels = {RegisterKernels}})
#pragma once

#include <string>
#include <vector>

#include "absl/base/config.h"
#include "core/api.h"
#include "core/status.h"
#include "kernels/op_family.h"

#define WEIR_PLUGIN_TEXT_INNER(x) #x
#define WEIR_PLUGIN_TEXT(x) WEIR_PLUGIN_TEXT_INNER(x)

// The binary interface of this version of Weir, and of what it shares with plug-ins.
#define WEIR_PLUGIN_ABI    \
  "Weir " WEIR_ABI_VERSION \
  ", Abseil " WEIR_PLUGIN_TEXT(ABSL_LTS_RELEASE_VERSION) ", libstdc++ " WEIR_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI)

// Found in the file before any of its code runs.
#define WEIR_PLUGIN_MARK "weir-plugin-abi:"

// Once in a plug-in: its OpFamily. The ops of several families in one plug-in go into one.
#define WEIR_PLUGIN(...)                                                                       \
  extern "C" [[gnu::visibility("default"), gnu::used]] const char weir_plugin_abi[] =          \
      WEIR_PLUGIN_MARK WEIR_PLUGIN_ABI;                                                        \
  extern "C" [[gnu::visibility("default")]] void weir_plugin_family(::weir::OpFamily* family); \
  void weir_plugin_family(::weir::OpFamily* family) { *family = ::weir::OpFamily __VA_ARGS__; }

namespace WEIR_API weir {

struct PluginOptions {
  // Folders whose plug-ins may be loaded, besides DefaultPluginFolder().
  std::vector<std::string> folders;
};

// Where plug-ins are installed: the folder weir beside libweir.so, such as "/usr/lib/weir". Empty if that is unknown.
std::string DefaultPluginFolder();

// Loads a plug-in into this process: its ops are there in every Scope, local session and server made afterwards. It
// stays loaded until the process ends; loading it again changes nothing. Thread-safe. No op is registered on an error:
// - PermissionDenied if the file is in none of the folders, or if every user may write to file or folder;
// - InvalidArgument for a file that is no plug-in;
// - FailedPrecondition, with both ABIs, for one that was built for another version of Weir or of its libraries; also in
// a
//   program that is not linked with libweir.so, which the plug-in needs;
// - AlreadyExists, naming it, if an op is defined already.
absl::Status LoadPlugin(const std::string& path, const PluginOptions& options = {});

// Those of the loaded plug-ins, in that order.
std::vector<OpFamily> PluginFamilies();

}  // namespace weir
