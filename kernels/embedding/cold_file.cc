#include "kernels/embedding/cold_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weir {
namespace {

// Ranges with a gap of up to a page between them are read as one, of up to this size.
constexpr int64_t kGap = 4 << 10, kMostAtOnce = 256 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<ColdFile>> ColdFile::Create(const std::string& folder, const std::string& table,
                                                           int64_t block_bytes) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return errors::FailedPrecondition("The folder ", folder, " for rows of embedding table ", table,
                                      " cannot be made: ", std::strerror(errno));
  }
  std::string path = folder + "/weir-embedding-XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    return errors::FailedPrecondition("A file for rows of embedding table ", table, " cannot be made in ", folder, ": ",
                                      std::strerror(errno));
  }
  unlink(path.c_str());
  // Not make_unique: the constructor is private.
  return std::unique_ptr<ColdFile>(new ColdFile(fd, std::move(path), table, block_bytes));
}

ColdFile::~ColdFile() { close(fd_); }

absl::Status ColdFile::Error(const char* what, int64_t position, int error) const {
  const std::string text =
      absl::StrCat("Rows of embedding table ", table_, " cannot be ", what, " at byte ", position, " of ", path_,
                   " (an unlinked file): ", error == 0 ? "it ends there" : std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return errors::ResourceExhausted(text, ". Free space there, or raise memory_limit_bytes");
  }
  return errors::DataLoss(text);
}

absl::Status ColdFile::Damaged(int64_t block, int64_t offset) const {
  return errors::DataLoss("A row of embedding table ", table_, " at byte ", block * block_bytes_ + offset, " of ",
                          path_, " (an unlinked file) is damaged: restore the table from a checkpoint");
}

absl::StatusOr<int64_t> ColdFile::Write(absl::Span<const char> bytes) {
  int64_t block;
  {
    MutexLock lock(mu_);
    if (free_.empty()) {
      block = blocks_++;
    } else {
      block = free_.back();
      free_.pop_back();
    }
  }
  int64_t position = block * block_bytes_;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = pwrite(fd_, bytes.data() + done, bytes.size() - done, position);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      Free(block);
      return Error("written", position, error);
    }
    done += static_cast<size_t>(n);
    position += n;
  }
  bytes_written_.fetch_add(static_cast<int64_t>(bytes.size()), std::memory_order_relaxed);
  return block;
}

void ColdFile::Free(int64_t block) {
  MutexLock lock(mu_);
  free_.push_back(block);
  if (static_cast<int64_t>(free_.size()) < blocks_) return;
  // None is in use: the disk gets its space back. Where that fails, the blocks are only used again.
  if (ftruncate(fd_, 0) == 0) {
    blocks_ = 0;
    free_ = {};
  }
}

int64_t ColdFile::bytes() const {
  MutexLock lock(mu_);
  return blocks_ * block_bytes_;
}

absl::Status ColdFile::ReadAt(int64_t position, int64_t size, char* to) const {
  for (int64_t done = 0; done < size;) {
    const ssize_t n = pread(fd_, to + done, size - done, position + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error("read", position + done, n < 0 ? errno : 0);
    done += n;
  }
  bytes_read_.fetch_add(size, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status ColdFile::Read(absl::Span<Range> ranges) const {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.block != b.block ? a.block < b.block : a.offset < b.offset;
  });
  struct Run {
    size_t begin, end;  // of the ranges
    int64_t position, size;
  };
  std::vector<Run> runs;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int64_t position = Position(ranges[i]), end = position + ranges[i].size;
    if (!runs.empty() && position <= runs.back().position + runs.back().size + kGap &&
        end - runs.back().position <= kMostAtOnce) {
      runs.back().end = i + 1;
      runs.back().size = std::max(runs.back().size, end - runs.back().position);
    } else {
      runs.push_back({i, i + 1, position, ranges[i].size});
    }
  }
  // Starts reads of all without waiting; where the system does not, those below do.
  for (size_t i = 1; i < runs.size(); ++i) {
    posix_fadvise(fd_, runs[i].position, runs[i].size, POSIX_FADV_WILLNEED);
  }
  std::vector<char> buffer;
  for (const Run& run : runs) {
    if (run.end == run.begin + 1) {
      RETURN_IF_ERROR(ReadAt(run.position, run.size, ranges[run.begin].to));
      continue;
    }
    buffer.resize(run.size);
    RETURN_IF_ERROR(ReadAt(run.position, run.size, buffer.data()));
    for (size_t i = run.begin; i < run.end; ++i) {
      std::memcpy(ranges[i].to, buffer.data() + (Position(ranges[i]) - run.position), ranges[i].size);
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
