#include "core/checkpoint/checkpoint_lease.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/fault_injecting_file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckpointLeaseTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<CheckpointLease>> Take(const std::string& holder) {
    return CheckpointLease::Take(files_.get(), directory_.path(),
                                 {.holder = holder, .patience = absl::Milliseconds(50)});
  }

  const ScratchDirectory directory_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(CheckpointLeaseTest, TheLastOneThatTakesItHasIt) {
  ASSERT_OK_AND_ASSIGN(const auto first, Take("chief-0"));
  EXPECT_EQ(first->token(), 1);
  int writes = 0;
  const auto write = [&] {
    ++writes;
    return absl::OkStatus();
  };
  EXPECT_THAT(first->Guard(write), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto second, Take("chief-of-the-other-side"));
  EXPECT_EQ(second->token(), 2);
  EXPECT_THAT(second->Guard(write), IsOk());
  const absl::Status lost = first->Guard(write);
  EXPECT_EQ(writes, 2);
  EXPECT_TRUE(IsLeaseLost(lost));
  EXPECT_TRUE(IsLeaseLost(Annotate(lost, "Saving")));
  EXPECT_TRUE(IsLeaseLost(first->Check()));
  EXPECT_THAT(lost, StatusIs(absl::StatusCode::kFailedPrecondition,
                             AllOf(HasSubstr("chief-of-the-other-side"), HasSubstr("since 20"), HasSubstr("token 2"),
                                   HasSubstr(absl::StrCat("process ", getpid())), HasSubstr("Restart it only if"))));
}

TEST_F(CheckpointLeaseTest, ALeaseWhoseFileIsDeletedIsLostEvenIfItsTokenComesAgain) {
  ASSERT_OK_AND_ASSIGN(const auto first, Take("chief-0"));
  ASSERT_THAT(files_->DeleteFile(directory_.Path(kCheckpointLeaseFile)), IsOk());
  EXPECT_TRUE(IsLeaseLost(first->Check()));
  ASSERT_OK_AND_ASSIGN(const auto second, Take("chief-0"));
  EXPECT_EQ(second->token(), first->token());
  EXPECT_TRUE(IsLeaseLost(first->Check()));
  EXPECT_THAT(second->Check(), IsOk());
}

TEST_F(CheckpointLeaseTest, ADamagedFileIsNamed) {
  ASSERT_THAT(WriteStringToFile(files_.get(), directory_.Path(kCheckpointLeaseFile), "token: {"), IsOk());
  EXPECT_THAT(Take("chief-0"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kCheckpointLeaseFile)));
}

TEST_F(CheckpointLeaseTest, ACrashWhileItIsTakenLeavesItWithTheOldHolderOrTheNew) {
  bool crashed = true;
  for (int64_t at = 0; crashed; ++at) {
    ASSERT_OK_AND_ASSIGN(const auto first, Take("first"));
    FaultInjectingFileSystem faulty(files_.get());
    faulty.Inject({.at = at});
    const auto second = CheckpointLease::Take(&faulty, directory_.path(), {.holder = "second"});
    crashed = faulty.fault_happened();
    ASSERT_OK_AND_ASSIGN(const CheckpointLeaseRecord record, ReadCheckpointLease(files_.get(), directory_.path()));
    EXPECT_EQ(first->Check().ok(), record.token() == first->token());
    ASSERT_OK_AND_ASSIGN(const auto third, Take("third"));
    EXPECT_GT(third->token(), record.token());
    EXPECT_TRUE(IsLeaseLost(first->Check()));
  }
}

// Another process that takes the lease and stops where it is asked to.
class Child {
 public:
  // `body` runs in a child process, which then exits with the number that it returns. It may call Reach, which
  // notifies the parent and waits for Continue.
  explicit Child(const std::function<int(Child&)>& body) {
    EXPECT_EQ(pipe(to_parent_), 0);
    EXPECT_EQ(pipe(to_child_), 0);
    pid_ = fork();
    if (pid_ == 0) _exit(body(*this));
  }
  ~Child() { Kill(); }

  void Reach() {
    char byte = 0;
    if (write(to_parent_[1], &byte, 1) != 1 || read(to_child_[0], &byte, 1) != 1) _exit(99);
  }
  void AwaitReach() {
    char byte = 0;
    EXPECT_EQ(read(to_parent_[0], &byte, 1), 1);
  }
  int ContinueToEnd() {
    EXPECT_EQ(write(to_child_[1], "", 1), 1);
    return Wait();
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }

 private:
  int Wait() {
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t pid_ = 0;
  int to_parent_[2], to_child_[2];
};

TEST_F(CheckpointLeaseTest, AnotherProcessThatLostItDoesNotWrite) {
  Child child([this](Child& self) {
    const auto lease = Take("chief-0");
    if (!lease.ok()) return 1;
    self.Reach();
    bool written = false;
    const absl::Status status = (*lease)->Guard([&] {
      written = true;
      return absl::OkStatus();
    });
    return IsLeaseLost(status) && !written ? 0 : 2;
  });
  child.AwaitReach();
  ASSERT_OK_AND_ASSIGN(const auto lease, Take("chief-0"));
  EXPECT_EQ(child.ContinueToEnd(), 0);
  EXPECT_THAT(lease->Check(), IsOk());
}

TEST_F(CheckpointLeaseTest, ItIsNotTakenFromAWriterAndAKilledWriterReleasesIt) {
  Child child([this](Child& self) {
    const auto lease = Take("held-in-a-write");
    if (!lease.ok()) return 1;
    return (*lease)
        ->Guard([&] {
          self.Reach();
          return absl::OkStatus();
        })
        .raw_code();
  });
  child.AwaitReach();
  EXPECT_THAT(Take("chief-0"), StatusIs(absl::StatusCode::kResourceExhausted,
                                        AllOf(HasSubstr("held-in-a-write"), HasSubstr("resume or kill it"))));
  child.Kill();
  EXPECT_THAT(Take("chief-0").status(), IsOk());
}

}  // namespace
}  // namespace weir
