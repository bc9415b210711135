// Where the parts of an embedding are, what each has to bear, and how they move.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/embedding/embedding_variable.h"
#include "client/session.h"

namespace weir {

// Of one part, since its task has it.
struct PartLoad {
  int64_t keys = 0, bytes = 0, pulled = 0, pushed = 0;
};

struct PartsState {
  std::vector<int32_t> owners;  // of each part, as an index into the embedding's devices
  std::vector<PartLoad> loads;  // of each part
  int64_t epoch = 0;            // grows with every change of owners
  PartLoad OnDevice(int device) const;
};

struct MoveReport {
  int parts = 0;         // that have moved
  int64_t rows = 0;      // that were sent for it, those that changed meanwhile more than once
  absl::Duration pause;  // that steps had to wait at most
};

struct EmbeddingPartsOptions {
  // A move whose end takes longer fails, and leaves everything where it was.
  absl::Duration max_pause = absl::Seconds(10);
  // Rows go in batches of parts that have so many bytes, or one part.
  int64_t batch_bytes = int64_t{64} << 20;
};

// What an operator, a hook or a thread beside the training uses. Each call makes a graph and a session of its own: it
// disturbs nobody's. Not thread-safe, but several may be there for one embedding, in several processes: moves go one by
// one, and one that another has overtaken is ABORTED.
//
//   EmbeddingParts parts(users, [&](const Scope& scope) { return Session::Connect(target, scope); });
//   // On three devices now, of which the third had none.
//   RETURN_IF_ERROR(parts.Balance({true, true, true}, EmbeddingParts::LoadMeasure::kBytes).status());
//
// A move copies rows, and what has changed meanwhile, while the training goes on. Then steps that begin wait, those
// under way end, the last changes go, and the map changes: at one moment, on one task. Until then everything is as it
// was, whatever fails. Where a task is lost, the embedding is restored from a checkpoint as ever, with the map in it.
class EmbeddingParts {
 public:
  using Connect = std::function<absl::StatusOr<std::unique_ptr<Session>>(const Scope& scope)>;
  enum class LoadMeasure {
    kBytes,   // that rows take
    kTraffic  // keys pulled and pushed since the last call with this measure, or since ever
  };

  // The embedding's graph is not used; its name and options are.
  EmbeddingParts(const EmbeddingVariable& variable, Connect connect, EmbeddingPartsOptions options = {});

  absl::StatusOr<PartsState> Read() const;
  absl::StatusOr<MoveReport> Move(const std::vector<int32_t>& owners) const;
  // Evens the load of the devices that may have parts; the others give theirs away.
  absl::StatusOr<MoveReport> Balance(const std::vector<bool>& may_have, LoadMeasure measure);

 private:
  const std::string name_;
  const EmbeddingVariableOptions variable_options_;
  const Connect connect_;
  const EmbeddingPartsOptions options_;
  std::vector<PartLoad> last_loads_;  // of LoadMeasure::kTraffic
};

}  // namespace weir
