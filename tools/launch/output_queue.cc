#include "tools/launch/output_queue.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weir {
namespace {

constexpr size_t kPieceBytes = 16 << 10;

}  // namespace

void OutputQueue::Add(int fd, std::string text) {
  if (lost_[fd] || text.empty()) return;
  bytes_ += text.size();
  if (!pieces_.empty() && pieces_.back().fd == fd && pieces_.back().text.size() < kPieceBytes) {
    pieces_.back().text += text;
    return;
  }
  pieces_.push_back({fd, std::move(text)});
}

int OutputQueue::Write() {
  if (pieces_.empty()) return 0;
  Piece& piece = pieces_.front();
  // A pipe that is ready accepts this much without blocking.
  const size_t size = std::min<size_t>(PIPE_BUF, piece.text.size() - piece.written);
  const ssize_t written = write(piece.fd, piece.text.data() + piece.written, size);
  if (written < 0) {
    const int error = errno;
    if (error == EAGAIN || error == EINTR) return 0;
    Drop(piece.fd);
    return error;
  }
  piece.written += written;
  bytes_ -= written;
  if (piece.written == piece.text.size()) pieces_.pop_front();
  return 0;
}

void OutputQueue::Drop(int fd) {
  lost_[fd] = true;
  std::erase_if(pieces_, [fd](const Piece& piece) { return piece.fd == fd; });
  bytes_ = 0;
  for (const Piece& piece : pieces_) bytes_ += piece.text.size() - piece.written;
}

}  // namespace weir
