#include "distribute/membership/regrouping.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/device/device_name.h"

namespace weir {
namespace {

using Note = TrainingNote;

bool IsSame(const TrainingMember& a, const TrainingMember& b) { return a.task() == b.task() && a.run() == b.run(); }

// The rules, with what they are applied to.
class Rules {
 public:
  Rules(const Note& self, const RegroupPeers& peers, const RegroupPolicy& policy,
        const std::set<std::pair<std::string, uint64_t>>& excluded, uint64_t new_id)
      : self_(self), peers_(peers), policy_(policy), excluded_(excluded), new_id_(new_id) {
    notes_.push_back(&self_);
    for (const auto& [task, peer] : peers_) {
      if (peer.state == RegroupPeer::kAnswers) notes_.push_back(&peer.note);
    }
    for (const Note* const note : notes_) {
      if (note->phase() != Note::ENDED && IsNewer(note->held(), newest_)) newest_ = note->held();
    }
  }

  RegroupAction Next() const {
    switch (self_.phase()) {
      case Note::WAITING:
        return Wait();
      case Note::TRAINING:
        return Train();
      case Note::ENTERING:
        return Enter();
      default:
        return {};
    }
  }

 private:
  const Note* NoteOf(const TrainingMember& member) const {
    for (const Note* const note : notes_) {
      if (IsSame(note->self(), member)) return note;
    }
    return nullptr;
  }
  // Its process is not there any more, or another one has its task.
  bool IsLost(const TrainingMember& member) const {
    if (member.task() == self_.self().task()) return member.run() != self_.self().run();
    const auto found = peers_.find(member.task());
    if (found == peers_.end() || found->second.state == RegroupPeer::kUnknown) return false;
    return found->second.state == RegroupPeer::kLost || found->second.note.self().run() != member.run();
  }
  bool HasSelf(const TrainingGeneration& generation) const { return RankIn(generation, self_.self()) >= 0; }
  bool IsExcluded(const TrainingMember& member) const { return excluded_.contains({member.task(), member.run()}); }

  // The worker that makes the next plan: the lowest rank among those with the newest state. Null: not known yet.
  const Note* Decider() const {
    const Note* decider = nullptr;
    if (newest_.id() != 0) {
      for (const Note* const note : notes_) {
        if (note->held().id() != newest_.id() || note->phase() == Note::ENDED) continue;
        if (decider == nullptr || HasLowerRank(note->self(), decider->self())) decider = note;
      }
      return decider;
    }
    for (const Note* const note : notes_) {
      if (note->phase() == Note::ENDED) continue;
      if (decider == nullptr || HasLowerRank(note->self(), decider->self())) decider = note;
    }
    return decider;
  }

  // Whether its process may join, or stay in, a generation.
  bool IsWilling(const Note& note) const {
    return note.phase() != Note::ENDED && !note.leaving() && !IsExcluded(note.self());
  }

  RegroupAction Propose(std::vector<TrainingMember> members) const {
    std::sort(members.begin(), members.end(), HasLowerRank);
    if (members.size() > static_cast<size_t>(policy_.max_workers)) members.resize(policy_.max_workers);
    RegroupAction action{.kind = RegroupAction::kPropose};
    int64_t number = 0;
    for (const Note* const note : notes_) {
      number = std::max({number, note->held().number(), note->plan().number(), note->prepared().number(),
                         note->abandoned().number()});
    }
    action.plan.set_number(number + 1);
    action.plan.set_id(new_id_);
    for (TrainingMember& member : members) *action.plan.add_member() = std::move(member);
    return action;
  }
  static bool HasMembers(const TrainingGeneration& plan, std::vector<TrainingMember> members) {
    std::sort(members.begin(), members.end(), HasLowerRank);
    return plan.id() != 0 &&
           std::equal(members.begin(), members.end(), plan.member().begin(), plan.member().end(), IsSame);
  }

  // It waits, or follows this worker's plan already. Others find out that what they are in is over.
  bool IsReady(const Note& note) const {
    return note.phase() == Note::WAITING ||
           (note.phase() == Note::ENTERING && note.prepared().id() == self_.plan().id());
  }

  // A plan can still come to pass: none of its members is lost, or has given it up.
  std::string WhyOver(const TrainingGeneration& plan) const {
    for (const TrainingMember& member : plan.member()) {
      if (IsLost(member)) return absl::StrCat(member.task(), " is lost");
      const Note* const note = NoteOf(member);
      if (note == nullptr || note == &self_) continue;
      if (!IsNewer(plan, note->abandoned()))
        return absl::StrCat(member.task(), " has given generation ", plan.number(), " up");
      if (note->phase() == Note::ENDED) return absl::StrCat(member.task(), " has ended");
      if (IsNewer(note->held(), plan)) return absl::StrCat(member.task(), " is in a newer generation");
      if (IsNewer(note->prepared(), plan) || IsNewer(note->plan(), plan)) {
        return absl::StrCat(member.task(), " has turned to a newer plan");
      }
    }
    return "";
  }

  RegroupAction Wait() const {
    for (const auto& [task, peer] : peers_) {
      if (peer.state == RegroupPeer::kUnknown) return {};
    }
    const Note* const decider = Decider();
    if (decider == nullptr) return {};
    if (decider != &self_) {
      // It still waits for this worker in a step, and has to find out first.
      const bool is_behind = decider->phase() == Note::TRAINING && decider->held().id() == self_.held().id();
      return is_behind ? RegroupAction() : Follow(*decider, RegroupAction::kEnter);
    }
    std::vector<TrainingMember> members;
    if (newest_.id() == 0) {
      for (const Note* const note : notes_) {
        if (note->phase() == Note::ENDED) continue;
        if (!IsReady(*note)) return {};
        if (IsWilling(*note)) members.push_back(note->self());
      }
      if (members.size() < static_cast<size_t>(std::max(policy_.initial_workers, policy_.min_workers))) return {};
    } else {
      for (const TrainingMember& member : newest_.member()) {
        if (IsLost(member)) continue;
        const Note* const note = NoteOf(member);
        if (note == nullptr) return {};
        if (!IsWilling(*note)) continue;
        if (!IsReady(*note)) return {};
        members.push_back(member);
      }
      // Those that have come meanwhile make up for those that are lost.
      if (members.size() < static_cast<size_t>(policy_.min_workers)) {
        for (const Note* const note : notes_) {
          if (note->phase() == Note::WAITING && IsWilling(*note) && RankIn(newest_, note->self()) < 0) {
            members.push_back(note->self());
          }
        }
      }
      if (members.size() < static_cast<size_t>(policy_.min_workers)) return {};
    }
    if (std::none_of(members.begin(), members.end(), [&](const auto& m) { return IsSame(m, self_.self()); })) return {};
    const bool is_fresh =
        IsNewer(self_.plan(), newest_) && IsNewer(self_.plan(), self_.abandoned()) && WhyOver(self_.plan()).empty();
    if (is_fresh && HasMembers(self_.plan(), members)) {
      return {.kind = RegroupAction::kEnter, .plan = self_.plan()};
    }
    return Propose(std::move(members));
  }

  // Enters or prepares the deciding worker's plan.
  RegroupAction Follow(const Note& decider, RegroupAction::Kind kind) const {
    const TrainingGeneration& plan = decider.plan();
    if (plan.id() == 0 || !IsNewer(plan, self_.abandoned()) || plan.id() == self_.held().id() || !HasSelf(plan))
      return {};
    if (!IsNewer(plan, self_.held()) || !WhyOver(plan).empty()) return {};
    return {.kind = kind, .plan = plan};
  }

  RegroupAction Train() const {
    const auto abandon = [](std::string why) {
      return RegroupAction{.kind = RegroupAction::kAbandon, .reason = std::move(why)};
    };
    for (const TrainingMember& member : self_.held().member()) {
      if (IsSame(member, self_.self())) continue;
      if (IsLost(member)) return abandon(absl::StrCat(member.task(), " is lost"));
      const Note* const note = NoteOf(member);
      if (note == nullptr || note->phase() == Note::ENDED) continue;
      const bool has_left = note->phase() == Note::WAITING &&
                            (note->held().id() == self_.held().id() || !IsNewer(self_.held(), note->abandoned()));
      const bool is_elsewhere = note->held().id() != self_.held().id() && IsNewer(note->held(), self_.held());
      if (has_left || (is_elsewhere && note->held().id() != self_.prepared().id())) {
        return abandon(absl::StrCat(member.task(), " has left generation ", self_.held().number()));
      }
    }
    if (newest_.id() != self_.held().id() && newest_.id() != self_.prepared().id()) {
      return abandon(absl::StrCat("generation ", newest_.number(), " trains without this task"));
    }
    if (self_.prepared().id() != 0) {
      const std::string why = WhyOver(self_.prepared());
      if (!why.empty()) return {.kind = RegroupAction::kForget, .reason = why};
    }
    const Note* const decider = Decider();
    if (decider == nullptr || newest_.id() != self_.held().id()) return {};
    if (decider != &self_) {
      return decider->plan().id() == self_.prepared().id() ? RegroupAction()
                                                           : Follow(*decider, RegroupAction::kPrepare);
    }
    const bool is_pending = self_.plan().id() != 0 && IsNewer(self_.plan(), self_.held()) &&
                            IsNewer(self_.plan(), self_.abandoned()) && WhyOver(self_.plan()).empty();
    if (is_pending) {
      return self_.plan().id() == self_.prepared().id() || !HasSelf(self_.plan())
                 ? RegroupAction()
                 : RegroupAction{.kind = RegroupAction::kPrepare, .plan = self_.plan()};
    }
    std::vector<TrainingMember> stay, join;
    for (const TrainingMember& member : self_.held().member()) {
      const Note* const note = NoteOf(member);
      if (note == nullptr || note->phase() != Note::TRAINING) return {};
      if (IsWilling(*note)) stay.push_back(member);
    }
    for (const Note* const note : notes_) {
      // Also one that enters the plan of a worker that does not decide.
      const bool is_free = note->phase() == Note::WAITING || note->phase() == Note::ENTERING;
      if (is_free && IsWilling(*note)) join.push_back(note->self());
    }
    std::sort(join.begin(), join.end(), HasLowerRank);
    for (const TrainingMember& member : join) {
      if (stay.size() < static_cast<size_t>(policy_.max_workers)) stay.push_back(member);
    }
    if (stay.size() < static_cast<size_t>(policy_.min_workers) || stay.empty()) return {};
    if (HasMembers(self_.held(), stay)) return {};
    return Propose(std::move(stay));
  }

  RegroupAction Enter() const {
    const TrainingGeneration& plan = self_.prepared();
    std::string why = WhyOver(plan);
    // The plan may be of a worker that decided because it took another one for lost.
    const Note* const decider = Decider();
    if (why.empty() && decider != nullptr && decider != &self_ && decider->plan().id() != plan.id() &&
        decider->prepared().id() != plan.id() && decider->held().id() != plan.id() &&
        (decider->phase() == Note::WAITING || RankIn(plan, decider->self()) < 0)) {
      why = absl::StrCat(decider->self().task(), " decides, and does not follow the plan");
    }
    return why.empty() ? RegroupAction() : RegroupAction{.kind = RegroupAction::kAbandon, .reason = why};
  }

  const Note& self_;
  const RegroupPeers& peers_;
  const RegroupPolicy& policy_;
  const std::set<std::pair<std::string, uint64_t>>& excluded_;
  const uint64_t new_id_;
  std::vector<const Note*> notes_;  // of this worker, and of those that answer
  TrainingGeneration newest_;       // that somebody holds
};

int JobOrder(const std::string& job) { return job == "chief" ? 0 : job == "master" ? 1 : job == "worker" ? 2 : 3; }

}  // namespace

RegroupAction NextRegroupAction(const TrainingNote& self, const RegroupPeers& peers, const RegroupPolicy& policy,
                                const std::set<std::pair<std::string, uint64_t>>& excluded, uint64_t new_id) {
  return Rules(self, peers, policy, excluded, new_id).Next();
}

absl::StatusOr<int> SourceOf(const std::vector<MemberState>& states) {
  const auto key = [](const MemberState& state) { return std::tuple(state.number, state.id, state.step); };
  int source = -1;
  bool any = false;
  for (int rank = 0; rank < static_cast<int>(states.size()); ++rank) {
    any |= states[rank].number > 0;
    if (states[rank].number == 0 || !states[rank].whole) continue;
    if (source < 0 || key(states[rank]) > key(states[source])) source = rank;
  }
  if (source >= 0) return source;
  if (!any) return 0;
  return errors::FailedPrecondition(
      "The last step ended half-way on every worker that is left: none has whole variables. Restart the training from "
      "a checkpoint");
}

std::vector<int> NeedyOf(const std::vector<MemberState>& states, int source) {
  std::vector<int> needy;
  for (int rank = 0; rank < static_cast<int>(states.size()); ++rank) {
    if (rank != source && (states[source].number == 0 || states[rank] != states[source])) needy.push_back(rank);
  }
  return needy;
}

bool IsNewer(const TrainingGeneration& a, const TrainingGeneration& b) {
  return std::pair(a.number(), a.id()) > std::pair(b.number(), b.id());
}

bool HasLowerRank(const TrainingMember& a, const TrainingMember& b) {
  const auto key = [](const TrainingMember& member) {
    const auto name = DeviceName::Parse(member.task());
    if (!name.ok() || !name->job || !name->task) return std::tuple(4, member.task(), 0, member.run());
    return std::tuple(JobOrder(*name->job), *name->job, *name->task, member.run());
  };
  return key(a) < key(b);
}

int RankIn(const TrainingGeneration& generation, const TrainingMember& member) {
  for (int rank = 0; rank < generation.member_size(); ++rank) {
    if (IsSame(generation.member(rank), member)) return rank;
  }
  return -1;
}

}  // namespace weir
