#include "tests/chaos/ledger.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/variables.h"
#include "core/clock.h"
#include "tests/chaos/await.h"
#include "tests/chaos/report.h"

namespace weir::chaos {
namespace {

constexpr int64_t kCapacity = 1 << 20;  // entries
constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr absl::Duration kPause = absl::Milliseconds(20);  // between reads that fail

}  // namespace

std::string LedgerCount::ToString() const {
  return absl::StrCat(lost, " lost, ", twice, " twice, ", disordered, " out of order, ", late, " late, ", split,
                      " on one server only");
}

LedgerCount& LedgerCount::operator+=(const LedgerCount& other) {
  steps += other.steps;
  failed += other.failed;
  lost += other.lost;
  twice += other.twice;
  disordered += other.disordered;
  late += other.late;
  split += other.split;
  return *this;
}

absl::StatusOr<std::unique_ptr<LedgerClient>> LedgerClient::Start(const Options& options) {
  std::unique_ptr<LedgerClient> client(new LedgerClient);
  RETURN_IF_ERROR(client->Build(options));
  ASSIGN_OR_RETURN(client->session_, Session::Connect(options.target, client->scope_));
  RETURN_IF_ERROR(client->session_->RunTargets({client->initialize_}));
  client->thread_ = std::thread([raw = client.get()] { raw->Run(); });
  return client;
}

LedgerClient::~LedgerClient() { Stop(); }

void LedgerClient::Stop() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

absl::Status LedgerClient::Build(const Options& options) {
  name_ = absl::StrCat("client_", options.client);
  const Scope on_worker = scope_.WithDevice(absl::StrCat("/job:worker/task:", options.worker));
  id_ = ops::Placeholder(on_worker.WithName("id"), DT_INT64, {.shape = TensorShape()});
  const Output id = ops::Identity(on_worker, id_);
  std::vector<Operation> updates;
  for (int i = 0; i < options.servers; ++i) {
    const Scope server = scope_.WithDevice(absl::StrCat("/job:ps/task:", i)).SubScope(absl::StrCat(name_, "_", i));
    const auto make = [&](const std::string& name, const TensorShape& shape) {
      return ResourceVariable::Make(server.WithName(name), shape, DT_INT64, initializers::Zeros());
    };
    const ResourceVariable rows = make("rows", TensorShape({kCapacity})), count = make("count", TensorShape()),
                           sum = make("sum", TensorShape());
    const Tensor one_element = Tensor::Vector<int32_t>({1});
    const Output end = ops::Reshape(server, count.value(), one_element);
    const Operation append = ops::ResourceScatterAdd(server, rows.handle(), end, ops::Reshape(server, id, one_element));
    updates.push_back(count.AssignAdd(server.WithControlDependencies({append}), int64_t{1}));
    updates.push_back(sum.AssignAdd(server, id));
    servers_.push_back(
        {.entries = ops::Slice(server, rows.value(), Tensor::Vector<int64_t>({0}), end), .sum = sum.value()});
  }
  step_ = ops::NoOp(scope_.WithControlDependencies(updates).WithName("step"));
  initialize_ = InitializeAll(scope_);
  return scope_.status();
}

void LedgerClient::Run() {
  absl::Time last_end = MonotonicNow();
  while (!stopped_ && error_.ok() && static_cast<int64_t>(outcomes_.size()) < kCapacity) {
    const int64_t id = static_cast<int64_t>(outcomes_.size()) + 1;
    if (session_->Run({{id_, Tensor::Scalar<int64_t>(id)}}, {}, {step_}).ok()) {
      outcomes_.push_back(Outcome::kMade);
      ++steps_;
      const absl::Time end = MonotonicNow();
      const int64_t pause = absl::ToInt64Nanoseconds(end - std::exchange(last_end, end));
      int64_t longest = longest_nanos_;
      while (pause > longest && !longest_nanos_.compare_exchange_weak(longest, pause)) {
      }
      continue;
    }
    ++failures_;
    const auto ledgers = Read();
    if (!ledgers.ok()) {
      error_ = ledgers.status();
      return;
    }
    const auto has = [&](const std::vector<int64_t>& ledger) { return !ledger.empty() && ledger.back() == id; };
    const int64_t servers = std::count_if(ledgers->begin(), ledgers->end(), has);
    if (servers != 0 && servers != static_cast<int64_t>(ledgers->size())) {
      ++count_.split;
      Explain(absl::StrCat(name_, ": id ", id, " is on ", servers, " servers only"));
    }
    outcomes_.push_back(servers == 0 ? Outcome::kAbsent : Outcome::kMade);
  }
}

absl::StatusOr<std::vector<std::vector<int64_t>>> LedgerClient::Read() {
  std::vector<Output> fetches;
  for (const Server& server : servers_) fetches.insert(fetches.end(), {server.entries, server.sum});
  absl::StatusOr<std::vector<Tensor>> values = session_->Run(fetches);
  for (const absl::Time end = MonotonicNow() + kPatience; !values.ok(); values = session_->Run(fetches)) {
    if (MonotonicNow() > end) return Annotate(values.status(), absl::StrCat(name_, " cannot read its ledgers"));
    absl::SleepFor(kPause);
  }
  std::vector<std::vector<int64_t>> ledgers;
  for (size_t i = 0; i < servers_.size(); ++i) {
    const Tensor& entries = (*values)[2 * i];
    const int64_t* const data = entries.data<int64_t>();
    ledgers.emplace_back(data, data + entries.NumElements());
    const int64_t sum = (*values)[2 * i + 1].scalar<int64_t>();
    const int64_t expected = std::accumulate(ledgers[i].begin(), ledgers[i].end(), int64_t{0});
    if (expected == sum) continue;
    ++count_.split;
    Explain(absl::StrCat(name_, ": the sum on server ", i, " is ", sum, ", that of its ledger ", expected, "; it has ",
                         ledgers[i].size(), " entries, the last is ", ledgers[i].empty() ? 0 : ledgers[i].back()));
  }
  return ledgers;
}

absl::StatusOr<LedgerCount> LedgerClient::Finish() {
  Stop();
  RETURN_IF_ERROR(error_);
  ASSIGN_OR_RETURN(const auto ledgers, Read());
  LedgerCount count = count_;
  count.steps = steps_;
  count.failed = failures_;
  const std::vector<int64_t>& entries = ledgers[0];
  for (const std::vector<int64_t>& other : ledgers) {
    if (other == entries) continue;
    ++count.split;
    Explain(absl::StrCat(name_, ": the ledgers have ", entries.size(), " and ", other.size(), " entries and differ"));
  }
  std::vector<int> times(outcomes_.size() + 1, 0);
  int64_t last = 0;
  const auto add = [&](int64_t& what, const char* text, int64_t id) {
    ++what;
    Explain(absl::StrCat(name_, ": id ", id, " ", text));
  };
  for (const int64_t id : entries) {
    if (id <= last) add(count.disordered, "is out of order", id);
    last = id;
    if (id < 1 || id >= static_cast<int64_t>(times.size())) {
      add(count.twice, "was never sent; it is a sum of others", id);
    } else if (++times[id] == 2) {
      add(count.twice, "happened twice", id);
    }
  }
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    const int64_t id = static_cast<int64_t>(i) + 1;
    if (outcomes_[i] == Outcome::kMade && times[id] == 0) add(count.lost, "is lost", id);
    if (outcomes_[i] == Outcome::kAbsent && times[id] > 0)
      add(count.late, "happened after it had been read as absent", id);
  }
  return count;
}

absl::Status AwaitSteps(const LedgerClient& client, int64_t steps, absl::Duration patience) {
  return AwaitTrue("a client makes no steps", patience,
                   [&client, end = client.steps() + steps] { return client.steps() >= end; });
}

absl::Duration TakeLongestPause(const std::vector<std::unique_ptr<LedgerClient>>& clients) {
  absl::Duration longest;
  for (const auto& client : clients) longest = std::max(longest, client->TakeLongestPause());
  return longest;
}

}  // namespace weir::chaos
