// HTTP requests of tests, byte by byte.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weir {

// A connection to a server on this machine; without a server nothing is sent and nothing comes.
class HttpTestConnection {
 public:
  explicit HttpTestConnection(const std::string& address);
  ~HttpTestConnection();
  HttpTestConnection(HttpTestConnection&& other) noexcept;

  // False if the peer has closed the connection.
  bool Send(absl::string_view bytes);
  // All that comes until the peer closes the connection, or until a minute has passed without a byte.
  std::string ReadAll();
  void Close();

 private:
  int socket_ = -1;
};

// The whole answer to a GET, with its headers.
std::string HttpGet(const std::string& address, const std::string& path);
// Of an answer: what follows its headers; its status, 0 if it is none.
std::string BodyOf(const std::string& answer);
int StatusOf(const std::string& answer);

}  // namespace weir
