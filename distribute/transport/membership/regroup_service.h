// weir.RegroupService of a task: what its worker says of itself, for the workers that it trains with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/transport/grpc_server.h"
#include "weir/regroup.pb.h"

namespace weir {

inline constexpr char kPutNoteMethod[] = "/weir.RegroupService/PutNote";
inline constexpr char kGetNoteMethod[] = "/weir.RegroupService/GetNote";

// Keeps the last note of each training. Outlives the server that has its methods. Thread-safe.
class RegroupService {
 public:
  static constexpr size_t kMaxTrainings = 64;
  static constexpr size_t kMaxNoteBytes = 1 << 20;

  std::vector<ServerMethod> Methods();

 private:
  struct Kept {
    TrainingNote note;
    absl::Time put;
  };
  // RESOURCE_EXHAUSTED for too large a note. Of too many trainings the one that is silent for longest is dropped.
  absl::Status Put(const PutNoteRequest& request);
  absl::Status Get(const GetNoteRequest& request, GetNoteResponse* response);

  Mutex mu_;
  std::map<std::string, Kept> notes_ GUARDED_BY(mu_);
};

}  // namespace weir
