// Turns the bytes of a request into those of its answer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tools/http/http_message.h"

namespace weir {

// Reads requests and writes answers with cpp-httplib, without a socket. Thread-safe.
// - Every answer ends its connection, so a request's body is never read.
// - Methods other than GET and HEAD get 405, a request that cannot be read 400. Compression and ranges are ignored.
class HttpParser {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // If `loopback_only`, requests for the names of other hosts get 403: pages of other sites must not read answers by
  // giving their own name this machine's address.
  HttpParser(Handler handler, bool loopback_only);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;

  // `request` ends with the empty line behind its headers. Never throws.
  std::string Answer(const std::string& request) const;
  // An answer without a request.
  static std::string Format(int status, const std::string& text);

 private:
  class Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace weir
