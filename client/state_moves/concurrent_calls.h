// Blocking calls to many tasks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace weir {

// Calls call(i) for each i below `count`, many at a time, and returns when all have returned. Fewer at a time if the
// system has no threads left.
template <typename Call>
void CallConcurrently(size_t count, Call call) {
  constexpr size_t kMostThreads = 64;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) call(i);
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min(count, kMostThreads)) threads.emplace_back(work);
  } catch (const std::system_error&) {  // this thread, and those that there are, make the calls
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weir
