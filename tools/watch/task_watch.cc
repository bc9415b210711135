#include "tools/watch/task_watch.h"

#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/random_bits.h"
#include "core/threads/compute_pool.h"
#include "distribute/cluster/address.h"
#include "tools/watch/metrics_text.h"
#include "tools/watch/process_metrics.h"
#include "tools/watch/report_json.h"

namespace weir {
namespace {

// Peers are asked this often; an answer may take PeerWatch::Options::timeout.
constexpr absl::Duration kInterval = absl::Seconds(2);
constexpr size_t kMaxGraphBytes = 8 << 20;

constexpr char kPage[] =
#include "tools/watch/status_page.inc"
    ;

HttpResponse NoPage(const std::string& path) {
  return {.status = 404,
          .body = absl::StrCat("There is no page ", path.substr(0, 200),
                               "; there are /, /healthz, /metrics, /status.json and /sessions/ID/graph\n")};
}

}  // namespace

template <typename Make>
std::string TaskWatch::CachedText::Get(Make&& make) {
  MutexLock lock(mu_);
  if (MonotonicNow() - made_ >= max_age_) {
    text_ = make();
    made_ = MonotonicNow();
  }
  return text_;
}

absl::StatusOr<std::unique_ptr<TaskWatch>> TaskWatch::Start(const std::string& bind_address, bool insecure,
                                                            TaskReporter* reporter,
                                                            std::vector<std::shared_ptr<const GaugeSource>> gauges) {
  ASSIGN_OR_RETURN(const Address address, Address::Parse(bind_address));
  if (!address.IsLoopback() && !insecure) {
    return errors::FailedPrecondition("The HTTP server is to listen on ", bind_address,
                                      ", which other machines can reach, without encryption or authentication: listen "
                                      "on 127.0.0.1, or allow it with --insecure on a network that you trust");
  }
  std::unique_ptr<TaskWatch> watch(new TaskWatch(reporter, std::move(gauges)));
  HttpServer::Options http{.bind_address = bind_address, .metrics = &watch->http_metrics_};
  http.handle = [raw = watch.get()](const HttpRequest& request) { return raw->Answer(request); };
  ASSIGN_OR_RETURN(watch->http_, HttpServer::Start(std::move(http)));
  reporter->SetHttpAddress(watch->address());
  reporter->MeasureStepTimes();
  try {
    watch->thread_ = std::thread([raw = watch.get()] { raw->Loop(); });
  } catch (const std::system_error& error) {
    return errors::ResourceExhausted("The HTTP server got no thread: ", error.what());
  }
  return watch;
}

TaskWatch::~TaskWatch() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (http_ != nullptr) http_->Stop();
}

void TaskWatch::Loop() {
  SetThreadName("weir-watch");
  while (true) {
    reporter_->peers().Ask();
    reporter_->Sample();
    const absl::Time next = MonotonicNow() + kInterval;
    MutexLock lock(mu_);
    while (!stopping_ && MonotonicNow() < next) lock.WaitUntil(stop_, ToSteady(next));
    if (stopping_) return;
  }
}

HttpResponse TaskWatch::Answer(const HttpRequest& request) {
  absl::string_view path = request.path;
  if (path == "/") return Page();
  if (path == "/healthz") return Health();
  if (path == "/metrics") {
    return {.body = metrics_.Get([this] { return Metrics(); }), .content_type = kMetricsContentType};
  }
  if (path == "/status.json") {
    return {.body = status_.Get([this] { return MessageToJson(reporter_->Report()) + "\n"; }),
            .content_type = "application/json"};
  }
  if (absl::ConsumePrefix(&path, "/sessions/") && absl::ConsumeSuffix(&path, "/graph")) return Graph(path);
  return NoPage(request.path);
}

HttpResponse TaskWatch::Health() const {
  const std::string reason = reporter_->WhyNotServing();
  if (reason.empty()) return {.body = "ok\n"};
  return {.status = 503, .body = reason + "\n"};
}

HttpResponse TaskWatch::Page() const {
  // Only the page's own script and styles run, whatever names nodes have.
  const std::string nonce = absl::StrFormat("%016x%016x", RandomBits(), RandomBits());
  return {
      .body = absl::StrReplaceAll(kPage, {{"__NONCE__", nonce}}),
      .content_type = "text/html; charset=utf-8",
      .headers = {{"Content-Security-Policy",
                   absl::StrCat("default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action "
                                "'none'; frame-ancestors 'none'; script-src 'nonce-",
                                nonce, "'; style-src 'nonce-", nonce, "'")},
                  {"Referrer-Policy", "no-referrer"}}};
}

HttpResponse TaskWatch::Graph(absl::string_view session) const {
  int64_t number = 0;
  if (!absl::SimpleAtoi(session, &number)) return NoPage(absl::StrCat("/sessions/", session, "/graph"));
  absl::StatusOr<std::string> text = reporter_->GraphText(number);
  if (!text.ok()) {
    return {.status = absl::IsNotFound(text.status()) ? 404 : 503, .body = absl::StrCat(text.status().message(), "\n")};
  }
  if (text->size() > kMaxGraphBytes) {
    text->resize(text->rfind('\n', kMaxGraphBytes) + 1);
    text->append("# the rest is left out\n");
  }
  return {.body = *std::move(text)};
}

std::string TaskWatch::Metrics() const {
  std::vector<GaugeSample> samples;
  for (const auto& source : gauges_) source->Collect(&samples);
  return MetricsText({.report = reporter_->Counts(),
                      .master_steps = reporter_->master_steps(),
                      .worker_steps = reporter_->worker_steps(),
                      .process = ReadProcessMetrics(),
                      .http_answered = http_metrics_.answered.value(),
                      .http_dropped = http_metrics_.dropped.value(),
                      .gauges = std::move(samples)});
}

}  // namespace weir
