// A server with a certificate of its own.

#include <httplib.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "core/files/remote/web_client.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

class TlsServer {
 public:
  TlsServer() : key_(EVP_EC_gen("P-256"), &EVP_PKEY_free), certificate_(X509_new(), &X509_free) {
    setenv("no_proxy", "127.0.0.1", 1);
    Certify();
    server_ = std::make_unique<httplib::SSLServer>(certificate_.get(), key_.get());
    server_->Get("/a",
                 [](const httplib::Request&, httplib::Response& reply) { reply.set_content("text", "text/plain"); });
    port_ = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
  }
  ~TlsServer() {
    server_->stop();
    thread_.join();
  }

  std::string url() const { return absl::StrCat("https://127.0.0.1:", port_, "/a"); }
  void WriteCertificate(const std::string& path) const {
    FILE* const file = std::fopen(path.c_str(), "w");
    EXPECT_EQ(PEM_write_X509(file, certificate_.get()), 1);
    std::fclose(file);
  }

 private:
  void Certify() {
    X509* const certificate = certificate_.get();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key_.get());
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("weir"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* const address = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate, address, -1);
    X509_EXTENSION_free(address);
    EXPECT_GT(X509_sign(certificate, key_.get(), EVP_sha256()), 0);
  }

  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate_;
  std::unique_ptr<httplib::SSLServer> server_;
  int port_ = 0;
  std::thread thread_;
};

TEST(WebClientTest, ACertificateOfAnUnknownAuthorityIsRejected) {
  TlsServer server;
  WebClient client;
  EXPECT_THAT(client.SendOnce({.url = server.url()}),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::HasSubstr("CURL_CA_BUNDLE")));
}

TEST(WebClientTest, AFileNamesFurtherAuthorities) {
  TlsServer server;
  const ScratchDirectory directory;
  WebOptions options;
  options.ca_file = directory.Path("authority.pem");
  EXPECT_THAT(WebClient(options).SendOnce({.url = server.url()}), StatusIs(absl::StatusCode::kFailedPrecondition));
  server.WriteCertificate(options.ca_file);
  ASSERT_OK_AND_ASSIGN(const WebReply reply, WebClient(options).SendOnce({.url = server.url()}));
  EXPECT_EQ(reply.body, "text");
}

TEST(WebClientTest, ChecksOfCertificatesCanBeSwitchedOff) {
  TlsServer server;
  WebOptions options;
  options.verify_tls = false;
  ASSERT_OK_AND_ASSIGN(const WebReply reply, WebClient(options).SendOnce({.url = server.url()}));
  EXPECT_EQ(reply.body, "text");
}

}  // namespace
}  // namespace weir
