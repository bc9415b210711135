// Ops on the checkpoint store of the task that runs them (core/files/store_file_system.h). Weir's own.
#include <initializer_list>

#include "graph/shapes/shape_inference.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

absl::Status CheckRanks(InferenceContext& c, std::initializer_list<int> ranks) {
  int i = 0;
  for (const int rank : ranks) RETURN_IF_ERROR(c.WithRank(c.input(i++), rank).status());
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterStoreOps(OpRegistry& ops) {
  // Lists the store's files of a model.
  RETURN_IF_ERROR(ops.Register(Op("StoreContents")
                                   .Input("directory: string")
                                   .Output("lease: string")
                                   .Output("directories: string")
                                   .Output("manifest_paths: string")
                                   .Output("manifests: string")
                                   .Stateful()
                                   .Shape([](InferenceContext& c) -> absl::Status {
                                     RETURN_IF_ERROR(CheckRanks(c, {0}));
                                     c.set_output(0, c.Scalar());
                                     for (int i = 1; i < 4; ++i) c.set_output(i, c.Vector(-1));
                                     return absl::OkStatus();
                                   })));
  // A manifest of a checkpoint: its files, with checksums, and its tensors.
  RETURN_IF_ERROR(ops.Register(Op("StoreDescribe")
                                   .Input("prefix: string")
                                   .Output("manifest: string")
                                   .Stateful()
                                   .Shape([](InferenceContext& c) -> absl::Status {
                                     RETURN_IF_ERROR(CheckRanks(c, {0}));
                                     c.set_output(0, c.Scalar());
                                     return absl::OkStatus();
                                   })));
  // DATA_LOSS unless a checkpoint's files are those of the manifest; with `thorough` reads them all.
  RETURN_IF_ERROR(ops.Register(Op("StoreVerify")
                                   .Input("prefix: string")
                                   .Input("manifest: string")
                                   .Input("thorough: bool")
                                   .Stateful()
                                   .Shape([](InferenceContext& c) {
                                     return CheckRanks(c, {0, 0, 0});
                                   })));
  RETURN_IF_ERROR(ops.Register(Op("StoreReadRange")
                                   .Input("path: string")
                                   .Input("offset: int64")
                                   .Input("size: int64")
                                   .Output("contents: uint8")
                                   .Stateful()
                                   .Shape([](InferenceContext& c) -> absl::Status {
                                     RETURN_IF_ERROR(CheckRanks(c, {0, 0, 0}));
                                     c.set_output(0, c.Vector(-1));
                                     return absl::OkStatus();
                                   })));
  // Begins a file, with the directories above it, or continues it. With `sync` all of it survives a crash of the
  // machine.
  RETURN_IF_ERROR(ops.Register(Op("StoreWriteRange")
                                   .Input("path: string")
                                   .Input("offset: int64")
                                   .Input("contents: uint8")
                                   .Input("sync: bool")
                                   .Stateful()
                                   .Shape([](InferenceContext& c) {
                                     return CheckRanks(c, {0, 0, 1, 0});
                                   })));
  // A file, or a directory with its contents; nothing if it is absent.
  return ops.Register(
      Op("StoreDelete").Input("path: string").Stateful().Shape([](InferenceContext& c) { return CheckRanks(c, {0}); }));
}

}  // namespace weir
