#include "graph/placement/cluster_costs.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

constexpr double kKernelOverhead = 2e-6;

absl::StatusOr<double> ParsePositive(absl::string_view text, absl::string_view what) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || value <= 0) {
    return errors::InvalidArgument(what, " is a positive number, not \"", text, "\"");
  }
  return value;
}

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  static constexpr char kSuffixes[] = "kmgt";
  double scale = 1;
  absl::string_view digits = text;
  if (!text.empty()) {
    const char last = absl::ascii_tolower(static_cast<unsigned char>(text.back()));
    const char* const found = std::char_traits<char>::find(kSuffixes, 4, last);
    if (found != nullptr) {
      scale = std::pow(1024.0, static_cast<double>(found - kSuffixes + 1));
      digits.remove_suffix(1);
    }
  }
  ASSIGN_OR_RETURN(const double value, ParsePositive(digits, "memory"));
  if (value * scale > static_cast<double>(std::numeric_limits<int64_t>::max() / 2)) {
    return errors::InvalidArgument("memory is too large: \"", text, "\"");
  }
  return static_cast<int64_t>(value * scale);
}

// Of a device or a link, in its unit: times stay finite.
constexpr double kLeast = 1e-6, kMost = 1e12;

absl::Status ParseProperty(absl::string_view property, DeviceCosts* device) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(property, absl::MaxSplits(':', 1));
  const auto& [key, text] = parts;
  if (key == "memory") {
    ASSIGN_OR_RETURN(device->memory_bytes, ParseBytes(text));
    return absl::OkStatus();
  }
  if (key == "kernels") {
    if (absl::SimpleAtoi(text, &device->kernels_at_once) && device->kernels_at_once >= 1 &&
        device->kernels_at_once <= 1024) {
      return absl::OkStatus();
    }
    return errors::InvalidArgument("kernels is a number from 1 to 1024, not \"", text, "\"");
  }
  if (key != "gflops" && key != "gbs" && key != "overhead_us") {
    return errors::InvalidArgument("no property \"", key, "\"; there are gflops, gbs, memory, kernels and overhead_us");
  }
  ASSIGN_OR_RETURN(const double value, ParsePositive(text, key));
  if (value < kLeast || value > kMost) {
    return errors::InvalidArgument(key, " is between ", kLeast, " and ", kMost, ", not \"", text, "\"");
  }
  if (key == "gflops") device->flops_per_second = value * 1e9;
  if (key == "gbs") device->bytes_per_second = value * 1e9;
  if (key == "overhead_us") device->seconds_per_kernel = value * 1e-6;
  return absl::OkStatus();
}

absl::StatusOr<DeviceCosts> ParseDevice(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  DeviceCosts device{.seconds_per_kernel = kKernelOverhead};
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(absl::StripAsciiWhitespace(parts.first)));
  if (!name.replica) name.replica = 0;
  if (!name.IsFull()) {
    return errors::InvalidArgument("a device has a full name, such as /job:worker/task:0/device:CPU:0, not \"",
                                   parts.first, "\"");
  }
  device.name = name;
  for (absl::string_view property : absl::StrSplit(parts.second, ',', absl::SkipWhitespace())) {
    RETURN_IF_ERROR(ParseProperty(absl::StripAsciiWhitespace(property), &device));
  }
  if (device.flops_per_second == 0 || device.bytes_per_second == 0) {
    return errors::InvalidArgument("gflops and gbs are required");
  }
  return device;
}

}  // namespace

ClusterCosts::ClusterCosts(std::vector<DeviceCosts> devices)
    : devices_(std::move(devices)), links_(devices_.size() * devices_.size()) {}

int ClusterCosts::Find(const DeviceName& name) const {
  for (int i = 0; i < num_devices(); ++i) {
    if (devices_[i].name == name) return i;
  }
  return -1;
}

void ClusterCosts::set_links(TransferCost cost) {
  for (int from = 0; from < num_devices(); ++from) {
    for (int to = 0; to < num_devices(); ++to) {
      if (from != to) set_link(from, to, cost);
    }
  }
}

TransferCost ClusterCosts::MeanLink() const {
  TransferCost mean;
  const double pairs = num_devices() * (num_devices() - 1);
  for (size_t i = 0; i < links_.size() && pairs > 0; ++i) {
    mean.latency += links_[i].latency / pairs;
    mean.seconds_per_byte += links_[i].seconds_per_byte / pairs;
  }
  return mean;
}

std::vector<DeviceName> ClusterCosts::names() const {
  std::vector<DeviceName> names;
  for (const DeviceCosts& device : devices_) names.push_back(device.name);
  return names;
}

absl::StatusOr<std::vector<DeviceCosts>> ParseDeviceCosts(absl::string_view text) {
  std::vector<DeviceCosts> devices;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = line.substr(0, line.find('#'));
    for (absl::string_view entry : absl::StrSplit(line, ';', absl::SkipWhitespace())) {
      absl::StatusOr<DeviceCosts> device = ParseDevice(absl::StripAsciiWhitespace(entry));
      if (!device.ok()) {
        return Annotate(device.status(), absl::StrCat("devices: \"", absl::StripAsciiWhitespace(entry), "\""));
      }
      for (const DeviceCosts& other : devices) {
        if (other.name == device->name) {
          return errors::InvalidArgument("devices: ", device->name.ToString(), " is there twice");
        }
      }
      devices.push_back(*std::move(device));
    }
  }
  if (devices.empty()) return errors::InvalidArgument("devices: there is none");
  return devices;
}

absl::StatusOr<TransferCost> ParseTransferCost(absl::string_view text) {
  double latency_us = -1, gbs = -1;
  for (absl::string_view property : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(property, absl::MaxSplits('=', 1));
    const absl::string_view key = absl::StripAsciiWhitespace(parts.first);
    double* const value = key == "latency_us" ? &latency_us : key == "gbs" ? &gbs : nullptr;
    if (value == nullptr || !absl::SimpleAtod(parts.second, value) || !std::isfinite(*value) || *value < 0) {
      return errors::InvalidArgument("link: \"", property, "\" is neither latency_us=NUMBER nor gbs=NUMBER");
    }
  }
  if (latency_us < 0 || gbs <= 0) {
    return errors::InvalidArgument("link: \"", text, "\" lacks latency_us or gbs; for example latency_us=150,gbs=3");
  }
  if (gbs < kLeast || gbs > kMost || latency_us > kMost) {
    return errors::InvalidArgument("link: \"", text, "\" is not between ", kLeast, " and ", kMost);
  }
  return TransferCost{.latency = latency_us * 1e-6, .seconds_per_byte = 1e-9 / gbs};
}

}  // namespace weir
