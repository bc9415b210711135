// Input whose examples are dealt in chunks to workers that come and go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/data/dataset.h"
#include "client/variables.h"
#include "core/api.h"

namespace WEIR_API weir {

struct DealOptions {
  int64_t batch_size = 1;
  bool drop_remainder = false;  // drops the last batch of a chunk if it is smaller
  int64_t epochs = 1;           // -1: without end
  bool shuffle = false;         // the order of the chunks, anew in each epoch
  int64_t seed = 0;
  // A chunk whose worker has neither taken, claimed nor committed a batch for so long may go to another worker. Longer
  // than a step: a step that ends later has no effect if its chunk was dealt again.
  absl::Duration lease = absl::Seconds(10);
  // The rest of a chunk is divided if its worker makes fewer examples a second than the median of all by this factor,
  // which is above 1; 0: never.
  double straggler_factor = 0;
};

// Chunks of `size` examples, the last one smaller if need be.
std::vector<int64_t> EvenChunks(int64_t examples, int64_t size);

// One worker's batches. A value type.
class DealtInput {
 public:
  DealtInput() = default;

  // The next batch, on the worker. OUT_OF_RANGE once all examples of the last epoch were used; until then a worker
  // without a chunk waits.
  const OutputList& next() const { return next_; }
  // epoch, chunk, part, begin, count, end, lease: int64 [7].
  const Output& range() const { return range_; }
  // Makes the step use its batch up, with all its updates or not at all. Run it in the step of the updates that the
  // batch leads to. `after`: ops of the step that run before, such as those that compute the gradients; the later it
  // is, the more surely a step that is late is dropped instead of waited for. The step fails with ABORTED, and changes
  // nothing, if its examples have gone to another worker.
  Operation Advance(const Scope& scope, const std::vector<Operation>& after) const;

 private:
  friend class DealtDataset;
  Scope dealer_scope_ = Scope::NewRoot();
  Output dealer_, progress_, range_;
  OutputList next_;
};

// A dealer, and what it has dealt so far. A value type; copies refer to the same ops.
// - The dealer is on the scope's device, a parameter server or the chief. Graphs of several clients that name it alike
//   share it, and must give it the same chunks and options.
// - Its progress is a variable beside it, which checkpoints and training loops treat as any other. Initialise it once.
class DealtDataset {
 public:
  // The whole chunk `index` of `epoch` (int64 scalars), as examples in an order that is the same in each call: workers
  // go on in the middle of it.
  using ChunkFunction = std::function<Dataset(const Scope& scope, const Output& epoch, const Output& index)>;

  DealtDataset() = default;
  // `chunk_sizes`: examples of each chunk.
  DealtDataset(const Scope& scope, const std::string& name, const std::vector<int64_t>& chunk_sizes,
               const DealOptions& options);

  // The batches of a worker, whose pipeline is on the scope's device. `worker` is its name in reports, a string, which
  // no other worker has. Steps with the same input run one after the other.
  DealtInput ForWorker(const Scope& scope, const Input& worker, const ChunkFunction& chunk) const;

  const ResourceVariable& progress() const { return progress_; }
  const Output& handle() const { return dealer_; }

 private:
  std::string name_;
  DealOptions options_;
  Scope scope_ = Scope::NewRoot();
  ResourceVariable progress_;
  Output dealer_;
};

}  // namespace weir
