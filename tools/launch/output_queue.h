// Output in order, without blocking on its reader.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

namespace weir {

// One queue for both standard output and standard error: often both are one terminal, where lines must not mix.
// Single-threaded.
class OutputQueue {
 public:
  // Above this limit, output is written before more is read from the tasks.
  static constexpr size_t kFull = 1 << 20;

  void Add(int fd, std::string text);
  bool empty() const { return pieces_.empty(); }
  bool full() const { return bytes_ >= kFull; }
  // The file to poll for POLLOUT; -1 if there is nothing to write.
  int fd() const { return pieces_.empty() ? -1 : pieces_.front().fd; }
  // Writes what fd(), which is ready, accepts without blocking. Returns 0 or the error; on error, output for that file
  // is dropped, now and later.
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
