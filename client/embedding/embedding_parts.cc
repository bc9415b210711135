#include "client/embedding/embedding_parts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "client/embedding/part_balance.h"
#include "client/ops.h"
#include "core/random_bits.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

// Attempts to copy a table that no longer has the changes since the last copy.
constexpr int kAttempts = 3;
// Rounds of changes before the final one, which blocks steps; fewer if few rows changed.
constexpr int kRounds = 3;
constexpr int64_t kFewRows = 1000;

// A graph with the embedding, and a session for it.
struct Connection {
  static absl::StatusOr<Connection> Open(const std::string& name, const EmbeddingVariableOptions& options,
                                         const EmbeddingParts::Connect& connect) {
    Connection made;
    made.variable = EmbeddingVariable::Make(made.scope.WithName(name), options);
    if (!made.variable.moves()) {
      return errors::InvalidArgument("Embedding '", name,
                                     "' has no movable parts: set EmbeddingVariableOptions::parts when creating it");
    }
    RETURN_IF_ERROR(made.scope.status());
    ASSIGN_OR_RETURN(made.session, connect(made.scope));
    return made;
  }
  Scope home() const { return scope.ColocateWith(variable.map().op()); }

  Scope scope = Scope::NewRoot();
  EmbeddingVariable variable;
  std::unique_ptr<Session> session;
};

absl::StatusOr<PartsState> ReadState(const Connection& connection) {
  const EmbeddingVariable& variable = connection.variable;
  const auto map = ops::EmbeddingMapRead(connection.home(), variable.map());
  std::vector<Output> fetches = {map.owners, map.tasks, map.epoch};
  for (int i = 0; i < variable.num_parts(); ++i) {
    fetches.push_back(ops::EmbeddingTableLoad(variable.Beside(connection.scope, i), variable.table(i)));
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> read, connection.session->Run(fetches));
  PartsState state;
  state.epoch = read[2].scalar<int64_t>();
  if (read[0].NumElements() == 0) {
    return errors::FailedPrecondition("Embedding '", variable.name(), "' is not initialized yet, or being restored");
  }
  constexpr int kMap = 3, kColumns = 4;
  for (const int32_t owner : read[0].flat<int32_t>()) {
    const std::string task(read[1].flat<tstring>()[owner]);
    const auto found = std::find(variable.tasks().begin(), variable.tasks().end(), task);
    if (found == variable.tasks().end()) {
      return errors::FailedPrecondition("A part of embedding '", variable.name(), "' is on ", task,
                                        ", which is not one of its devices in this program");
    }
    state.owners.push_back(static_cast<int32_t>(found - variable.tasks().begin()));
    const int64_t* const load = read[kMap + state.owners.back()].data<int64_t>() + kColumns * (state.owners.size() - 1);
    state.loads.push_back({.keys = load[0], .bytes = load[1], .pulled = load[2], .pushed = load[3]});
  }
  return state;
}

// One move of parts.
class Mover {
 public:
  Mover(Connection* connection, PartsState from, std::vector<int32_t> owners, const EmbeddingPartsOptions& options)
      : connection_(*connection), from_(std::move(from)), owners_(std::move(owners)), options_(options) {
    std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> links;
    for (size_t i = 0; i < owners_.size(); ++i) {
      if (owners_[i] != from_.owners[i]) links[{from_.owners[i], owners_[i]}].push_back(static_cast<int32_t>(i));
    }
    for (auto& [ends, parts] : links) {
      report_.parts += static_cast<int>(parts.size());
      std::vector<int64_t> since(parts.size(), kAll);
      links_.push_back({.from = ends.first, .to = ends.second, .parts = std::move(parts), .since = std::move(since)});
    }
  }

  absl::StatusOr<MoveReport> Run() {
    if (links_.empty()) return report_;
    Build();
    RETURN_IF_ERROR(connection_.scope.status());
    absl::Status status;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      status = Copy();
      if (status.ok()) status = Finish();
      // If the table no longer has all removals, or a part must be cleared first, all rows are copied again.
      if (absl::IsAlreadyExists(status)) {
        if (status = Clear(); !status.ok()) break;
      } else if (!absl::IsFailedPrecondition(status)) {
        break;
      }
      for (Link& link : links_) std::fill(link.since.begin(), link.since.end(), kAll);
    }
    RETURN_IF_ERROR(Annotate(status, absl::StrCat("Moving parts of embedding '", connection_.variable.name(), "'")));
    return report_;
  }

 private:
  static constexpr int64_t kAll = -1;

  struct Link {
    int from = 0, to = 0;
    std::vector<int32_t> parts;
    std::vector<int64_t> since;                   // per part, the version that the destination has
    Output fed_parts, fed_since, fed_last_since;  // the last for the final round
    Output version, received;
  };

  void Build() {
    const EmbeddingVariable& variable = connection_.variable;
    const Scope scope = connection_.scope.SubScope("move"), home = scope.ColocateWith(variable.map().op());
    const Tensor move = Tensor::Scalar<int64_t>(static_cast<int64_t>(RandomBits() >> 1)),
                 owners = Tensor::Vector<int32_t>(owners_);
    const Operation seal = ops::EmbeddingMapSeal(home, variable.map(), Tensor::Scalar<int64_t>(from_.epoch));
    std::vector<Operation> adopted;
    for (Link& link : links_) {
      const Scope from = variable.Beside(scope, link.from), to = variable.Beside(scope, link.to);
      const auto send = [&](const Scope& where, const Output& parts, const Output& since, bool freeze) {
        const auto sent =
            ops::EmbeddingTableSend(where, variable.table(link.from), parts, since, move, {.freeze = freeze});
        link.version = freeze ? link.version : sent.version;
        return ops::EmbeddingTableReceive(to, variable.table(link.to), parts, since, move, sent.keys, sent.values,
                                          sent.slots, sent.versions, sent.freqs, sent.used, sent.removed, sent.filters);
      };
      link.fed_parts = ops::Placeholder(from, DT_INT32);
      link.fed_since = ops::Placeholder(from, DT_INT64);
      link.fed_last_since = ops::Placeholder(from, DT_INT64);
      link.received = send(from, link.fed_parts, link.fed_since, false);
      const Output all = from.Constant(Tensor::Vector<int32_t>(link.parts));
      const Output last = send(from.WithControlDependencies({seal}), all, link.fed_last_since, true);
      const Scope after = to.WithControlDependencies(std::vector<Output>{last});
      adopted.push_back(ops::EmbeddingTableAdopt(after, variable.table(link.to), all, move));
    }
    const std::vector<tstring> tasks(variable.tasks().begin(), variable.tasks().end());
    pause_ = ops::EmbeddingMapCommit(home.WithControlDependencies(adopted), variable.map(), owners,
                                     Tensor::Vector<tstring>(tasks));
    std::vector<Operation> owned;
    for (int i = 0; i < variable.num_parts(); ++i) {
      const Scope after = variable.Beside(scope, i).WithControlDependencies(std::vector<Output>{pause_});
      owned.push_back(ops::EmbeddingTableOwn(after, variable.table(i), owners, Tensor::Scalar<int32_t>(i)));
    }
    std::set<int> receivers;
    for (const Link& link : links_) receivers.insert(link.to);
    std::vector<Operation> cleared;
    const Tensor owners_before = Tensor::Vector<int32_t>(from_.owners);
    for (const int i : receivers) {
      const Scope after = variable.Beside(scope, i).WithControlDependencies({seal});
      cleared.push_back(ops::EmbeddingTableOwn(after, variable.table(i), owners_before, Tensor::Scalar<int32_t>(i)));
    }
    // Colocated with the map, so that the step that blocks it finishes there last.
    clear_ = ops::NoOp(home.WithControlDependencies(cleared).WithName("clear"));
    finish_ = ops::NoOp(home.WithControlDependencies(owned).WithName("finish"));
  }

  absl::Status Copy() {
    for (int round = 0; round <= kRounds; ++round) {
      int64_t received = 0;
      for (Link& link : links_) RETURN_IF_ERROR(CopyLink(link, &received));
      report_.rows += received;
      if (round > 0 && received <= kFewRows) break;
    }
    return absl::OkStatus();
  }

  absl::Status CopyLink(Link& link, int64_t* received) {
    for (size_t begin = 0, end; begin < link.parts.size(); begin = end) {
      int64_t bytes = 0;
      for (end = begin; end < link.parts.size() && (end == begin || bytes < options_.batch_bytes); ++end) {
        bytes += link.since[end] == kAll ? from_.loads[link.parts[end]].bytes : 0;
      }
      const auto batch = [&](const auto& all) { return absl::MakeConstSpan(all).subspan(begin, end - begin); };
      const FeedList feeds = {{link.fed_parts, Tensor::Vector<int32_t>(batch(link.parts))},
                              {link.fed_since, Tensor::Vector<int64_t>(batch(link.since))}};
      ASSIGN_OR_RETURN(const std::vector<Tensor> sent, connection_.session->Run(feeds, {link.version, link.received}));
      for (size_t i = begin; i < end; ++i) link.since[i] = sent[0].scalar<int64_t>();
      *received += sent[1].scalar<int64_t>();
    }
    return absl::OkStatus();
  }

  // Drops leftovers of aborted moves from destinations. Parts to be moved are sealed, so no step uses them.
  absl::Status Clear() { return connection_.session->Run({}, {}, {clear_}, WithinPause()).status(); }

  absl::Status Finish() {
    FeedList feeds;
    for (const Link& link : links_) feeds.emplace_back(link.fed_last_since, Tensor::Vector<int64_t>(link.since));
    const auto pause = connection_.session->Run(feeds, {pause_}, {finish_}, WithinPause());
    if (pause.ok()) {
      report_.pause = absl::Microseconds((*pause)[0].scalar<int64_t>());
      return absl::OkStatus();
    }
    // The response may be lost, or the step may fail after changing the map, which completes the move. Leftover parts
    // on the source tasks are unused, and the next move drops them.
    const absl::StatusOr<PartsState> now = ReadState(connection_);
    const bool is_made = now.ok() && now->epoch == from_.epoch + 1 && now->owners == owners_;
    return is_made ? absl::OkStatus() : pause.status();
  }

  tensorflow::RunOptions WithinPause() const {
    tensorflow::RunOptions run;
    // 0 would mean no limit.
    run.set_timeout_in_ms(std::max(int64_t{1}, absl::ToInt64Milliseconds(options_.max_pause)));
    return run;
  }

  Connection& connection_;
  const PartsState from_;
  const std::vector<int32_t> owners_;
  const EmbeddingPartsOptions& options_;
  std::vector<Link> links_;
  Output pause_;
  Operation finish_, clear_;
  MoveReport report_;
};

}  // namespace

PartLoad PartsState::OnDevice(int device) const {
  PartLoad sum;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != device) continue;
    sum.keys += loads[i].keys;
    sum.bytes += loads[i].bytes;
    sum.pulled += loads[i].pulled;
    sum.pushed += loads[i].pushed;
  }
  return sum;
}

EmbeddingParts::EmbeddingParts(const EmbeddingVariable& variable, Connect connect, EmbeddingPartsOptions options)
    : name_(variable.name()),
      variable_options_(variable.options()),
      connect_(std::move(connect)),
      options_(std::move(options)) {}

absl::StatusOr<PartsState> EmbeddingParts::Read() const {
  ASSIGN_OR_RETURN(const Connection connection, Connection::Open(name_, variable_options_, connect_));
  return ReadState(connection);
}

absl::StatusOr<MoveReport> EmbeddingParts::Move(const std::vector<int32_t>& owners) const {
  const auto devices = static_cast<int32_t>(variable_options_.devices.size());
  const bool in_range =
      std::all_of(owners.begin(), owners.end(), [devices](int32_t owner) { return owner >= 0 && owner < devices; });
  if (static_cast<int64_t>(owners.size()) != variable_options_.parts || !in_range) {
    return errors::InvalidArgument("Embedding '", name_, "' has ", variable_options_.parts, " parts on ", devices,
                                   " devices; the given owners do not match them");
  }
  ASSIGN_OR_RETURN(Connection connection, Connection::Open(name_, variable_options_, connect_));
  ASSIGN_OR_RETURN(PartsState now, ReadState(connection));
  return Mover(&connection, std::move(now), owners, options_).Run();
}

absl::StatusOr<MoveReport> EmbeddingParts::Balance(const std::vector<bool>& may_have, LoadMeasure measure) {
  if (may_have.size() != variable_options_.devices.size() ||
      std::none_of(may_have.begin(), may_have.end(), [](bool may) { return may; })) {
    return errors::InvalidArgument("At least one of the ", variable_options_.devices.size(), " devices of embedding '",
                                   name_, "' must be allowed to have parts, and each needs an entry");
  }
  ASSIGN_OR_RETURN(const PartsState now, Read());
  std::vector<double> loads;
  for (size_t i = 0; i < now.loads.size(); ++i) {
    const PartLoad& load = now.loads[i];
    if (measure == LoadMeasure::kBytes) {
      loads.push_back(static_cast<double>(load.bytes));
      continue;
    }
    // A part's counters restart when it moves to another task.
    const PartLoad before = i < last_loads_.size() ? last_loads_[i] : PartLoad();
    const int64_t all = load.pulled + load.pushed, then = before.pulled + before.pushed;
    loads.push_back(static_cast<double>(all >= then ? all - then : all));
  }
  if (measure == LoadMeasure::kTraffic) last_loads_ = now.loads;
  return Move(BalanceParts(now.owners, loads, may_have));
}

}  // namespace weir
