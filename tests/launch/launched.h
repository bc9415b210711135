// A `weir launch` that a test has started.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace weir {

// Leads a process group of its own. Its orphans come to this process, so that none escapes notice; destruction kills
// what is left.
class Launched {
 public:
  struct Options {
    bool terminal = false;                         // its output is a terminal
    std::vector<int> ignored;                      // signals that it is started to ignore
    std::map<std::string, std::string> variables;  // besides those of this process
  };
  // What follows `weir launch`.
  explicit Launched(const std::vector<std::string>& arguments) : Launched(arguments, Options()) {}
  Launched(const std::vector<std::string>& arguments, const Options& options);
  ~Launched();
  Launched(const Launched&) = delete;

  pid_t pid() const { return pid_; }
  // The process behind it, that starts the tasks; -1: there is none.
  pid_t Inner() const;
  // Reads until `text` was written `count` times, on either output. False when the output ends first, or nothing comes.
  bool Await(const std::string& text, int count = 1);
  void Signal(int signal) const;
  void SignalGroup(int signal) const;
  // Nobody reads its output any more.
  void CloseOutput();
  // The status as a shell would show it, when all of its output is read; -1 when that does not come.
  int AwaitEnd();
  // As AwaitEnd, without reading.
  int AwaitEndUnread();
  // Whether all that it started is gone, or goes soon.
  static bool NothingIsLeft(absl::Duration patience = absl::Seconds(20));

  const std::string& text() const { return text_; }
  std::vector<std::string> Lines() const;

 private:
  bool ReadSome(absl::Time deadline);

  pid_t pid_ = -1;
  bool ended_ = false;
  int output_ = -1;
  std::string text_;
};

}  // namespace weir
