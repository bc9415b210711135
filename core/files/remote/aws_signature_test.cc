#include "core/files/remote/aws_signature.h"

#include <map>

#include "core/files/file_system.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::EndsWith;

constexpr char kEmptyHash[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// The keys, times and results are of AWS's published test suite for Signature Version 4.
std::string SignatureOfSuite(SignedRequest request) {
  const S3Credentials credentials = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  request.headers["host"] = "example.amazonaws.com";
  request.headers["x-amz-date"] = "20150830T123600Z";
  if (request.payload_hash.empty()) request.payload_hash = kEmptyHash;
  return AuthorizationHeader(
      request,
      {"us-east-1", "service", absl::FromCivil(absl::CivilSecond(2015, 8, 30, 12, 36, 0), absl::UTCTimeZone())},
      credentials);
}

TEST(AwsSignatureTest, AgreesWithTheTestSuite) {
  EXPECT_EQ(SignatureOfSuite({.method = "GET", .path = "/"}),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_THAT(SignatureOfSuite({.method = "GET", .path = "/", .query = {{"Param2", "value2"}, {"Param1", "value1"}}}),
              EndsWith("Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
  EXPECT_THAT(SignatureOfSuite({.method = "POST", .path = "/"}),
              EndsWith("Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"));
  EXPECT_THAT(SignatureOfSuite({.method = "GET", .path = "/%E1%88%B4"}),
              EndsWith("Signature=8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"));
}

// The examples of S3's documentation.
std::string SignatureOfBucket(SignedRequest request) {
  const S3Credentials credentials = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
  request.headers["host"] = "examplebucket.s3.amazonaws.com";
  request.headers["x-amz-date"] = "20130524T000000Z";
  request.headers["x-amz-content-sha256"] = request.payload_hash;
  return AuthorizationHeader(
      request, {"us-east-1", "s3", absl::FromCivil(absl::CivilSecond(2013, 5, 24), absl::UTCTimeZone())}, credentials);
}

TEST(AwsSignatureTest, AgreesWithTheExamplesOfS3) {
  EXPECT_THAT(
      SignatureOfBucket(
          {.method = "GET", .path = "/test.txt", .headers = {{"range", "bytes=0-9"}}, .payload_hash = kEmptyHash}),
      EndsWith("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
  EXPECT_THAT(SignatureOfBucket({.method = "PUT",
                                 .path = "/test%24file.text",
                                 .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                                             {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                                 .payload_hash = Sha256Hex("Welcome to Amazon S3.")}),
              EndsWith("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
  EXPECT_THAT(
      SignatureOfBucket({.method = "GET", .path = "/", .query = {{"lifecycle", ""}}, .payload_hash = kEmptyHash}),
      EndsWith("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
  EXPECT_THAT(
      SignatureOfBucket(
          {.method = "GET", .path = "/", .query = {{"max-keys", "2"}, {"prefix", "J"}}, .payload_hash = kEmptyHash}),
      EndsWith("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(S3SettingsTest, ComeFromTheEnvironmentAndFromFiles) {
  const std::string directory = ::testing::TempDir() + "/weir_s3_settings";
  const auto files = NewPosixFileSystem();
  ASSERT_THAT(files->CreateDir(directory + "/.aws"), IsOk());
  ASSERT_THAT(WriteStringToFile(files.get(), directory + "/.aws/credentials",
                                "# comment\n[default]\naws_access_key_id = A\naws_secret_access_key=B\n"
                                "[work]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n"
                                "[half]\naws_access_key_id=F\n"),
              IsOk());
  ASSERT_THAT(WriteStringToFile(files.get(), directory + "/.aws/config",
                                "[profile work]\nregion = eu-west-3\n[profile empty]\n"
                                "[profile role]\nrole_arn = arn\n[profile sso]\nsso_session = s\n[profile "
                                "process]\ncredential_process = p\n"),
              IsOk());
  const auto load = [&](std::map<std::string, std::string> variables) {
    variables.emplace("HOME", directory);
    return LoadS3Settings([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
    });
  };

  ASSERT_OK_AND_ASSIGN(S3Settings settings, load({}));
  EXPECT_EQ(settings.credentials.access_key + settings.credentials.secret_key, "AB");
  EXPECT_EQ(settings.region, "us-east-1");
  ASSERT_OK_AND_ASSIGN(settings, load({{"AWS_PROFILE", "work"}}));
  EXPECT_EQ(settings.credentials.session_token, "E");
  EXPECT_EQ(settings.region, "eu-west-3");
  ASSERT_OK_AND_ASSIGN(settings, load({{"AWS_ACCESS_KEY_ID", "X"},
                                       {"AWS_SECRET_ACCESS_KEY", "Y"},
                                       {"AWS_REGION", "ap-south-1"},
                                       {"AWS_ENDPOINT_URL", "http://localhost:9000/"}}));
  EXPECT_EQ(settings.credentials.access_key, "X");
  EXPECT_EQ(settings.region, "ap-south-1");
  EXPECT_EQ(settings.endpoint, "http://localhost:9000");
  ASSERT_OK_AND_ASSIGN(settings, load({{"S3_ENDPOINT", "minio:9000"}, {"S3_USE_HTTPS", "0"}, {"S3_VERIFY_SSL", "0"}}));
  EXPECT_EQ(settings.endpoint, "http://minio:9000");
  EXPECT_FALSE(settings.verify_tls);
  ASSERT_OK_AND_ASSIGN(settings, load({{"S3_VERIFY_SSL", "0"}}));
  EXPECT_TRUE(settings.verify_tls);  // the host of AWS
  ASSERT_OK_AND_ASSIGN(settings, load({{"AWS_PROFILE", "empty"}}));
  EXPECT_TRUE(settings.credentials.is_anonymous());

  for (const auto& [variables, names] : std::vector<std::pair<std::map<std::string, std::string>, std::string>>{
           {{{"AWS_PROFILE", "nobody"}}, "AWS_PROFILE is \"nobody\""},
           {{{"AWS_PROFILE", "half"}}, "aws_secret_access_key"},
           {{{"AWS_PROFILE", "role"}}, "has role_arn"},
           {{{"AWS_PROFILE", "sso"}}, "has sso_session"},
           {{{"AWS_PROFILE", "process"}}, "has credential_process"},
           {{{"AWS_ACCESS_KEY_ID", "X"}}, "AWS_SECRET_ACCESS_KEY"},
           {{{"AWS_REGION", "a/../b"}}, "AWS_REGION"},
           {{{"AWS_ENDPOINT_URL", "ftp://host"}}, "ftp://host"},
           {{{"AWS_ENDPOINT_URL", "https://user:pa55@host"}}, "\"https://host\""},
           {{{"AWS_ENDPOINT_URL", "https://"}}, "endpoint"}}) {
    EXPECT_THAT(load(variables),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         ::testing::AllOf(::testing::HasSubstr(names), ::testing::Not(::testing::HasSubstr("pa55")))));
  }
  EXPECT_THAT(files->DeleteRecursively(directory), IsOk());
}

}  // namespace
}  // namespace weir
