// The HTTP pages of a task: health, metrics, status.
#pragma once

#include <condition_variable>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/metrics/gauges.h"
#include "core/mutex.h"
#include "core/status.h"
#include "tools/http/http_message.h"
#include "tools/http/http_server.h"
#include "tools/watch/task_reporter.h"

namespace weir {

// Serves, at an address of its own:
//   /healthz              "ok", or 503 and the reason why the task does not serve
//   /metrics              Prometheus's text format
//   /                     a page for people, which reads the next
//   /status.json          the fields of TaskReport (protos/weir/status.proto)
//   /sessions/ID/graph    a session's graph in the text form
// Thread-safe. One thread asks the peers and remembers rates; the HTTP server has a few more. However many requests
// come, the task is polled only a few times a second.
class TaskWatch {
 public:
  // `reporter` outlives this. A loopback address, unless `insecure`: FailedPrecondition.
  static absl::StatusOr<std::unique_ptr<TaskWatch>> Start(const std::string& bind_address, bool insecure,
                                                          TaskReporter* reporter,
                                                          std::vector<std::shared_ptr<const GaugeSource>> gauges = {});
  ~TaskWatch();
  TaskWatch(const TaskWatch&) = delete;

  const std::string& address() const { return http_->address(); }

 private:
  // A text that is made again when it is asked for and too old.
  class CachedText {
   public:
    explicit CachedText(absl::Duration max_age) : max_age_(max_age) {}
    template <typename Make>
    std::string Get(Make&& make);

   private:
    const absl::Duration max_age_;
    Mutex mu_;
    std::string text_ GUARDED_BY(mu_);
    absl::Time made_ GUARDED_BY(mu_) = absl::InfinitePast();
  };

  TaskWatch(TaskReporter* reporter, std::vector<std::shared_ptr<const GaugeSource>> gauges)
      : reporter_(reporter), gauges_(std::move(gauges)) {}
  HttpResponse Answer(const HttpRequest& request);
  HttpResponse Health() const;
  HttpResponse Page() const;
  HttpResponse Graph(absl::string_view session) const;
  std::string Metrics() const;
  void Loop();

  TaskReporter* const reporter_;
  const std::vector<std::shared_ptr<const GaugeSource>> gauges_;
  CachedText metrics_{absl::Milliseconds(100)};
  CachedText status_{absl::Milliseconds(250)};
  HttpMetrics http_metrics_;
  std::unique_ptr<HttpServer> http_;
  Mutex mu_;
  std::condition_variable stop_;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir
