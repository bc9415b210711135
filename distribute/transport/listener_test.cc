#include "distribute/transport/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/files/file_system.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

bool Exists(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0;
}

// True if the machine has the address and a socket can connect to it there.
bool Connects(int family, int port) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const absl::Cleanup closed = [fd] { close(fd); };
  if (family == AF_INET6) {
    const sockaddr_in6 name = {
        .sin6_family = AF_INET6, .sin6_port = htons(static_cast<uint16_t>(port)), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    return connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  }
  const sockaddr_in name = {
      .sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
}

// Whether the loopback of IPv6 is there.
bool HasIpv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const absl::Cleanup closed = [fd] { close(fd); };
  const sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  return bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
}

class UnixListenerTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Listener>> Open() const {
    return Listener::Open(*Address::Parse(absl::StrCat("unix:", path_)));
  }
  ~UnixListenerTest() override { unlink(path_.c_str()); }

  const std::string path_ = JoinPath(testing::TempDir(), absl::StrCat("listener_", getpid()));
};

TEST_F(UnixListenerTest, APathThatAKilledServerLeftIsTaken) {
  const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name = {.sun_family = AF_UNIX};
  path_.copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  close(dead);
  ASSERT_TRUE(Exists(path_));
  EXPECT_THAT(Open(), IsOk());
}

TEST_F(UnixListenerTest, APathInUseIsAnError) {
  ASSERT_OK_AND_ASSIGN(const auto first, Open());
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(path_)));
  EXPECT_TRUE(Exists(path_));
}

TEST_F(UnixListenerTest, AFileIsNotReplaced) {
  ASSERT_THAT(WriteStringToFile(NewPosixFileSystem().get(), path_, "kept"), IsOk());
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(path_)));
  EXPECT_EQ(*ReadFileToString(NewPosixFileSystem().get(), path_), "kept");
}

TEST_F(UnixListenerTest, ThePathGoesWithTheListener) {
  ASSERT_OK_AND_ASSIGN(auto listener, Open());
  ASSERT_TRUE(Exists(path_));
  listener.reset();
  EXPECT_FALSE(Exists(path_));
}

TEST(ListenerTest, ANameWithTwoAddressesGetsOnePort) {
  ASSERT_OK_AND_ASSIGN(const auto listener, Listener::Open(*Address::Parse("localhost:0")));
  const int port = listener->address().port();
  ASSERT_GT(port, 0);
  EXPECT_TRUE(Connects(AF_INET, port));
}

TEST(ListenerTest, AllAddressesIncludeThoseOfIpv6) {
  if (!HasIpv6()) GTEST_SKIP() << "the machine has no IPv6";
  ASSERT_OK_AND_ASSIGN(const auto listener, Listener::Open(*Address::Parse("0.0.0.0:0")));
  EXPECT_TRUE(Connects(AF_INET, listener->address().port()));
  EXPECT_TRUE(Connects(AF_INET6, listener->address().port()));
}

TEST(ListenerTest, ATakenPortIsAnErrorOnEitherAddress) {
  if (!HasIpv6()) GTEST_SKIP() << "the machine has no IPv6";
  ASSERT_OK_AND_ASSIGN(const auto ipv6, Listener::Open(*Address::Parse("[::1]:0")));
  const std::string taken = absl::StrCat("0.0.0.0:", ipv6->address().port());
  EXPECT_THAT(Listener::Open(*Address::Parse(taken)), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(taken)));
}

}  // namespace
}  // namespace weir
