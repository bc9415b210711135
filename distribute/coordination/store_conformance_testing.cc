#include "distribute/coordination/store_conformance_testing.h"

#include <future>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"

namespace weir::coordination {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> KeysOf(const std::vector<KeyValue>& found) {
  std::vector<std::string> keys;
  for (const KeyValue& kv : found) keys.push_back(kv.key);
  return keys;
}

// "+key=value" and "-key".
std::vector<std::string> TextOf(const std::vector<Event>& events) {
  std::vector<std::string> text;
  for (const Event& event : events) {
    text.push_back(event.type == Event::Type::kPut ? absl::StrCat("+", event.kv.key, "=", event.kv.value)
                                                   : absl::StrCat("-", event.kv.key));
  }
  return text;
}

std::vector<std::string> NextTexts(Watch& watch, size_t count) {
  std::vector<std::string> texts;
  while (texts.size() < count) {
    auto events = watch.Next(Soon());
    EXPECT_THAT(events, IsOk());
    if (!events.ok()) break;
    for (std::string& text : TextOf(*events)) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Minutes(1)}; }

void AwaitKeys(Store& store, absl::string_view prefix, size_t count) {
  for (;;) {
    ASSERT_OK_AND_ASSIGN(const Store::Listing listing, store.List(Soon(), prefix));
    if (listing.found.size() == count) return;
    ASSERT_OK_AND_ASSIGN(auto watch, store.NewWatch(Keys::Under(prefix), listing.revision + 1));
    ASSERT_THAT(watch->Next(Soon()), IsOk());
  }
}

std::unique_ptr<Lease> NewLease(Store& store, absl::Duration ttl) {
  auto lease = store.GrantLease(Soon(), ttl);
  EXPECT_THAT(lease, IsOk());
  return lease.ok() ? *std::move(lease) : nullptr;
}

void StoreConformance::SetUp() {
  auto server = GetParam().start();
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
  ASSERT_THAT(server, IsOk());
  server_ = *std::move(server);
  store_ = server_->NewClient();
}

TEST_P(StoreConformance, KeysHaveRevisions) {
  ASSERT_OK_AND_ASSIGN(const int64_t first, store_->Put(Soon(), "a", "1"));
  ASSERT_OK_AND_ASSIGN(const int64_t second, store_->Put(Soon(), "a", "2"));
  EXPECT_EQ(second, first + 1);
  ASSERT_OK_AND_ASSIGN(KeyValue kv, store_->Get(Soon(), "a"));
  EXPECT_EQ(kv.value, "2");
  EXPECT_EQ(kv.create_revision, first);
  EXPECT_EQ(kv.mod_revision, second);
  EXPECT_EQ(kv.version, 2);
  EXPECT_THAT(store_->Delete(Soon(), Keys::Of("a")).value(), 1);
  EXPECT_THAT(store_->Delete(Soon(), Keys::Of("a")).value(), 0);
  EXPECT_THAT(store_->Get(Soon(), "a"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no key a")));
  // Nothing was changed by the second deletion.
  ASSERT_OK_AND_ASSIGN(const int64_t third, store_->Put(Soon(), "a", ""));
  EXPECT_EQ(third, second + 2);
  ASSERT_OK_AND_ASSIGN(kv, store_->Get(Soon(), "a"));
  EXPECT_EQ(kv.value, "");
  EXPECT_EQ(kv.create_revision, third);
  EXPECT_EQ(kv.version, 1);
}

TEST_P(StoreConformance, ListsPrefixesOfAnyBytes) {
  const std::string zero("\0", 1), high("\xff\xff", 2);
  for (const std::string& key : {std::string("a"), std::string("a/1"), std::string("a/2"), std::string("a0"), zero,
                                 high + "x", absl::StrCat("a\xff", "z"), std::string("b")}) {
    ASSERT_THAT(store_->Put(Soon(), key, std::string("\0v", 2)), IsOk());
  }
  EXPECT_THAT(KeysOf(store_->List(Soon(), "a/")->found), ElementsAre("a/1", "a/2"));
  EXPECT_THAT(KeysOf(store_->List(Soon(), "a\xff")->found), ElementsAre("a\xffz"));
  EXPECT_THAT(KeysOf(store_->List(Soon(), high)->found), ElementsAre(high + "x"));
  EXPECT_THAT(KeysOf(store_->List(Soon(), "")->found),
              ElementsAre(zero, "a", "a/1", "a/2", "a0", "a\xffz", "b", high + "x"));
  EXPECT_THAT(store_->List(Soon(), "c")->found, IsEmpty());
  EXPECT_EQ(store_->Get(Soon(), zero)->value, std::string("\0v", 2));
}

TEST_P(StoreConformance, ATransactionIsDoneAtOnce) {
  ASSERT_OK_AND_ASSIGN(const int64_t before, store_->Put(Soon(), "x", "1"));
  const Transaction transaction = {
      .conditions = {Condition::ValueIs("x", "1"), Condition::Absent(Keys::Under("y/")),
                     Condition::CreatedAt("x", before)},
      .then = {Operation::Put("y/1", "a"), Operation::Put("y/2", "b"), Operation::Delete(Keys::Of("x")),
               Operation::Get(Keys::Under("y/")), Operation::Get(Keys::Of("x"))},
      .otherwise = {Operation::Get(Keys::Under("y/"))}};
  ASSERT_OK_AND_ASSIGN(TransactionResult result, store_->Commit(Soon(), transaction));
  EXPECT_TRUE(result.succeeded);
  EXPECT_EQ(result.revision, before + 1);
  ASSERT_EQ(result.results.size(), 5);
  EXPECT_EQ(result.results[2].deleted, 1);
  EXPECT_THAT(KeysOf(result.results[3].found), ElementsAre("y/1", "y/2"));
  EXPECT_THAT(result.results[4].found, IsEmpty());
  EXPECT_EQ(result.results[3].found[0].create_revision, result.revision);
  EXPECT_EQ(result.results[3].found[1].create_revision, result.revision);

  ASSERT_OK_AND_ASSIGN(result, store_->Commit(Soon(), transaction));
  EXPECT_FALSE(result.succeeded);
  EXPECT_EQ(result.revision, before + 1);
  ASSERT_EQ(result.results.size(), 1);
  EXPECT_THAT(KeysOf(result.results[0].found), ElementsAre("y/1", "y/2"));
}

TEST_P(StoreConformance, ConditionsOnAbsentKeys) {
  const auto holds = [this](Condition condition) {
    return store_->Commit(Soon(), {.conditions = {std::move(condition)}})->succeeded;
  };
  EXPECT_TRUE(holds(Condition::Absent(Keys::Of("k"))));
  EXPECT_TRUE(holds(Condition::ModifiedAt("k", 0)));
  EXPECT_FALSE(holds(Condition::ValueIs("k", "")));
  ASSERT_THAT(store_->Put(Soon(), "k", ""), IsOk());
  EXPECT_FALSE(holds(Condition::Absent(Keys::Of("k"))));
  EXPECT_FALSE(holds(Condition::Absent(Keys::Under(""))));
  EXPECT_TRUE(holds(Condition::ValueIs("k", "")));
}

TEST_P(StoreConformance, SwapsOnlyWhatItHasSeen) {
  ASSERT_OK_AND_ASSIGN(const int64_t made, store_->CompareAndSwap(Soon(), "k", 0, "1"));
  EXPECT_THAT(store_->CompareAndSwap(Soon(), "k", 0, "2"),
              StatusIs(absl::StatusCode::kAborted, HasSubstr(absl::StrCat("but at ", made))));
  EXPECT_THAT(store_->CompareAndSwap(Soon(), "k", made, "2"), IsOk());
  EXPECT_THAT(store_->CompareAndSwap(Soon(), "none", made, "2"),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("it is not there")));
  EXPECT_EQ(store_->Get(Soon(), "k")->value, "2");
}

TEST_P(StoreConformance, NoIncrementIsLostAmongThreads) {
  constexpr int kThreads = 4, kRounds = 10;
  ASSERT_THAT(store_->Put(Soon(), "n", "0"), IsOk());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([client = server_->NewClient()] {
      for (int done = 0; done < kRounds;) {
        auto kv = client->Get(Soon(), "n");
        ASSERT_THAT(kv, IsOk());
        auto swapped = client->CompareAndSwap(Soon(), "n", kv->mod_revision, absl::StrCat(std::stoi(kv->value) + 1));
        if (swapped.ok()) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->Get(Soon(), "n")->value, absl::StrCat(kThreads * kRounds));
}

TEST_P(StoreConformance, RejectsTransactionsThatAreNone) {
  const auto commit = [this](Transaction transaction) { return store_->Commit(Soon(), transaction).status(); };
  const auto rejected = [](const char* text) { return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)); };
  EXPECT_THAT(commit({.then = {Operation::Put("", "v")}}), rejected("A key is empty"));
  EXPECT_THAT(commit({.conditions = {Condition::CreatedAt("", 1)}}), rejected("A key is empty"));
  EXPECT_THAT(commit({.otherwise = {Operation::Put("k", "1"), Operation::Put("k", "2")}}), rejected("key k twice"));
  EXPECT_THAT(commit({.then = {Operation::Delete(Keys::Under("k")), Operation::Put("k1", "2")}}),
              rejected("key k1 twice"));
  Operation prefix = Operation::Put("k", "v");
  prefix.keys.is_prefix = true;
  EXPECT_THAT(commit({.then = {prefix}}), rejected("not for a prefix"));
  std::vector<Operation> many(Store::kMaxOperations + 1, Operation::Get(Keys::Of("k")));
  EXPECT_THAT(commit({.then = many}), rejected("129 operations"));
  many.pop_back();
  EXPECT_THAT(commit({.then = many}), IsOk());
  const std::vector<Condition> conditions(Store::kMaxOperations + 1, Condition::Absent(Keys::Of("k")));
  EXPECT_THAT(commit({.conditions = conditions}), rejected("129 conditions"));
  std::string value(Store::kMaxTransactionBytes - 1, 'v');
  EXPECT_THAT(commit({.then = {Operation::Put("k", value)}}), IsOk());
  value += "v";
  EXPECT_THAT(commit({.then = {Operation::Put("k", value)}}), rejected("bytes of keys and values"));
  EXPECT_THAT(commit({.then = {Operation::Put("a", "1"), Operation::Put("k", "v", 12345)}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("lease")));
  EXPECT_THAT(store_->Get(Soon(), "a"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(StoreConformance, WatchesBeginInThePastAndGoOn) {
  ASSERT_OK_AND_ASSIGN(const int64_t first, store_->Put(Soon(), "a/1", "x"));
  ASSERT_THAT(store_->Put(Soon(), "b", "x"), IsOk());
  ASSERT_THAT(store_->Put(Soon(), "a/2", "y"), IsOk());
  ASSERT_THAT(store_->Delete(Soon(), Keys::Under("a/")), IsOk());
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Under("a/"), first));
  ASSERT_OK_AND_ASSIGN(auto one, store_->NewWatch(Keys::Of("a/2"), first + 1));
  EXPECT_THAT(NextTexts(*watch, 4), ElementsAre("+a/1=x", "+a/2=y", "-a/1", "-a/2"));
  EXPECT_THAT(NextTexts(*one, 2), ElementsAre("+a/2=y", "-a/2"));
  ASSERT_THAT(server_->NewClient()->Put(Soon(), "a/3", "z"), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto events, watch->Next(Soon()));
  EXPECT_THAT(TextOf(events), ElementsAre("+a/3=z"));
  EXPECT_EQ(events[0].kv.mod_revision, first + 4);
}

TEST_P(StoreConformance, AWatchGivesWholeRevisions) {
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Under("k"), 1));
  std::vector<Operation> puts;
  for (int i = 0; i < Store::kMaxOperations; ++i) {
    puts.push_back(Operation::Put(absl::StrCat("k", i), std::string(5000, 'v')));
  }
  for (int i = 0; i < 20; ++i) ASSERT_THAT(store_->Commit(Soon(), {.then = puts}), IsOk());
  int64_t last = 0;
  for (size_t count = 0; count < 20 * puts.size();) {
    ASSERT_OK_AND_ASSIGN(const auto events, watch->Next(Soon()));
    EXPECT_EQ(events.size() % puts.size(), 0);
    EXPECT_GT(events.front().kv.mod_revision, last);
    last = events.back().kv.mod_revision;
    count += events.size();
  }
}

TEST_P(StoreConformance, AWatchMayBeginInTheFuture) {
  ASSERT_OK_AND_ASSIGN(const int64_t now, store_->Put(Soon(), "k", "1"));
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Of("k"), now + 2));
  ASSERT_THAT(store_->Put(Soon(), "k", "2"), IsOk());
  ASSERT_THAT(store_->Put(Soon(), "k", "3"), IsOk());
  EXPECT_THAT(NextTexts(*watch, 1), ElementsAre("+k=3"));
}

TEST_P(StoreConformance, AWatchOutlivesDeadlinesAndCancellation) {
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Of("k"), 1));
  EXPECT_THAT(watch->Next({.deadline = MonotonicNow() + absl::Milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Watch of k")));
  CancellationManager cancellation;
  auto next = std::async(std::launch::async, [&] { return watch->Next({.cancellation = &cancellation}).status(); });
  cancellation.StartCancel(errors::Cancelled("enough"));
  EXPECT_THAT(next.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
  EXPECT_THAT(watch->Next({.cancellation = &cancellation}), StatusIs(absl::StatusCode::kCancelled));
  ASSERT_THAT(store_->Put(Soon(), "k", "v"), IsOk());
  EXPECT_THAT(NextTexts(*watch, 1), ElementsAre("+k=v"));
}

TEST_P(StoreConformance, ACallThatIsTooLateIsNotMade) {
  CancellationManager cancelled;
  cancelled.StartCancel(errors::Cancelled("enough"));
  EXPECT_THAT(store_->Put({.cancellation = &cancelled}, "k", "v"),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
  EXPECT_THAT(store_->Put({.deadline = MonotonicNow()}, "k", "v"), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(store_->Get(Soon(), "k"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(StoreConformance, AWatchTellsOfCompaction) {
  int64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK_AND_ASSIGN(last, store_->Put(Soon(), "k", absl::StrCat(i)));
  }
  ASSERT_THAT(store_->Compact(Soon(), last - 2), IsOk());
  EXPECT_THAT(store_->Compact(Soon(), last - 2), IsOk());
  EXPECT_THAT(store_->Compact(Soon(), last - 5), IsOk());
  EXPECT_THAT(store_->Compact(Soon(), last + 1), StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Of("k"), 2));
  const auto told = StatusIs(absl::StatusCode::kOutOfRange, HasSubstr(absl::StrCat("before ", last - 2)));
  EXPECT_THAT(watch->Next(Soon()), told);
  EXPECT_THAT(watch->Next(Soon()), told);
  ASSERT_OK_AND_ASSIGN(watch, store_->NewWatch(Keys::Of("k"), last - 1));
  EXPECT_THAT(NextTexts(*watch, 2), ElementsAre("+k=8", "+k=9"));
  EXPECT_THAT(store_->NewWatch(Keys::Of("k"), 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store_->NewWatch(Keys::Of(""), 1), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(StoreConformance, RevokedLeasesTakeTheirKeys) {
  auto lease = NewLease(*store_);
  ASSERT_OK_AND_ASSIGN(const int64_t put, store_->Put(Soon(), "a", "1", lease->id()));
  ASSERT_THAT(store_->Put(Soon(), "b", "1", lease->id()), IsOk());
  ASSERT_THAT(store_->Put(Soon(), "c", "1", lease->id()), IsOk());
  ASSERT_THAT(store_->Put(Soon(), "c", "2"), IsOk());  // no longer the lease's
  EXPECT_EQ(store_->Get(Soon(), "a")->lease, lease->id());
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Under(""), put + 4));
  ASSERT_THAT(server_->NewClient()->RevokeLease(Soon(), lease->id()), IsOk());
  EXPECT_THAT(NextTexts(*watch, 2), ElementsAre("-a", "-b"));
  EXPECT_THAT(KeysOf(store_->List(Soon(), "")->found), ElementsAre("c"));
  EXPECT_THAT(store_->Put(Soon(), "d", "1", lease->id()), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->RevokeLease(Soon(), lease->id()), IsOk());
}

TEST_P(StoreConformance, TheLossOfALeaseIsTold) {
  auto lease = NewLease(*store_, absl::Seconds(15));
  std::promise<void> told;
  ASSERT_NE(lease->lost().Register([&told] { told.set_value(); }), CancellationManager::kInvalidToken);
  ASSERT_THAT(store_->RevokeLease(Soon(), lease->id()), IsOk());
  told.get_future().get();
  EXPECT_THAT(lease->lost().status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was revoked")));
}

TEST_P(StoreConformance, LeasesLastWhileTheyAreKept) {
  EXPECT_GE(NewLease(*store_, absl::Milliseconds(300))->ttl(), absl::Seconds(1));
  auto kept = NewLease(*store_, absl::Seconds(10)), dropped = NewLease(*store_, absl::Seconds(12));
  ASSERT_THAT(store_->Put(Soon(), "kept", "", kept->id()), IsOk());
  ASSERT_OK_AND_ASSIGN(const int64_t put, store_->Put(Soon(), "dropped", "", dropped->id()));
  ASSERT_OK_AND_ASSIGN(auto watch, store_->NewWatch(Keys::Of("dropped"), put + 1));
  dropped.reset();
  server_->Advance(absl::Milliseconds(11'900));
  EXPECT_THAT(store_->Get(Soon(), "dropped"), IsOk());
  server_->Advance(absl::Milliseconds(100));
  EXPECT_THAT(NextTexts(*watch, 1), ElementsAre("-dropped"));
  EXPECT_THAT(store_->Get(Soon(), "kept"), IsOk());
  EXPECT_FALSE(kept->lost().IsCancelled());
  EXPECT_THAT(store_->GrantLease(Soon(), absl::ZeroDuration()), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store_->GrantLease(Soon(), absl::InfiniteDuration()), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace weir::coordination
