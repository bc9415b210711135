#include "core/files/remote/web_client.h"

#include <curl/curl.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/files/remote/url_text.h"
#include "core/mutex.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr size_t kMaxHeaderBytes = 256 << 10;
constexpr uint64_t kMaxErrorBody = 64 << 10;
constexpr size_t kMaxIdleHandles = 16;

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// While it lives, a TLS write to a peer that is gone does not end a process that does not ignore SIGPIPE.
class BlockedSigpipe {
 public:
  BlockedSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BlockedSigpipe() {
    const timespec at_once = {};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSigpipe(const BlockedSigpipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

struct Transfer {
  WebReply reply;
  uint64_t max_body = 0;
  size_t header_bytes = 0;
  bool too_large = false;
  CURL* handle = nullptr;
};

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const absl::string_view line(data, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.too_large = true;
    return 0;
  }
  if (absl::StartsWith(line, "HTTP/")) transfer.reply.headers.clear();  // the reply after a redirect
  if (const size_t colon = line.find(':'); colon != absl::string_view::npos) {
    transfer.reply.headers[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return line.size();
}

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  long status = 0;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  std::string& body = transfer.reply.body;
  if (status >= 300) {  // an error's text, of which the beginning is enough
    body.append(data, std::min<uint64_t>(bytes, kMaxErrorBody - std::min<uint64_t>(kMaxErrorBody, body.size())));
    return body.size() < kMaxErrorBody ? bytes : 0;
  }
  if (body.size() + bytes > transfer.max_body) {
    transfer.too_large = true;
    return 0;
  }
  body.append(data, bytes);
  return bytes;
}

long Millis(absl::Duration duration) {
  return static_cast<long>(std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, 1'000'000'000));
}

void SetMethod(CURL* handle, const WebRequest& request) {
  if (request.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST") {
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  } else {
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

void SetLimits(CURL* handle, const WebOptions& options, const WebRequest& request, absl::Duration timeout) {
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, Millis(std::min(options.connect_timeout, timeout)));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, Millis(timeout));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1024L);
  const long stall_seconds = request.works_in_silence ? 0L : std::max(1L, Millis(options.stall_timeout) / 1000);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, stall_seconds);  // 0: no limit
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);              // finds a server that is gone while it is silent
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, 15L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, 5L);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, request.max_redirects > 0 ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_MAXREDIRS, static_cast<long>(request.max_redirects));
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR,
                   absl::StartsWithIgnoreCase(request.url, "https:") ? "https" : "http,https");
}

void SetTls(CURL* handle, const WebOptions& options) {
  if (!options.ca_file.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_file.c_str());
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, options.verify_tls ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, options.verify_tls ? 2L : 0L);
}

absl::Status TransferError(CURLcode code, const char* detail, const WebRequest& request, const Transfer& transfer) {
  const std::string url = RedactedUrl(request.url);
  const std::string text = absl::StrCat(url, "; ", *detail != '\0' ? detail : curl_easy_strerror(code));
  if (transfer.too_large) {
    return errors::ResourceExhausted(url, "; the reply is longer than the limit of ", request.max_reply, " bytes");
  }
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(text);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::InvalidArgumentError(text);
    case CURLE_TOO_MANY_REDIRECTS:
      return errors::FailedPrecondition(text, "; the server redirects in a circle, or use the final URL");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return errors::FailedPrecondition(
          text, "; if the server's certificate is of a private authority, name its file by CURL_CA_BUNDLE");
    default:
      return absl::UnavailableError(text);
  }
}

}  // namespace

// Idle handles, each with its open connections.
class WebClient::Handles {
 public:
  ~Handles() {
    const BlockedSigpipe blocked;
    MutexLock lock(mu_);
    for (CURL* handle : idle_) curl_easy_cleanup(handle);
  }
  CURL* Take() {
    static const bool is_initialized = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!is_initialized) return nullptr;
    MutexLock lock(mu_);
    if (idle_.empty()) return curl_easy_init();
    CURL* const handle = idle_.back();
    idle_.pop_back();
    return handle;
  }
  void GiveBack(CURL* handle) {
    curl_easy_reset(handle);
    MutexLock lock(mu_);
    if (idle_.size() < kMaxIdleHandles) {
      idle_.push_back(handle);
    } else {
      curl_easy_cleanup(handle);
    }
  }

 private:
  Mutex mu_;
  std::vector<CURL*> idle_ GUARDED_BY(mu_);
};

std::string WebReply::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

WebClient::WebClient(WebOptions options) : options_(std::move(options)), handles_(std::make_unique<Handles>()) {}
WebClient::~WebClient() = default;

absl::StatusOr<WebReply> WebClient::SendOnce(const WebRequest& request, absl::Time deadline) {
  RETURN_IF_ERROR(CheckRemotePath(request.url));
  const absl::Duration limit = request.works_in_silence ? options_.deadline : options_.try_timeout;
  const absl::Duration timeout = std::min(limit, deadline - MonotonicNow());
  if (timeout <= absl::ZeroDuration()) {
    return errors::DeadlineExceeded(RedactedUrl(request.url), "; no reply within ",
                                    absl::FormatDuration(options_.deadline));
  }
  const BlockedSigpipe blocked;
  CURL* const handle = handles_->Take();
  if (handle == nullptr) return errors::ResourceExhausted("libcurl cannot be initialized");
  Transfer transfer;
  transfer.handle = handle;
  transfer.max_body = request.max_reply;
  HeaderList headers(nullptr, &curl_slist_free_all);
  const auto add_header = [&](const char* line) { headers.reset(curl_slist_append(headers.release(), line)); };
  for (const std::string& line : request.headers) add_header(line.c_str());
  add_header("Expect:");  // many servers never send "100 Continue"
  if (request.method == "PUT" || request.method == "POST") add_header("Content-Type: application/octet-stream");
  char detail[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "weir");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  SetMethod(handle, request);
  SetLimits(handle, options_, request, timeout);
  SetTls(handle, options_);
  const CURLcode code = curl_easy_perform(handle);
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  handles_->GiveBack(handle);
  transfer.reply.status = static_cast<int>(status);
  const bool cut_error_text = code == CURLE_WRITE_ERROR && status >= 300 && !transfer.too_large;
  if (code != CURLE_OK && !cut_error_text) return TransferError(code, detail, request, transfer);
  return std::move(transfer.reply);
}

absl::StatusOr<WebReply> WebClient::Send(absl::FunctionRef<absl::StatusOr<WebRequest>()> make,
                                         absl::FunctionRef<bool(const WebReply&)> passing) {
  const absl::Time deadline = MonotonicNow() + options_.deadline;
  absl::Duration pause = options_.first_pause;
  for (int tried = 1;; ++tried) {
    ASSIGN_OR_RETURN(const WebRequest request, make());
    absl::StatusOr<WebReply> reply = SendOnce(request, deadline);
    const bool again =
        reply.ok() ? passing(*reply) : absl::IsUnavailable(reply.status()) || absl::IsDeadlineExceeded(reply.status());
    if (!again) return reply;
    absl::Duration wait = pause * (0.5 + static_cast<double>(RandomBits() % 1024) / 1024);
    int64_t asked = 0;
    if (reply.ok() && absl::SimpleAtoi(reply->Header("retry-after"), &asked) && asked > 0) {
      wait = std::max(wait, absl::Seconds(std::min<int64_t>(asked, 3600)));
    }
    wait = std::min(wait, options_.max_pause);
    if (tried >= options_.tries || MonotonicNow() + wait >= deadline) {
      if (reply.ok()) return reply;
      return absl::Status(reply.status().code(), absl::StrCat(reply.status().message(), "; ", tried, " tries"));
    }
    absl::SleepFor(wait);
    pause = std::min(pause * 2, options_.max_pause);
  }
}

bool IsPassingStatus(int status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

}  // namespace weir
