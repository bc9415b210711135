#include "master/client_partial_run.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

std::string CanonicalName(const std::string& name) {
  return absl::StrContains(name, ':') ? name : absl::StrCat(name, ":0");
}

// For each fetch, the feeds on its paths to the graph's sources.
std::vector<std::vector<int>> FeedsOfFetches(const Graph& graph, const Signature& signature) {
  absl::flat_hash_map<std::string, int> feeds;
  for (size_t i = 0; i < signature.feeds.size(); ++i) feeds.emplace(CanonicalName(signature.feeds[i]), i);
  std::vector<std::vector<int>> result(signature.fetches.size());
  for (size_t i = 0; i < signature.fetches.size(); ++i) {
    const std::string name = CanonicalName(signature.fetches[i]);
    const Node* fetched = graph.FindNode(name.substr(0, name.rfind(':')));
    if (fetched == nullptr) continue;
    std::vector<const Node*> open = {fetched};
    absl::flat_hash_set<const Node*> seen = {fetched};
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      for (const Edge* edge : node->in_edges()) {
        auto feed = feeds.end();
        if (!edge->is_control()) feed = feeds.find(absl::StrCat(edge->src->name(), ":", edge->src_output));
        if (feed != feeds.end()) {
          result[i].push_back(feed->second);
        } else if (seen.insert(edge->src).second) {
          open.push_back(edge->src);
        }
      }
    }
  }
  return result;
}

// The position of a pending feed or fetch ("feed", "fed") in the set-up's list.
absl::StatusOr<int> Position(const std::vector<std::string>& names, const absl::flat_hash_set<int>& pending,
                             const std::string& name, absl::string_view what, absl::string_view done) {
  const auto named = std::find_if(names.begin(), names.end(), [canonical = CanonicalName(name)](const auto& known) {
    return CanonicalName(known) == canonical;
  });
  if (named == names.end()) {
    return errors::InvalidArgument("The ", what, " ", name, " was not specified in partial_run_setup.");
  }
  const int position = static_cast<int>(named - names.begin());
  if (!pending.contains(position))
    return errors::InvalidArgument("The ", what, " ", name, " has already been ", done, ".");
  return position;
}

}  // namespace

ClientPartialRun::ClientPartialRun(std::shared_ptr<Step> step, Signature signature, const Graph& graph)
    : step_(std::move(step)), signature_(std::move(signature)), feeds_of_fetch_(FeedsOfFetches(graph, signature_)) {
  for (size_t i = 0; i < signature_.feeds.size(); ++i) pending_feeds_.insert(static_cast<int>(i));
  for (size_t i = 0; i < signature_.fetches.size(); ++i) pending_fetches_.insert(static_cast<int>(i));
}

absl::Status ClientPartialRun::CheckFetch(int fetch, const std::vector<int>& feeds_now) const {
  for (const int feed : feeds_of_fetch_[fetch]) {
    const bool is_here = std::find(feeds_now.begin(), feeds_now.end(), feed) != feeds_now.end();
    if (is_here || !pending_feeds_.contains(feed)) continue;
    return errors::InvalidArgument(
        "Fetch ", signature_.fetches[fetch],
        " can't be computed from the feeds that have been fed so far: ", signature_.feeds[feed], " is missing");
  }
  return absl::OkStatus();
}

absl::StatusOr<ClientPartialRun::Piece> ClientPartialRun::Take(const RunStepArgs& args) {
  Piece piece{.step = step_};
  for (const auto& [name, tensor] : args.feeds) {
    ASSIGN_OR_RETURN(const int feed, Position(signature_.feeds, pending_feeds_, name, "feed", "fed"));
    piece.feed_indices.push_back(feed);
    piece.feeds.push_back(tensor);
  }
  for (const std::string& name : args.fetches) {
    ASSIGN_OR_RETURN(const int fetch, Position(signature_.fetches, pending_fetches_, name, "fetch", "fetched"));
    piece.fetch_indices.push_back(fetch);
  }
  for (const int fetch : piece.fetch_indices) RETURN_IF_ERROR(CheckFetch(fetch, piece.feed_indices));
  for (const int feed : piece.feed_indices) pending_feeds_.erase(feed);
  for (const int fetch : piece.fetch_indices) pending_fetches_.erase(fetch);
  piece.is_last = pending_feeds_.empty() && pending_fetches_.empty();
  return piece;
}

}  // namespace weir
