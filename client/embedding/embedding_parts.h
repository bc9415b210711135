// The placement of an embedding's parts, their load, and moves between tasks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/embedding/embedding_variable.h"
#include "client/session.h"
#include "core/api.h"

namespace WEIR_API weir {

// The load of one part, since it moved to its task.
struct PartLoad {
  int64_t keys = 0, bytes = 0, pulled = 0, pushed = 0;
};

struct PartsState {
  std::vector<int32_t> owners;  // per part, an index into the embedding's devices
  std::vector<PartLoad> loads;  // per part
  int64_t epoch = 0;            // increases with every change of owners
  PartLoad OnDevice(int device) const;
};

struct MoveReport {
  int parts = 0;         // parts that moved
  int64_t rows = 0;      // rows sent; rows that changed during the move count repeatedly
  absl::Duration pause;  // upper bound of the time that steps were blocked
};

struct EmbeddingPartsOptions {
  // A move whose final phase takes longer fails, without an effect.
  absl::Duration max_pause = absl::Seconds(10);
  // Rows are sent in batches of parts with this many bytes, or of one part.
  int64_t batch_bytes = int64_t{64} << 20;
};

// Moves parts of an embedding, from an operator's tool, a hook, or a thread beside training. Each call creates its own
// graph and session, so it does not disturb others. Not thread-safe; but several objects may exist for one embedding,
// in several processes: moves are serialised, and one that another has overtaken is ABORTED.
//
//   EmbeddingParts parts(users, [&](const Scope& scope) { return Session::Connect(target, scope); });
//   // On three devices now, of which the third had none.
//   RETURN_IF_ERROR(parts.Balance({true, true, true}, EmbeddingParts::LoadMeasure::kBytes).status());
//
// Phases of a move:
// - Copies rows, then rows changed in the meantime, while training continues.
// - Blocks new steps, waits for running ones, copies the last changes and updates the map atomically, on one task.
// Until the map is updated a failure changes nothing. If a task is lost, the embedding is restored from a checkpoint as
// usual, including the map.
class EmbeddingParts {
 public:
  using Connect = std::function<absl::StatusOr<std::unique_ptr<Session>>(const Scope& scope)>;
  enum class LoadMeasure {
    kBytes,   // of the rows
    kTraffic  // keys pulled and pushed since the last call with this measure, or since creation
  };

  // Uses the embedding's name and options, not its graph.
  EmbeddingParts(const EmbeddingVariable& variable, Connect connect, EmbeddingPartsOptions options = {});

  absl::StatusOr<PartsState> Read() const;
  absl::StatusOr<MoveReport> Move(const std::vector<int32_t>& owners) const;
  // Balances the load over the devices that may have parts; the others lose theirs.
  absl::StatusOr<MoveReport> Balance(const std::vector<bool>& may_have, LoadMeasure measure);

 private:
  const std::string name_;
  const EmbeddingVariableOptions variable_options_;
  const Connect connect_;
  const EmbeddingPartsOptions options_;
  std::vector<PartLoad> last_loads_;  // of LoadMeasure::kTraffic
};

}  // namespace weir
