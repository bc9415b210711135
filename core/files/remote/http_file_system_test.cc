#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/files/remote/remote_file_systems.h"
#include "core/files/remote/scripted_server_testing.h"
#include "core/files/remote/url_text.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Then = ScriptedServer::Then;
using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;

WebOptions Impatient() {
  WebOptions options;
  options.tries = 3;
  options.first_pause = absl::Milliseconds(1);
  options.max_pause = absl::Milliseconds(2);
  return options;
}

std::string Numbers(size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) absl::StrAppend(&text, i, " ");
  text.resize(size);
  return text;
}

// The reply of a server with ranges.
std::string RangeOf(const Request& request, absl::string_view content, absl::string_view headers = "") {
  const auto asked = request.headers.find("range");
  if (asked == request.headers.end()) return ScriptedServer::Text(200, content, headers);
  const std::pair<std::string, std::string> range =
      absl::StrSplit(absl::StripPrefix(asked->second, "bytes="), absl::MaxSplits('-', 1));
  size_t first = 0, last = 0;
  EXPECT_TRUE(absl::SimpleAtoi(range.first, &first) && absl::SimpleAtoi(range.second, &last));
  if (first >= content.size()) {
    return ScriptedServer::Text(416, "", absl::StrCat("Content-Range: bytes */", content.size(), "\r\n"));
  }
  const absl::string_view part = content.substr(first, last + 1 - first);
  return ScriptedServer::Text(
      206, part,
      absl::StrCat("Content-Range: bytes ", first, "-", first + part.size() - 1, "/", content.size(), "\r\n", headers));
}

absl::StatusOr<std::string> ReadAll(const std::string& url, WebOptions options = Impatient()) {
  return ReadFileToString(NewHttpFileSystem(std::move(options)).get(), url);
}

TEST(HttpFileSystemTest, ReadsAheadFurtherAndFurther) {
  const std::string content = Numbers(3 << 20);
  ScriptedServer server([&](const Request& request) { return Reply{RangeOf(request, content, "ETag: \"v1\"\r\n")}; });
  const auto files = NewHttpFileSystem(Impatient());
  ASSERT_OK_AND_ASSIGN(const auto file, files->NewReadableFile(server.url() + "/a/b.txt"));
  ASSERT_OK_AND_ASSIGN(const uint64_t size, file->Size());
  EXPECT_EQ(size, content.size());
  std::string read;
  char buffer[10'000];
  for (;;) {
    ASSERT_OK_AND_ASSIGN(const size_t bytes, file->Read(read.size(), sizeof(buffer), buffer));
    if (bytes == 0) break;
    read.append(buffer, bytes);
  }
  EXPECT_EQ(read, content);
  // 256 KiB, then twice as much each time.
  EXPECT_EQ(server.requests().size(), 4);
  EXPECT_EQ(server.requests()[0], "GET /a/b.txt");
}

TEST(HttpFileSystemTest, ReadsAtAnyOffset) {
  const std::string content = Numbers(5 << 20);
  ScriptedServer server([&](const Request& request) { return Reply{RangeOf(request, content)}; });
  const auto files = NewHttpFileSystem(Impatient());
  ASSERT_OK_AND_ASSIGN(const auto file, files->NewReadableFile(server.url() + "/a"));
  std::string part(2 << 20, '\0');
  ASSERT_THAT(file->ReadFully(3 << 20, part.size(), part.data()), IsOk());
  EXPECT_EQ(part, content.substr(3 << 20));
  ASSERT_THAT(file->ReadFully(1'000'000, 10, part.data()), IsOk());
  EXPECT_EQ(part.substr(0, 10), content.substr(1'000'000, 10));
  EXPECT_THAT(file->ReadFully(content.size() - 2, 4, part.data()), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(HttpFileSystemTest, ReadsFromServersWithoutRangesAndEmptyFiles) {
  ScriptedServer server([](const Request& request) {
    return Reply{request.target == "/empty" ? RangeOf(request, "") : ScriptedServer::Text(200, "whole")};
  });
  EXPECT_EQ(ReadAll(server.url() + "/plain").value_or("?"), "whole");
  EXPECT_EQ(ReadAll(server.url() + "/empty").value_or("?"), "");
}

TEST(HttpFileSystemTest, StatAsksForTheHeadAlone) {
  ScriptedServer server([](const Request& request) {
    if (request.method != "HEAD" || request.target == "/absent") return Reply{ScriptedServer::Text(404, "")};
    return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nLast-Modified: Thu, 01 Jan 1970 00:00:07 GMT\r\n\r\n"};
  });
  const auto files = NewHttpFileSystem(Impatient());
  ASSERT_OK_AND_ASSIGN(const FileStat stat, files->Stat(server.url() + "/a"));
  EXPECT_EQ(stat.size, 1234);
  EXPECT_EQ(stat.mtime_nanos, 7'000'000'000);
  EXPECT_FALSE(files->Exists(server.url() + "/absent"));
}

TEST(HttpFileSystemTest, TriesAgainAfterPassingErrors) {
  std::atomic<int> count{0};
  const std::string content = Numbers(1000);
  ScriptedServer server([&](const Request& request) -> Reply {
    const std::string whole = RangeOf(request, content);
    switch (count++ % 3) {
      case 0:
        return {whole.substr(0, whole.size() / 2), Then::kReset};
      case 1:
        return {ScriptedServer::Text(503, "busy", "Retry-After: 1\r\n")};
      default:
        return {whole};
    }
  });
  EXPECT_EQ(ReadAll(server.url() + "/a").value_or("?"), content);
  EXPECT_EQ(count, 3);
}

TEST(HttpFileSystemTest, GivesUpAfterSeveralTries) {
  ScriptedServer server([&](const Request& request) -> Reply {
    if (request.target == "/busy") return {ScriptedServer::Text(503, "")};
    // Fewer bytes than the header says.
    return {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", Then::kClose};
  });
  EXPECT_THAT(ReadAll(server.url() + "/busy"),
              StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("/busy"), HasSubstr("503"))));
  EXPECT_THAT(ReadAll(server.url() + "/short"),
              StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("/short"), HasSubstr("3 tries"))));
  EXPECT_EQ(server.requests().size(), 6);
}

TEST(HttpFileSystemTest, NamesTheStatusOfErrors) {
  ScriptedServer server([](const Request& request) {
    int status = 0;
    EXPECT_TRUE(absl::SimpleAtoi(request.target.substr(1, 3), &status));
    return Reply{ScriptedServer::Text(status, "")};
  });
  for (const auto& [status, code] :
       std::vector<std::pair<int, absl::StatusCode>>{{404, absl::StatusCode::kNotFound},
                                                     {403, absl::StatusCode::kPermissionDenied},
                                                     {401, absl::StatusCode::kUnauthenticated},
                                                     {400, absl::StatusCode::kInvalidArgument},
                                                     {429, absl::StatusCode::kUnavailable},
                                                     {501, absl::StatusCode::kUnimplemented}}) {
    EXPECT_THAT(ReadAll(absl::StrCat(server.url(), "/", status, "?token=secret")),
                StatusIs(code, AllOf(HasSubstr(absl::StrCat(server.url(), "/", status)),
                                     HasSubstr(absl::StrCat("HTTP status ", status)), Not(HasSubstr("secret")))));
  }
}

TEST(HttpFileSystemTest, FollowsRedirectsButNotInCircles) {
  ScriptedServer server([](const Request& request) {
    if (request.target == "/file") return Reply{RangeOf(request, "content")};
    const std::string to = request.target == "/moved" ? "/file" : "/circle";
    return Reply{ScriptedServer::Text(302, "elsewhere", absl::StrCat("Location: ", to, "\r\n"))};
  });
  EXPECT_EQ(ReadAll(server.url() + "/moved").value_or("?"), "content");
  EXPECT_THAT(ReadAll(server.url() + "/circle"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("redirects")));
  EXPECT_LE(server.requests().size(), 10);
}

TEST(HttpFileSystemTest, RepliesAreBounded) {
  ScriptedServer server([](const Request& request) -> Reply {
    if (request.target == "/headers") return {"HTTP/1.1 200 OK\r\n" + std::string(1 << 20, 'x'), Then::kRepeat};
    if (request.target == "/error") return {"HTTP/1.1 404 No\r\n\r\n" + std::string(1 << 20, 'x'), Then::kRepeat};
    return {"HTTP/1.1 200 OK\r\n\r\n" + std::string(1 << 20, 'x'), Then::kRepeat};
  });
  WebClient client(Impatient());
  EXPECT_THAT(client.SendOnce({.url = server.url() + "/body", .max_reply = 10 << 20}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit of 10485760 bytes")));
  EXPECT_THAT(client.SendOnce({.url = server.url() + "/headers"}), Not(IsOk()));
  ASSERT_OK_AND_ASSIGN(const WebReply error, client.SendOnce({.url = server.url() + "/error"}));
  EXPECT_EQ(error.status, 404);
  EXPECT_LE(error.body.size(), 64 << 10);
}

TEST(HttpFileSystemTest, ASilentServerIsLeftAtTheDeadline) {
  ScriptedServer server([](const Request& request) {
    return Reply{request.target == "/slow" ? "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc" : "", Then::kHang};
  });
  WebOptions options = Impatient();
  options.try_timeout = absl::Milliseconds(100);
  options.deadline = absl::Milliseconds(500);
  for (const char* path : {"/silent", "/slow"}) {
    EXPECT_THAT(ReadAll(server.url() + path, options), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(path)));
  }
}

TEST(HttpFileSystemTest, AnotherRangeThanAskedForIsAnError) {
  ScriptedServer server([](const Request& request) {
    return Reply{ScriptedServer::Text(206, "abc", "Content-Range: bytes 7-9/100\r\n")};
  });
  EXPECT_THAT(ReadAll(server.url() + "/a"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes 7-9/100")));
}

TEST(HttpFileSystemTest, AFileThatIsReplacedMeanwhileIsAnError) {
  std::atomic<int> version{1};
  const std::string content = Numbers(1 << 20);
  ScriptedServer server([&](const Request& request) {
    return Reply{RangeOf(request, content, absl::StrCat("ETag: \"v", version.load(), "\"\r\n"))};
  });
  const auto files = NewHttpFileSystem(Impatient());
  ASSERT_OK_AND_ASSIGN(const auto file, files->NewReadableFile(server.url() + "/a"));
  version = 2;
  char byte;
  EXPECT_THAT(file->Read(content.size() - 1, 1, &byte),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("replaced")));
}

// A server without strong tags tells versions apart by their time.
TEST(HttpFileSystemTest, WithoutAStrongTagAnotherTimeIsAnotherFile) {
  for (const char* const tag : {"", "ETag: W/\"weak\"\r\n"}) {
    for (const bool checks_condition : {true, false}) {
      std::atomic<int> second{1};
      const std::string content = Numbers(1 << 20);
      const auto date = [&] { return absl::StrCat("Thu, 01 Jan 1970 00:00:0", second.load(), " GMT"); };
      ScriptedServer server([&](const Request& request) {
        const auto since = request.headers.find("if-unmodified-since");
        if (checks_condition && since != request.headers.end() && since->second != date()) {
          return Reply{ScriptedServer::Text(412, "")};
        }
        return Reply{RangeOf(request, content, absl::StrCat(tag, "Last-Modified: ", date(), "\r\n"))};
      });
      const auto files = NewHttpFileSystem(Impatient());
      ASSERT_OK_AND_ASSIGN(const auto file, files->NewReadableFile(server.url() + "/a"));
      char byte;
      EXPECT_THAT(file->Read(content.size() / 2, 1, &byte), IsOk());
      second = 2;
      EXPECT_THAT(file->Read(content.size() - 1, 1, &byte),
                  StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("replaced")));
    }
  }
}

// Errors of reads and their callers name the URL.
TEST(HttpFileSystemTest, ErrorsKeepTheSecretsOfUrls) {
  std::atomic<int> version{1};
  const std::string content = Numbers(1 << 20);
  ScriptedServer server([&](const Request& request) {
    return Reply{RangeOf(request, content, absl::StrCat("ETag: \"v", version.load(), "\"\r\n"))};
  });
  const std::string url =
      absl::StrCat("http://user:secret@", absl::StripPrefix(server.url(), "http://"), "/a?token=secret");
  const auto names_no_secret = [](absl::StatusCode code) {
    return StatusIs(code, AllOf(HasSubstr("/a?..."), Not(HasSubstr("secret"))));
  };
  const auto files = NewHttpFileSystem(Impatient());
  ASSERT_OK_AND_ASSIGN(const auto file, files->NewReadableFile(url));
  char bytes[4];
  EXPECT_THAT(file->ReadFully(content.size() - 2, 4, bytes), names_no_secret(absl::StatusCode::kDataLoss));
  EXPECT_THAT(ReadFileToString(files.get(), url, 10), names_no_secret(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(files->Stat(url + "\n"), names_no_secret(absl::StatusCode::kInvalidArgument));
  version = 2;
  EXPECT_THAT(file->Read(content.size() / 2, 1, bytes), names_no_secret(absl::StatusCode::kFailedPrecondition));
}

TEST(HttpFileSystemTest, FilesCanOnlyBeRead) {
  const auto files = NewHttpFileSystem(Impatient());
  EXPECT_THAT(files->NewWritableFile("http://127.0.0.1/a"), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(files->DeleteFile("http://127.0.0.1/a"), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(files->Glob("http://127.0.0.1/*"), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(files->NewReadableFile("http://127.0.0.1/a\r\nHost: b"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(HttpFileSystemTest, FilesOutliveTheFileSystem) {
  const std::string content = Numbers(1 << 20);
  ScriptedServer server([&](const Request& request) { return Reply{RangeOf(request, content)}; });
  ASSERT_OK_AND_ASSIGN(const auto file, NewHttpFileSystem(Impatient())->NewReadableFile(server.url() + "/a"));
  char byte = 0;
  ASSERT_THAT(file->ReadFully(content.size() - 1, 1, &byte), IsOk());
  EXPECT_EQ(byte, content.back());
}

TEST(WebClientTest, NoServerIsUnavailable) {
  std::string url;
  {
    ScriptedServer server([](const Request&) { return Reply{}; });
    url = server.url();
  }
  EXPECT_THAT(ReadAll(url + "/a"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(url)));
}

TEST(WebClientTest, RedactsSecrets) {
  EXPECT_EQ(RedactedUrl("https://user:pass@host/a@b?X-Amz-Signature=1#x"), "https://host/a@b?...");
  EXPECT_EQ(RedactedUrl("http://host:80/a"), "http://host:80/a");
  EXPECT_EQ(PercentEncoded("a b/ü~", true), "a%20b/%C3%BC~");
  EXPECT_EQ(PercentDecoded("a%20b%2F+%zz%", true), "a b/ %zz%");
  EXPECT_EQ(PercentDecoded("a%20b%2F+%zz%", false), "a b/+%zz%");
}

}  // namespace
}  // namespace weir
