// Writes the benchmarks' graphs to a folder, as NAME.pb, or the folder NAME of a SavedModel, and NAME.spec.
#pragma once

#include <string>

#include "core/status.h"

namespace weir::bench {

// noop_chain, noop_chains_8, noop_chains_1000, add_chain, null_step, null_step_100, while_loop (of 10,000 iterations).
absl::Status WriteExecutorGraphs(const std::string& folder);
// mlp_sgd, mlp_adam, mlp_small, convnet: forward, backward and update, as a client library builds them.
absl::Status WriteTrainingGraphs(const std::string& folder);
// workers_N (a NoOp on each of N tasks), pull_SIZE (a variable on /job:ps, read on /job:worker), scalar_N and dense_N
// (N workers read a variable, of 100 MB for dense_N, and send as much back).
absl::Status WriteClusterGraphs(const std::string& folder);
// all_reduce_P_SIZE: means of vectors of that size on P tasks, several per step.
absl::Status WriteCollectiveGraphs(const std::string& folder);
// rows_N: N workers pull and push 4,096 rows of 64 numbers each, with Zipf keys. embedding_N: the same; the rows are in
// a variable for TensorFlow (".tensorflow") and in a growing table for Weir (".weir").
absl::Status WriteEmbeddingGraphs(const std::string& folder);
// mirrored, mirrored_small (".weir": MirroredStrategy on two devices, ".by_hand": without it), scaling_N
// (ParameterServerStrategy, N synchronous workers).
absl::Status WriteStrategyGraphs(const std::string& folder);
// checkpoint_save, checkpoint_restore: 16 variables of 64 MiB, under FOLDER/checkpoint.
absl::Status WriteCheckpointGraphs(const std::string& folder);
// input_records, input_images, input_csv: pipelines over files in FOLDER/input, one batch per step.
absl::Status WriteInputGraphs(const std::string& folder);

// model_linear, model_mlp, model_wide: SavedModels, with requests of one row.
absl::Status WriteModels(const std::string& folder);

}  // namespace weir::bench
