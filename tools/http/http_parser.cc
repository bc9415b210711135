#include "tools/http/http_parser.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/logging.h"
#include "distribute/cluster/address.h"

namespace weir {
namespace {

const char* ReasonOf(int status) {
  switch (status) {
    case 403:
      return "Forbidden";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    default:
      return "Service Unavailable";
  }
}

// Without the header lines for ranges, which httplib would match with a recursive regular expression: a long one needs
// more stack than a thread may have. Nothing here is served in ranges.
std::string WithoutRanges(const std::string& request) {
  constexpr size_t kLineEnd = 2;
  if (request.size() < kLineEnd) return request;
  std::string kept;
  for (size_t begin = 0; begin < request.size();) {
    const size_t end = std::min(request.find("\r\n", begin), request.size() - kLineEnd) + kLineEnd;
    const absl::string_view line(request.data() + begin, end - begin);
    if (!absl::StartsWithIgnoreCase(line, "range")) absl::StrAppend(&kept, line);
    begin = end;
  }
  return kept;
}

// A request in memory; collects the answer.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(const std::string& request) : request_(request) {}

  bool is_readable() const override { return position_ < request_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, size_t size) override {
    const size_t count = std::min(size, request_.size() - position_);
    std::memcpy(data, request_.data() + position_, count);
    position_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, size_t size) override {
    answer_.append(data, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return -1; }

  std::string TakeAnswer() { return std::move(answer_); }

 private:
  const std::string& request_;
  size_t position_ = 0;
  std::string answer_;
};

// Whether "name", "name:port" or "[address]:port" can only be this machine. HTTP/1.0 needs no name.
bool IsLoopbackHost(const std::string& host) {
  if (host.empty()) return true;
  const size_t end = host.front() == '[' ? host.find(']') : host.find(':');
  const bool bracketed = host.front() == '[' && end != std::string::npos;
  const absl::StatusOr<Address> address = Address::Parse(absl::StrCat(host.substr(0, bracketed ? end + 1 : end), ":1"));
  return address.ok() && !address->is_unix() && address->IsLoopback();
}

}  // namespace

class HttpParser::Core : public httplib::Server {
 public:
  Core(HttpParser::Handler handler, bool loopback_only) : handler_(std::move(handler)), loopback_only_(loopback_only) {
    // Before httplib would read a body or search its routes.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Handle(request, &response);
      return HandlerResponse::Handled;
    });
  }

  std::string Answer(const std::string& request) {
    const std::string without_ranges = WithoutRanges(request);
    MemoryStream stream(without_ranges);
    bool closed = false;
    process_request(stream, /*close_connection=*/true, closed, [](httplib::Request& parsed) {
      for (const char* ignored : {"Accept-Encoding", "Expect"}) parsed.headers.erase(ignored);
      parsed.ranges.clear();
    });
    return stream.TakeAnswer();
  }

 private:
  HttpResponse Handle(const httplib::Request& request) const {
    if (request.method != "GET" && request.method != "HEAD") {
      return {.status = 405, .body = "Only GET and HEAD are served\n", .headers = {{"Allow", "GET, HEAD"}}};
    }
    if (loopback_only_ && !IsLoopbackHost(request.get_header_value("Host"))) {
      return {.status = 403,
              .body =
                  "This server listens on a loopback address and answers requests for localhost alone, not for "
                  "other names\n"};
    }
    return handler_({.method = request.method, .path = request.path});
  }

  void Handle(const httplib::Request& request, httplib::Response* response) const {
    HttpResponse answer;
    try {
      answer = Handle(request);
    } catch (const std::exception& error) {
      answer = {.status = 500, .body = absl::StrCat("The request failed: ", error.what(), "\n")};
    }
    response->status = answer.status;
    for (const auto& [name, value] : answer.headers) response->set_header(name, value);
    response->set_header("Cache-Control", "no-store");
    response->set_header("X-Content-Type-Options", "nosniff");
    response->set_content(answer.body, answer.content_type);
  }

  const HttpParser::Handler handler_;
  const bool loopback_only_;
};

HttpParser::HttpParser(Handler handler, bool loopback_only)
    : core_(std::make_unique<Core>(std::move(handler), loopback_only)) {}

HttpParser::~HttpParser() = default;

std::string HttpParser::Answer(const std::string& request) const {
  try {
    return core_->Answer(request);
  } catch (const std::exception& error) {
    WEIR_LOG_EVERY(WARNING, absl::Seconds(10)) << "an HTTP request failed: " << error.what();
    return Format(500, "The request failed");
  }
}

std::string HttpParser::Format(int status, const std::string& text) {
  return absl::StrCat("HTTP/1.1 ", status, " ", ReasonOf(status),
                      "\r\nConnection: close\r\nContent-Length: ", text.size() + 1,
                      "\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n", text, "\n");
}

}  // namespace weir
