// HTTP and HTTPS requests, by libcurl.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

struct WebRequest {
  std::string method = "GET";  // GET, HEAD, PUT, POST, DELETE
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  absl::string_view body;            // of PUT and POST; outlives the call
  uint64_t max_reply = 1 << 20;      // bytes of the reply's body
  int max_redirects = 0;             // for GET and HEAD; never from https to http
  // The server may work in silence, as for a copy within it: of the limits only the deadline of all tries applies.
  bool works_in_silence = false;
};

struct WebReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // Empty if it is absent.
  std::string Header(const std::string& name) const;
};

struct WebOptions {
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration stall_timeout = absl::Seconds(30);  // without 1 KiB a second
  absl::Duration try_timeout = absl::Minutes(2);     // of one try; neither for works_in_silence
  absl::Duration deadline = absl::Minutes(5);        // of all tries
  int tries = 8;
  absl::Duration first_pause = absl::Milliseconds(100);  // between tries; doubles, up to:
  absl::Duration max_pause = absl::Seconds(10);
  std::string ca_file;  // PEM; empty: the system's
  bool verify_tls = true;
};

// Thread-safe. Blocks; keeps connections open between requests.
class WebClient {
 public:
  explicit WebClient(WebOptions options = {});
  ~WebClient();

  // One try. Any HTTP status is a reply. Errors name the URL:
  // - Unavailable: no connection, or it broke before the reply was complete;
  // - DeadlineExceeded: a time limit;
  // - ResourceExhausted: a reply of more than max_reply bytes;
  // - InvalidArgument: no such URL can be; FailedPrecondition: TLS, or too many redirects.
  absl::StatusOr<WebReply> SendOnce(const WebRequest& request, absl::Time deadline = absl::InfiniteFuture());

  // Sends the request of `make`, anew for each try, until there is a reply that is not `passing`, which returns true
  // for replies that a later try may improve; the last reply or error after `tries` or at the deadline. Unavailable and
  // DeadlineExceeded of a try are tried again.
  absl::StatusOr<WebReply> Send(absl::FunctionRef<absl::StatusOr<WebRequest>()> make,
                                absl::FunctionRef<bool(const WebReply&)> passing);

  const WebOptions& options() const { return options_; }

 private:
  class Handles;

  const WebOptions options_;
  const std::unique_ptr<Handles> handles_;
};

// Whether the status says that a later try may succeed: 408, 429, 500, 502, 503, 504.
bool IsPassingStatus(int status);

}  // namespace weir
