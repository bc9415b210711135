// What is to be printed, in order, without ever waiting for whoever reads it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

namespace weir {

// One queue for both of standard output and standard error: they are often one terminal, where lines must not mix.
// For one thread.
class OutputQueue {
 public:
  // As much of it as the limit lets through comes before more is read from the tasks.
  static constexpr size_t kFull = 1 << 20;

  void Add(int fd, std::string text);
  bool empty() const { return pieces_.empty(); }
  bool full() const { return bytes_ >= kFull; }
  // To poll for POLLOUT; -1: nothing is to be written.
  int fd() const { return pieces_.empty() ? -1 : pieces_.front().fd; }
  // Writes what can be written at once, when fd() is ready. 0, or the error; what was for that file is dropped then, as
  // is all that comes for it later.
  int Write();

 private:
  struct Piece {
    int fd;
    std::string text;
    size_t written = 0;
  };
  void Drop(int fd);

  std::deque<Piece> pieces_;
  size_t bytes_ = 0;
  bool lost_[3] = {};  // by file: 1 and 2
};

}  // namespace weir
