// A web server of tests, which does what a script says: errors, resets, silence.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/mutex.h"

namespace weir {

// Listens on a port of 127.0.0.1 that the system chooses. Thread-safe; runs a thread for each connection.
class ScriptedServer {
 public:
  struct Request {
    std::string method, target;                  // "GET", "/a?b=c"
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };
  enum class Then {
    kGoOn,  // serve the next request of the connection
    kClose,
    kReset,   // so that the peer's next read fails
    kHang,    // neither answer nor close until the server ends
    kRepeat,  // send the bytes again and again, until the peer closes
  };
  struct Reply {
    std::string bytes;
    Then then = Then::kGoOn;
  };
  // Called for each request, by several threads.
  using Script = std::function<Reply(const Request&)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;

  std::string url() const;  // "http://127.0.0.1:PORT"
  // Those that came so far: "GET /a?b=c".
  std::vector<std::string> requests() const;

  // A reply with a Content-Length. `headers` are whole lines: "ETag: x\r\n".
  static std::string Text(int status, absl::string_view body, absl::string_view headers = "");

 private:
  void Accept();
  void Serve(int socket);

  const Script script_;
  int listener_ = -1;
  int port_ = 0;
  mutable Mutex mu_;
  bool stopped_ GUARDED_BY(mu_) = false;
  std::vector<int> sockets_ GUARDED_BY(mu_);
  std::vector<std::thread> threads_ GUARDED_BY(mu_);
  std::vector<std::string> requests_ GUARDED_BY(mu_);
  std::thread acceptor_;
};

}  // namespace weir
