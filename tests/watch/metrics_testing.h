// A server's metrics and report, as tests read them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "weir/status.pb.h"

namespace weir {

// The value of a sample in Prometheus's text, "weir_peer_up{task=\"…\"}"; nullopt: it is not there.
std::optional<double> SampleOf(const std::string& metrics, const std::string& sample);

// Of the task that serves gRPC at this address. The test fails if there is none.
TaskReport ReportOf(const std::string& grpc_address);

// Looks again and again; false if it is not so within two minutes.
bool Eventually(const std::function<bool()>& is_so);

}  // namespace weir
