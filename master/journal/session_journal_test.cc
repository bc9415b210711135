// Tests of the journal after a process's death, on a full disk, and with flipped bits.
#include "master/journal/session_journal.h"

#include <random>

#include "core/checkpoint/tf_record.h"
#include "core/testing.h"
#include "master/journal/journal_scan.h"
#include "master/journal/memory_journal_store_testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTask[] = "/job:worker/replica:0/task:0";

tensorflow::GraphDef GraphOf(const std::string& node) {
  tensorflow::GraphDef graph;
  graph.add_node()->set_name(node);
  graph.mutable_node(0)->set_op("NoOp");
  return graph;
}

tensorflow::CreateSessionRequest RequestOf(const std::string& node) {
  tensorflow::CreateSessionRequest request;
  *request.mutable_graph_def() = GraphOf(node);
  request.mutable_config()->set_allow_soft_placement(true);
  request.set_target("grpc://here");
  return request;
}

tensorflow::CallableOptions CallableOf(const std::string& target) {
  tensorflow::CallableOptions options;
  options.add_target(target);
  return options;
}

std::string Text(const RecordedSession& session) {
  std::string text = session.request.ShortDebugString();
  for (const auto& extension : session.extensions) absl::StrAppend(&text, " + ", extension.ShortDebugString());
  for (const auto& [handle, options] : session.callables) {
    absl::StrAppend(&text, " | ", handle, ": ", options.ShortDebugString());
  }
  return text;
}

class SessionJournalTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<SessionJournal>> TryOpen(MemoryDisk* disk, const std::string& task = kTask) {
    return SessionJournal::Open(std::make_unique<MemoryJournalStore>(disk),
                                {.task = task, .min_dropped_bytes = min_dropped_bytes_});
  }
  // As a new process would find it.
  void Open() {
    journal_.reset();
    ASSERT_OK_AND_ASSIGN(journal_, TryOpen(&disk_));
  }
  void SetUp() override { Open(); }

  static std::map<std::string, std::string> Contents(const SessionJournal& journal) {
    std::map<std::string, std::string> contents;
    for (const std::string& handle : journal.Handles()) {
      const auto session = journal.Load(handle);
      EXPECT_THAT(session, IsOk());
      if (session.ok()) contents[handle] = Text(*session);
    }
    return contents;
  }

  uint64_t min_dropped_bytes_ = 1 << 20;
  MemoryDisk disk_;
  std::unique_ptr<SessionJournal> journal_;
};

TEST_F(SessionJournalTest, ASessionIsReadAsItWasRecorded) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  ASSERT_THAT(journal_->AddExtension("a", 0, GraphOf("y")), IsOk());
  ASSERT_THAT(journal_->AddCallable("a", 7, CallableOf("x")), IsOk());
  ASSERT_THAT(journal_->AddExtension("a", 1, GraphOf("z")), IsOk());
  ASSERT_THAT(journal_->AddCallable("a", 8, CallableOf("z")), IsOk());
  journal_->RemoveCallable("a", 7);
  Open();
  ASSERT_OK_AND_ASSIGN(const RecordedSession session, journal_->Load("a"));
  RecordedSession expected{.request = RequestOf("x"), .extensions = {GraphOf("y"), GraphOf("z")}};
  expected.callables[8] = CallableOf("z");
  EXPECT_EQ(Text(session), Text(expected));
}

TEST_F(SessionJournalTest, AnEndedSessionIsGone) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  ASSERT_THAT(journal_->AddSession("b", RequestOf("y")), IsOk());
  journal_->RemoveSession("a");
  Open();
  EXPECT_THAT(journal_->Handles(), ElementsAre("b"));
  EXPECT_THAT(journal_->Load("a"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SessionJournalTest, EpochsCountTheMasters) {
  const uint64_t id = journal_->id();
  EXPECT_EQ(journal_->epoch(), 1);
  Open();
  EXPECT_EQ(journal_->epoch(), 2);
  EXPECT_EQ(journal_->id(), id);
}

TEST_F(SessionJournalTest, AJournalOfAnotherTaskIsRejected) {
  EXPECT_THAT(TryOpen(&disk_, "/job:ps/replica:0/task:0"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("belongs to task /job:worker")));
}

TEST_F(SessionJournalTest, AnUnknownFormatIsRejected) {
  JournalRecord record;
  record.mutable_header()->set_version(JournalIndex::kVersion + 1);
  MemoryDisk disk{.bytes = TfRecord(record.SerializeAsString())};
  EXPECT_THAT(TryOpen(&disk), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("format version 2")));
}

TEST_F(SessionJournalTest, ATornEndIsCutAtEveryByte) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  const size_t whole = disk_.bytes.size();
  const auto before = Contents(*journal_);
  ASSERT_THAT(journal_->AddSession("b", RequestOf("y")), IsOk());
  const std::string complete = disk_.bytes;
  for (size_t size = whole; size < complete.size(); ++size) {
    MemoryDisk disk{.bytes = complete.substr(0, size)};
    ASSERT_OK_AND_ASSIGN(auto journal, TryOpen(&disk));
    EXPECT_EQ(Contents(*journal), before) << size;
    ASSERT_THAT(journal->AddSession("c", RequestOf("z")), IsOk());
    ASSERT_OK_AND_ASSIGN(journal, TryOpen(&disk));
    EXPECT_THAT(journal->Handles(), ElementsAre("a", "c")) << size;
  }
}

TEST_F(SessionJournalTest, ATornFirstRecordIsANewJournal) {
  for (size_t size = 0; size < disk_.bytes.size(); ++size) {
    MemoryDisk disk{.bytes = disk_.bytes.substr(0, size)};
    ASSERT_OK_AND_ASSIGN(const auto journal, TryOpen(&disk));
    EXPECT_EQ(journal->epoch(), 1);
  }
}

TEST_F(SessionJournalTest, ASectorThatWasNeverWrittenIsTorn) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  const size_t whole = disk_.bytes.size();
  ASSERT_THAT(journal_->AddSession("b", RequestOf(std::string(3000, 'y'))), IsOk());
  const size_t sector = (whole / 512 + 2) * 512;
  disk_.bytes.replace(sector, 512, std::string(512, '\0'));
  Open();
  EXPECT_THAT(journal_->Handles(), ElementsAre("a"));
}

TEST_F(SessionJournalTest, AFlippedBitIsDataLossAtEveryByte) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  ASSERT_THAT(journal_->AddSession("b", RequestOf("y")), IsOk());
  for (size_t at = 0; at < disk_.bytes.size(); ++at) {
    MemoryDisk disk{.bytes = disk_.bytes};
    disk.bytes[at] ^= 4;
    EXPECT_THAT(TryOpen(&disk),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("Move the file away to start without its sessions")))
        << at;
  }
}

TEST_F(SessionJournalTest, RecordsThatDoNotFollowAreDataLoss) {
  JournalRecord record;
  record.mutable_session_end()->set_handle("nobody");
  disk_.bytes += TfRecord(record.SerializeAsString());
  EXPECT_THAT(TryOpen(&disk_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'nobody', which is not open")));
}

TEST_F(SessionJournalTest, TheFileStaysSmall) {
  min_dropped_bytes_ = 4096;
  Open();
  ASSERT_THAT(journal_->AddSession("kept", RequestOf("x")), IsOk());
  size_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(journal_->AddSession("a", RequestOf("y")), IsOk());
    journal_->RemoveSession("a");
    most = std::max(most, disk_.bytes.size());
  }
  EXPECT_LT(most, 8192);
  EXPECT_THAT(journal_->Handles(), ElementsAre("kept"));
}

TEST_F(SessionJournalTest, AFullDiskLeavesTheJournalAsItWas) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  const auto before = Contents(*journal_);
  const std::string bytes = disk_.bytes;
  for (const bool can_truncate : {true, false}) {
    disk_.can_truncate = can_truncate;
    disk_.room = 20;
    EXPECT_THAT(journal_->AddExtension("a", 0, GraphOf("y")),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("Journal memory cannot be written")));
    disk_.room = 0;
    EXPECT_THAT(journal_->AddSession("b", RequestOf("z")), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_THAT(journal_->AddExtension("b", 0, GraphOf("y")), IsOk());  // unrecorded, like its session
    EXPECT_EQ(Contents(*journal_), before);
    MemoryDisk crashed{.bytes = disk_.bytes};
    ASSERT_OK_AND_ASSIGN(const auto next, TryOpen(&crashed));
    EXPECT_EQ(Contents(*next), before);
  }
  disk_.room = std::string::npos;
  ASSERT_THAT(journal_->AddExtension("a", 0, GraphOf("y")), IsOk());
  const auto after = Contents(*journal_);
  Open();
  EXPECT_EQ(Contents(*journal_), after);
}

TEST_F(SessionJournalTest, ASessionThatEndedOnAFullDiskIsGoneOnceThereIsRoom) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  disk_.room = 0;
  journal_->RemoveSession("a");
  EXPECT_THAT(journal_->Handles(), IsEmpty());
  disk_.room = std::string::npos;
  ASSERT_THAT(journal_->AddSession("b", RequestOf("y")), IsOk());
  Open();
  EXPECT_THAT(journal_->Handles(), ElementsAre("b"));
}

TEST_F(SessionJournalTest, AFullDiskDoesNotKeepAMasterFromStarting) {
  ASSERT_THAT(journal_->AddSession("a", RequestOf("x")), IsOk());
  disk_.room = 0;
  Open();
  EXPECT_THAT(journal_->Handles(), ElementsAre("a"));
  disk_.room = std::string::npos;
  ASSERT_THAT(journal_->AddSession("b", RequestOf("y")), IsOk());
  Open();
  EXPECT_THAT(journal_->Handles(), ElementsAre("a", "b"));
}

// Random changes on a disk that fills up and on which processes die: the journal always holds what was acknowledged.
TEST_F(SessionJournalTest, ReplayEqualsTheStateUnderRandomFaults) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    MemoryDisk disk;
    min_dropped_bytes_ = 512;
    ASSERT_OK_AND_ASSIGN(auto journal, TryOpen(&disk));
    std::map<std::string, RecordedSession> model;
    int64_t next_callable = 0;
    for (int step = 0; step < 60; ++step) {
      const std::string handle(1, static_cast<char>('a' + random() % 3));
      const std::string node = absl::StrCat("n", seed, "_", step);
      const bool recorded = model.count(handle) > 0;
      if (random() % 8 == 0) {
        disk.room = random() % 200;
        disk.can_truncate = random() % 2 == 0;
      }
      if (random() % 4 == 0) disk.room = std::string::npos;
      switch (random() % 6) {
        case 0:
        case 1:
          if (recorded || !journal->AddSession(handle, RequestOf(node)).ok()) break;
          model[handle].request = RequestOf(node);
          break;
        case 2:
          if (!recorded) break;
          if (!journal->AddExtension(handle, model[handle].extensions.size(), GraphOf(node)).ok()) break;
          model[handle].extensions.push_back(GraphOf(node));
          break;
        case 3:
          if (!recorded || !journal->AddCallable(handle, ++next_callable, CallableOf(node)).ok()) break;
          model[handle].callables[next_callable] = CallableOf(node);
          break;
        case 4:
          // A process that dies before such a change is on the disk may forget it.
          disk.room = std::string::npos;
          if (recorded && !model[handle].callables.empty()) {
            const int64_t released = model[handle].callables.begin()->first;
            journal->RemoveCallable(handle, released);
            model[handle].callables.erase(released);
          }
          break;
        case 5:
          disk.room = std::string::npos;
          journal->RemoveSession(handle);
          model.erase(handle);
          break;
      }
      if (random() % 10 == 0) {
        journal.reset();
        ASSERT_OK_AND_ASSIGN(journal, TryOpen(&disk));
      }
      std::map<std::string, std::string> expected;
      for (const auto& [name, session] : model) expected[name] = Text(session);
      ASSERT_EQ(Contents(*journal), expected) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace weir
