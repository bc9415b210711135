#include <algorithm>
#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/files/remote/remote_file_systems.h"
#include "core/files/remote/scripted_server_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Then = ScriptedServer::Then;
using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;

constexpr char kUploadReply[] =
    "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>";

S3Settings SettingsFor(const ScriptedServer& server) {
  S3Settings settings;
  settings.endpoint = server.url();
  settings.credentials = {"KEY", "SECRET", ""};
  return settings;
}

std::unique_ptr<FileSystem> FilesOf(const ScriptedServer& server) {
  S3FileOptions options;
  options.settings = [settings = SettingsFor(server)] { return settings; };
  options.web.tries = 3;
  options.web.first_pause = absl::Milliseconds(1);
  options.web.max_pause = absl::Milliseconds(2);
  options.part_bytes = 1000;
  return NewS3FileSystem(std::move(options));
}

std::string ErrorText(absl::string_view code, absl::string_view more = "") {
  return absl::StrCat("<?xml version=\"1.0\"?>\n<Error><Code>", code, "</Code><Message>Words</Message>", more,
                      "</Error>");
}

// The requests of an upload.
bool IsStart(const Request& request) { return absl::StrContains(request.target, "?uploads="); }
bool IsPart(const Request& request, int number) {
  return absl::StrContains(request.target, absl::StrCat("partNumber=", number, "&"));
}
bool IsComplete(const Request& request) {
  return request.method == "POST" && absl::StrContains(request.target, "?uploadId=u1");
}

absl::Status WriteParts(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, files.NewWritableFile(path));
  RETURN_IF_ERROR(file->Append(std::string(1000, 'a')));
  RETURN_IF_ERROR(file->Append(std::string(1000, 'b')));
  RETURN_IF_ERROR(file->Append("c"));
  return file->Close();
}

TEST(S3FileSystemTest, RequestsAreSignedAndAddressedByPath) {
  Request seen;
  ScriptedServer server([&](const Request& request) {
    seen = request;
    return Reply{ScriptedServer::Text(200, "content")};
  });
  EXPECT_EQ(ReadFileToString(FilesOf(server).get(), "s3://bucket/a b/c").value_or("?"), "content");
  EXPECT_EQ(seen.target, "/bucket/a%20b/c");
  EXPECT_EQ(seen.headers["host"], absl::StripPrefix(server.url(), "http://"));
  EXPECT_THAT(seen.headers["authorization"],
              AllOf(HasSubstr("Credential=KEY/"), HasSubstr("/us-east-1/s3/aws4_request"),
                    HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date")));
}

TEST(S3FileSystemTest, ErrorsSayWhatToDo) {
  struct Case {
    int status;
    std::string body, headers;
    absl::StatusCode code;
    std::string words;
  };
  const std::vector<Case> cases = {
      {404, ErrorText("NoSuchKey"), "", absl::StatusCode::kNotFound, "No such file"},
      {404, ErrorText("NoSuchBucket"), "", absl::StatusCode::kFailedPrecondition, "there is no bucket bucket at http"},
      {403, ErrorText("AccessDenied"), "", absl::StatusCode::kPermissionDenied, "the access key KEY does not permit"},
      {403, ErrorText("InvalidAccessKeyId"), "", absl::StatusCode::kUnauthenticated, "check AWS_ACCESS_KEY_ID"},
      {403, ErrorText("SignatureDoesNotMatch"), "", absl::StatusCode::kUnauthenticated, "check AWS_ACCESS_KEY_ID"},
      {400, ErrorText("ExpiredToken"), "", absl::StatusCode::kUnauthenticated, "renew AWS_SESSION_TOKEN"},
      {403, ErrorText("RequestTimeTooSkewed"), "Date: Thu, 01 Jan 1970 00:00:07 GMT\r\n",
       absl::StatusCode::kUnauthenticated, "the store's says Thu, 01 Jan 1970"},
      {301, ErrorText("PermanentRedirect"), "x-amz-bucket-region: eu-west-1\r\n", absl::StatusCode::kFailedPrecondition,
       "set AWS_REGION=eu-west-1"},
      {400, ErrorText("AuthorizationHeaderMalformed", "<Region>eu-west-2</Region>"), "",
       absl::StatusCode::kFailedPrecondition, "set AWS_REGION=eu-west-2"},
      {503, ErrorText("SlowDown"), "", absl::StatusCode::kUnavailable, "busy"},
      {400, "<html>proxy</html>", "", absl::StatusCode::kInvalidArgument, "does not accept"},
      {200, ErrorText("InternalError"), "", absl::StatusCode::kUnavailable, "busy"},
  };
  for (const Case& expected : cases) {
    ScriptedServer server(
        [&](const Request&) { return Reply{ScriptedServer::Text(expected.status, expected.body, expected.headers)}; });
    const auto files = FilesOf(server);
    const absl::Status status = WriteStringToFile(files.get(), "s3://bucket/a/b", "data");
    EXPECT_THAT(status, StatusIs(expected.code, AllOf(HasSubstr("s3://bucket/a/b; "), HasSubstr(expected.words),
                                                      HasSubstr(absl::StrCat(server.url(), "/bucket/a/b")),
                                                      HasSubstr(absl::StrCat("HTTP status ", expected.status)))));
  }
}

TEST(S3FileSystemTest, TheContentOfAnObjectIsNoError) {
  for (const char* code : {"InternalError", "ExpiredToken"}) {
    ScriptedServer server([&](const Request&) { return Reply{ScriptedServer::Text(200, ErrorText(code))}; });
    EXPECT_EQ(ReadFileToString(FilesOf(server).get(), "s3://bucket/a").value_or("?"), ErrorText(code));
    EXPECT_EQ(server.requests().size(), 1);
  }
}

TEST(S3FileSystemTest, WithoutCredentialsRequestsAreNotSigned) {
  std::atomic<bool> is_signed{false};
  ScriptedServer server([&](const Request& request) {
    is_signed = request.headers.count("authorization") > 0;
    return Reply{ScriptedServer::Text(403, ErrorText("AccessDenied"))};
  });
  S3FileOptions options;
  options.settings = [&] {
    S3Settings settings = SettingsFor(server);
    settings.credentials = {};
    return settings;
  };
  EXPECT_THAT(
      ReadFileToString(NewS3FileSystem(options).get(), "s3://bucket/a"),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("there are no credentials: set AWS_ACCESS_KEY_ID")));
  EXPECT_FALSE(is_signed);
}

TEST(S3FileSystemTest, ExpiredCredentialsAreLoadedAgain) {
  std::atomic<int> loads{0};
  ScriptedServer server([&](const Request& request) {
    const auto token = request.headers.find("x-amz-security-token");
    EXPECT_NE(token, request.headers.end());
    return token->second == "token1" ? Reply{ScriptedServer::Text(400, ErrorText("ExpiredToken"))}
                                     : Reply{ScriptedServer::Text(200, "content")};
  });
  S3FileOptions options;
  options.settings = [&] {
    S3Settings settings = SettingsFor(server);
    settings.credentials.session_token = absl::StrCat("token", ++loads);
    return settings;
  };
  EXPECT_EQ(ReadFileToString(NewS3FileSystem(options).get(), "s3://bucket/a").value_or("?"), "content");
  EXPECT_EQ(loads, 2);
}

TEST(S3FileSystemTest, ListsPageByPage) {
  ScriptedServer server([&](const Request& request) -> Reply {
    EXPECT_THAT(request.target, AllOf(HasSubstr("/bucket/?"), HasSubstr("delimiter=%2F"), HasSubstr("prefix=dir%2F")));
    const bool is_first = !absl::StrContains(request.target, "continuation-token=t%2B1");
    return {ScriptedServer::Text(
        200, is_first
                 ? "<ListBucketResult><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
                   "<NextContinuationToken>t+1</NextContinuationToken><Contents><Key>dir/</Key><Size>0</Size>"
                   "</Contents><Contents><Key>dir/b%20b</Key><Size>1</Size></Contents></ListBucketResult>"
                 : "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>dir/a&amp;</Key><Size>2</Size>"
                   "</Contents><CommonPrefixes><Prefix>dir/sub/</Prefix></CommonPrefixes></ListBucketResult>")};
  });
  ASSERT_OK_AND_ASSIGN(const auto names, FilesOf(server)->List("s3://bucket/dir/"));
  EXPECT_THAT(names, ElementsAre("a&", "b b", "sub"));
}

TEST(S3FileSystemTest, AListingThatDoesNotEndIsAnError) {
  ScriptedServer server([](const Request&) {
    return Reply{ScriptedServer::Text(200,
                                      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>same"
                                      "</NextContinuationToken></ListBucketResult>")};
  });
  EXPECT_THAT(FilesOf(server)->List("s3://bucket/dir"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(FilesOf(server)->Glob("s3://bucket/*"), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(S3FileSystemTest, AListingInACircleIsAnError) {
  ScriptedServer server([](const Request& request) {
    const bool is_b = absl::StrContains(request.target, "continuation-token=A");
    return Reply{ScriptedServer::Text(
        200, absl::StrCat("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>", is_b ? "B" : "A",
                          "</NextContinuationToken></ListBucketResult>"))};
  });
  EXPECT_THAT(FilesOf(server)->List("s3://bucket/dir"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(server.requests().size(), 3);
}

TEST(S3FileSystemTest, KeysOutsideOfTheDirectoryAreNotDeleted) {
  ScriptedServer server([](const Request& request) -> Reply {
    if (request.method == "HEAD") return {ScriptedServer::Text(404, "")};
    return {ScriptedServer::Text(
        200, "<ListBucketResult><Contents><Key>other/a</Key><Size>1</Size></Contents></ListBucketResult>")};
  });
  EXPECT_THAT(FilesOf(server)->DeleteRecursively("s3://bucket/dir"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("other/a")));
  EXPECT_THAT(server.requests(), Not(Contains(HasSubstr("POST"))));
}

TEST(S3FileSystemTest, KeysThatTheStoreCannotDeleteForNowAreTriedAgain) {
  struct Case {
    std::string code;
    int failures;
    absl::StatusCode expected;
  };
  for (const Case& c : std::vector<Case>{{"SlowDown", 1, absl::StatusCode::kOk},
                                         {"InternalError", 1000, absl::StatusCode::kUnavailable},
                                         {"AccessDenied", 1, absl::StatusCode::kPermissionDenied}}) {
    std::atomic<int> deletions{0};
    std::atomic<bool> is_gone{false};
    std::string last;
    ScriptedServer server([&](const Request& request) -> Reply {
      if (request.method == "HEAD") return {ScriptedServer::Text(404, "")};
      if (request.method == "GET") {
        return {ScriptedServer::Text(200, is_gone
                                              ? "<ListBucketResult/>"
                                              : "<ListBucketResult><Contents><Key>d/a</Key><Size>1</Size></Contents>"
                                                "<Contents><Key>d/b</Key><Size>1</Size></Contents>"
                                                "</ListBucketResult>")};
      }
      last = request.body;
      if (deletions++ < c.failures) {
        return {ScriptedServer::Text(
            200, absl::StrCat("<DeleteResult><Error><Key>d/b</Key><Code>", c.code, "</Code></Error></DeleteResult>"))};
      }
      is_gone = true;
      return {ScriptedServer::Text(200, "<DeleteResult/>")};
    });
    const absl::Status deleted = FilesOf(server)->DeleteRecursively("s3://bucket/d");
    EXPECT_EQ(deleted.code(), c.expected) << deleted;
    if (!deleted.ok()) {
      EXPECT_THAT(std::string(deleted.message()), HasSubstr("s3://bucket/d/b"));
    }
    if (c.code != "AccessDenied") {
      EXPECT_THAT(last, AllOf(HasSubstr("d/b"), Not(HasSubstr("d/a"))));
    }
  }
}

TEST(S3FileSystemTest, UploadsInPartsAndCompletes) {
  std::atomic<int> slow{0};
  std::string document;
  ScriptedServer server([&](const Request& request) -> Reply {
    if (IsStart(request)) return {ScriptedServer::Text(200, kUploadReply)};
    if (IsPart(request, 2) && slow++ == 0) return {ScriptedServer::Text(503, ErrorText("SlowDown"))};
    if (IsComplete(request)) {
      document = request.body;
      return {ScriptedServer::Text(200, "<CompleteMultipartUploadResult/>")};
    }
    return {ScriptedServer::Text(200, "",
                                 absl::StrCat("ETag: \"", request.body.substr(0, 1), request.body.size(), "\"\r\n"))};
  });
  ASSERT_THAT(WriteParts(*FilesOf(server), "s3://bucket/a"), IsOk());
  EXPECT_EQ(document,
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>&quot;a1000&quot;</ETag></Part><Part>"
            "<PartNumber>2</PartNumber><ETag>&quot;b1000&quot;</ETag></Part><Part><PartNumber>3</PartNumber><ETag>"
            "&quot;c1&quot;</ETag></Part></CompleteMultipartUpload>");
  EXPECT_THAT(server.requests(), Not(Contains(HasSubstr("DELETE"))));
}

TEST(S3FileSystemTest, ABucketThatDisappearsEndsTheUpload) {
  ScriptedServer server([](const Request& request) -> Reply {
    if (IsStart(request)) return {ScriptedServer::Text(200, kUploadReply)};
    if (IsPart(request, 1)) return {ScriptedServer::Text(200, "", "ETag: \"1\"\r\n")};
    return {ScriptedServer::Text(404, ErrorText("NoSuchBucket"))};
  });
  EXPECT_THAT(WriteParts(*FilesOf(server), "s3://bucket/a"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("there is no bucket bucket")));
  EXPECT_EQ(server.requests().back(), "DELETE /bucket/a?uploadId=u1");
}

TEST(S3FileSystemTest, AFileThatIsNotClosedIsDiscarded) {
  ScriptedServer server([](const Request& request) -> Reply {
    if (IsStart(request)) return {ScriptedServer::Text(200, kUploadReply)};
    return {ScriptedServer::Text(200, "", "ETag: \"1\"\r\n")};
  });
  const auto files = FilesOf(server);
  {
    ASSERT_OK_AND_ASSIGN(const auto small, files->NewWritableFile("s3://bucket/small"));
    ASSERT_THAT(small->Append("few bytes"), IsOk());
    ASSERT_THAT(small->Sync(), IsOk());
  }
  EXPECT_THAT(server.requests(), IsEmpty());
  {
    ASSERT_OK_AND_ASSIGN(const auto large, files->NewWritableFile("s3://bucket/large"));
    ASSERT_THAT(large->Append(std::string(1500, 'x')), IsOk());
  }
  EXPECT_EQ(server.requests().back(), "DELETE /bucket/large?uploadId=u1");
}

TEST(S3FileSystemTest, ALostReplyToTheCompletionIsNoError) {
  // The MD5 digests of nothing, for each part, and what S3 makes of three of them.
  constexpr char kPart[] = "ETag: \"d41d8cd98f00b204e9800998ecf8427e\"\r\n";
  for (const bool is_there : {true, false}) {
    std::atomic<int> completions{0};
    ScriptedServer server([&](const Request& request) -> Reply {
      if (IsStart(request)) return {ScriptedServer::Text(200, kUploadReply)};
      if (IsComplete(request) && completions++ == 0) return {"", Then::kReset};
      if (IsComplete(request)) return {ScriptedServer::Text(404, ErrorText("NoSuchUpload"))};
      if (request.method == "HEAD") {
        return {ScriptedServer::Text(
            200, "", is_there ? "ETag: \"2bc3f09a6fbadbe687825030c6e7b9a4-3\"\r\n" : "ETag: \"old\"\r\n")};
      }
      return {ScriptedServer::Text(200, "", kPart)};
    });
    const absl::Status written = WriteParts(*FilesOf(server), "s3://bucket/a");
    EXPECT_EQ(written.ok(), is_there) << written;
    EXPECT_EQ(completions, 2);
  }
}

TEST(S3FileSystemTest, AnAppendToAnObjectOfUnknownSizeFails) {
  ScriptedServer server([](const Request& request) -> Reply {
    return {request.method == "HEAD" ? "HTTP/1.1 200 OK\r\nETag: \"1\"\r\n\r\n" : ScriptedServer::Text(200, "")};
  });
  EXPECT_THAT(FilesOf(server)->NewAppendableFile("s3://bucket/a"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("does not give the size")));
}

TEST(S3FileSystemTest, ARenameThatCannotDeleteLeavesBoth) {
  ScriptedServer server([](const Request& request) -> Reply {
    if (request.method == "HEAD") return {ScriptedServer::Text(200, "", "ETag: \"1\"\r\n")};
    if (request.method == "PUT") {
      EXPECT_EQ(request.headers.at("x-amz-copy-source"), "/bucket/a");
      EXPECT_EQ(request.headers.at("x-amz-copy-source-if-match"), "\"1\"");
      return {ScriptedServer::Text(200, "<CopyObjectResult/>")};
    }
    return {ScriptedServer::Text(403, ErrorText("AccessDenied"))};
  });
  EXPECT_THAT(FilesOf(server)->Rename("s3://bucket/a", "s3://bucket/b"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("Deleting the copied object")));
}

// The store sends the status before it does the work.
TEST(S3FileSystemTest, OnlyTheExpectedDocumentIsASuccess) {
  const std::string late_error = "  \n" + ErrorText("InternalError");
  for (const std::string& body : {late_error, std::string(), std::string("<html>a proxy</html>"), std::string("<a")}) {
    const auto unless_safe = [&](const Request& request) -> Reply {
      if (request.method == "HEAD") return {ScriptedServer::Text(200, "", "ETag: \"1\"\r\n")};
      if (request.method == "GET") {
        return {ScriptedServer::Text(200,
                                     "<ListBucketResult><Contents><Key>d/a</Key><Size>1</Size></Contents>"
                                     "</ListBucketResult>")};
      }
      if (IsStart(request)) return {ScriptedServer::Text(200, kUploadReply)};
      if (IsPart(request, 1) || IsPart(request, 2) || IsPart(request, 3)) {
        return {ScriptedServer::Text(200, "", "ETag: \"1\"\r\n")};
      }
      if (request.method == "DELETE") return {ScriptedServer::Text(204, "")};
      return {ScriptedServer::Text(200, body)};
    };
    ScriptedServer server(unless_safe);
    const auto files = FilesOf(server);
    EXPECT_THAT(files->Rename("s3://bucket/a", "s3://bucket/b"), StatusIs(absl::StatusCode::kUnavailable)) << body;
    EXPECT_THAT(server.requests(), Not(Contains(HasSubstr("DELETE")))) << body;
    EXPECT_THAT(WriteParts(*files, "s3://bucket/c"), StatusIs(absl::StatusCode::kUnavailable)) << body;
    EXPECT_THAT(files->DeleteRecursively("s3://bucket/d"), StatusIs(absl::StatusCode::kUnavailable)) << body;
  }
}

TEST(S3FileSystemTest, WhitespaceBeforeTheDocumentIsNoError) {
  std::atomic<int> copies{0};
  ScriptedServer server([&](const Request& request) -> Reply {
    if (request.method == "HEAD") return {ScriptedServer::Text(200, "", "ETag: \"1\"\r\n")};
    if (request.method == "DELETE") return {ScriptedServer::Text(204, "")};
    if (copies++ == 0) return {ScriptedServer::Text(200, " " + ErrorText("InternalError"))};
    return {ScriptedServer::Text(200, " \n <?xml version=\"1.0\"?><CopyObjectResult/>")};
  });
  EXPECT_THAT(FilesOf(server)->Rename("s3://bucket/a", "s3://bucket/b"), IsOk());
  EXPECT_EQ(copies, 2);
}

// A copy of a large object takes longer than any other request.
TEST(S3FileSystemTest, ACopyMayTakeLongerThanOtherRequests) {
  ScriptedServer server([](const Request& request) -> Reply {
    if (request.method == "HEAD") return {ScriptedServer::Text(200, "", "ETag: \"1\"\r\n")};
    if (request.method == "DELETE") return {ScriptedServer::Text(204, "")};
    absl::SleepFor(absl::Milliseconds(800));
    return {ScriptedServer::Text(200, "<CopyObjectResult/>")};
  });
  S3FileOptions options;
  options.settings = [settings = SettingsFor(server)] { return settings; };
  options.web.try_timeout = absl::Milliseconds(400);
  options.web.tries = 50;
  options.web.max_pause = absl::Milliseconds(2);
  options.web.deadline = absl::Seconds(30);
  EXPECT_THAT(NewS3FileSystem(options)->Rename("s3://bucket/a", "s3://bucket/b"), IsOk());
  EXPECT_EQ(std::ranges::count_if(server.requests(), [](const auto& line) { return line.starts_with("PUT"); }), 1);
}

TEST(S3FileSystemTest, AMissingBucketIsNotAMissingFile) {
  ScriptedServer server([](const Request& request) -> Reply {
    return {ScriptedServer::Text(404, request.method == "HEAD" ? "" : ErrorText("NoSuchBucket"))};
  });
  const auto files = FilesOf(server);
  for (const absl::Status& status :
       {files->Stat("s3://bucket/a").status(), files->List("s3://bucket/a").status(),
        files->Glob("s3://bucket/*").status(), files->NewReadableFile("s3://bucket/a").status(),
        files->DeleteFile("s3://bucket/a"), files->DeleteRecursively("s3://bucket/a"),
        files->CreateDir("s3://bucket/a")}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("there is no bucket")));
  }
}

TEST(S3FileSystemTest, PathsNameABucketAndAKey) {
  ScriptedServer server([](const Request&) { return Reply{ScriptedServer::Text(500, "")}; });
  const auto files = FilesOf(server);
  for (const char* path : {"s3://", "s3:///a", "s3://bu cket/a", "s3://../a", "s3://bucket/a\nb"}) {
    EXPECT_THAT(files->Stat(path), StatusIs(absl::StatusCode::kInvalidArgument)) << path;
  }
  EXPECT_THAT(files->NewWritableFile("s3://bucket"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files->DeleteRecursively("s3://bucket/"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(server.requests(), IsEmpty());
}

}  // namespace
}  // namespace weir
