// Requests and answers of an HTTP server.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weir {

struct HttpRequest {
  std::string method;  // "GET" or "HEAD"
  std::string path;    // decoded, without the query
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

}  // namespace weir
