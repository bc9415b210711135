// The process that runs the training job, and what it reports to the one that disturbs it.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace weir::chaos {

// A message on the pipe "progress" of the job's directory.
struct Progress {
  enum Kind : int64_t {
    kBegun,   // it starts at `step`, restored or initialised
    kStep,    // `step` is made, and saved if that was due
    kSaving,  // a save after `step` begins
    kSaved,   // and is complete
    kEnded,   // the last step is made and saved
  };
  Kind kind = kBegun;
  int64_t step = 0;
};

struct ChiefOptions {
  std::string target;     // of the master
  std::string directory;  // of the pipe and the checkpoints
  int64_t steps = 0, checkpoint_steps = 0;
  bool background = false;  // saves while steps run
};

// The command `chief`: trains, from the newest checkpoint of the directory if there is one, until `steps` are made.
absl::Status RunChief(const ChiefOptions& options);

}  // namespace weir::chaos
