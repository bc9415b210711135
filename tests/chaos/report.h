// Rows of the table that the measures print.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir::chaos {

// Exit codes of the program.
enum class Verdict { kHeld = 0, kBroken = 1, kSkipped = 77 };

struct Row {
  std::string measure;  // "kill"
  std::string runs;     // "200 runs, 800 kills"
  std::string figure;   // "0 differ"
  std::string bound;    // "0"
  bool ok = false;
};

// Prints the row to the standard output.
Verdict Print(const Row& row);
// Prints a row that says why the measure cannot be made here.
Verdict Skip(const std::string& measure, const absl::Status& reason);
// Prints median, 99th percentile and longest of the pauses; the bound is for the percentile, and broken if there are
// none.
Verdict PrintPauses(const std::string& measure, std::vector<absl::Duration> pauses, absl::Duration bound);
// The worse of two.
Verdict Worse(Verdict a, Verdict b);
// Prints what a reader needs to find the cause of a broken bound, to the standard error.
void Explain(const std::string& text);

// Of at least one value.
absl::Duration Median(std::vector<absl::Duration> values);
absl::Duration Largest(const std::vector<absl::Duration>& values);
// "0.31 s".
std::string Seconds(absl::Duration duration);

}  // namespace weir::chaos
