#include "tests/chaos/report.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"

namespace weir::chaos {

namespace {

void PrintLine(const Row& row, const char* verdict) {
  absl::PrintF("%-16s | %-60s | %-60s | %-16s | %s\n", row.measure, row.runs, row.figure, row.bound, verdict);
  std::fflush(stdout);
}

}  // namespace

Verdict Print(const Row& row) {
  PrintLine(row, row.ok ? "ok" : "BROKEN");
  return row.ok ? Verdict::kHeld : Verdict::kBroken;
}

Verdict Skip(const std::string& measure, const absl::Status& reason) {
  PrintLine({.measure = measure, .runs = "skipped", .figure = std::string(reason.message())}, "skipped");
  return Verdict::kSkipped;
}

Verdict PrintPauses(const std::string& measure, std::vector<absl::Duration> pauses, absl::Duration bound) {
  if (pauses.empty()) pauses.push_back(absl::InfiniteDuration());
  std::sort(pauses.begin(), pauses.end());
  const absl::Duration p99 = pauses[(pauses.size() - 1) * 99 / 100];
  return Print({.measure = measure,
                .runs = absl::StrCat(pauses.size(), " times"),
                .figure = absl::StrCat("median ", Seconds(Median(pauses)), ", p99 ", Seconds(p99), ", longest ",
                                       Seconds(pauses.back())),
                .bound = absl::StrCat("p99 ", Seconds(bound)),
                .ok = p99 <= bound});
}

Verdict Worse(Verdict a, Verdict b) {
  if (a == Verdict::kBroken || b == Verdict::kBroken) return Verdict::kBroken;
  return a == Verdict::kHeld ? a : b;
}

void Explain(const std::string& text) {
  absl::FPrintF(stderr, "chaos: %s\n", text);
  std::fflush(stderr);
}

absl::Duration Median(std::vector<absl::Duration> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

absl::Duration Largest(const std::vector<absl::Duration>& values) {
  return *std::max_element(values.begin(), values.end());
}

std::string Seconds(absl::Duration duration) { return absl::StrFormat("%.2f s", absl::ToDoubleSeconds(duration)); }

}  // namespace weir::chaos
