// Checkpoints of TensorFlow 2 (tf.train.Checkpoint): variables in a graph of objects.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "client/variables.h"
#include "core/api.h"
#include "core/tensor/tensor.h"

namespace tensorflow {
class TrackableObjectGraph;
}

namespace WEIR_API weir {

class BundleReader;
class FileSystemRegistry;

struct ObjectVariable {
  std::string path;       // from the root object: "model/dense/kernel"; '.' in a name is "..", '/' is ".S"
  std::string full_name;  // the variable's own name, "dense/kernel"; may be empty
  std::string key;        // of the tensor in the file
  DataType dtype = DT_INVALID;
  TensorShape shape;
};

// Thread-safe. Blocks for I/O. The files are untrusted: inconsistent content is DataLoss.
class ObjectCheckpoint {
 public:
  // `prefix`: the files' name without ".index". NotFound if there is no such checkpoint; FailedPrecondition if it holds
  // variables by name only, as those of tf.compat.v1.train.Saver and weir::Saver.
  static absl::StatusOr<std::unique_ptr<ObjectCheckpoint>> Open(const std::string& prefix);
  ~ObjectCheckpoint();

  // Sorted by path.
  const std::vector<ObjectVariable>& variables() const { return variables_; }
  // `path` may be any path to the variable, not only the one that List returns. NotFound names the first object of the
  // path that does not exist.
  absl::StatusOr<ObjectVariable> Find(const std::string& path) const;
  // InvalidArgument if several variables have that name.
  absl::StatusOr<ObjectVariable> FindByName(const std::string& full_name) const;
  absl::StatusOr<Tensor> Read(const ObjectVariable& variable) const;

  const tensorflow::TrackableObjectGraph& objects() const { return *objects_; }
  const BundleReader& reader() const { return *reader_; }

 private:
  ObjectCheckpoint();
  absl::Status ReadObjects(const std::string& prefix);

  std::shared_ptr<FileSystemRegistry> files_;
  std::unique_ptr<BundleReader> reader_;
  std::unique_ptr<tensorflow::TrackableObjectGraph> objects_;
  std::vector<ObjectVariable> variables_;
};

// Saves and restores a graph's variables as objects. This process reads and writes the files, so tasks of a cluster
// need not share a file system with it; values pass through its memory. Thread-safe once built.
class ObjectSaver {
 public:
  using Variables = std::map<std::string, ResourceVariable>;  // by path

  // Adds ops to the scope's graph. Errors are recorded in the scope.
  ObjectSaver(const Scope& scope, Variables variables);

  enum class Match {
    kPath,  // by the paths given to the constructor
    kName,  // by the names of the variables
  };
  // Sets all variables. NotFound or InvalidArgument names a variable that the checkpoint lacks, or that has another
  // type or shape there; no variable has changed then.
  absl::Status Restore(Session& session, const std::string& prefix, Match match = Match::kPath) const;

  // Writes what tf.train.Checkpoint(...).restore reads: a tree of objects with the variables at their paths, and a
  // save_counter of 1, which restore expects. Nothing appears under `prefix` before all is written. No step may run,
  // unless values of different steps are acceptable.
  absl::Status Save(Session& session, const std::string& prefix) const;
  // Writes the objects and values of the checkpoint `like`, with the variables' present values in place of its own. For
  // a model of which this graph has only some objects. NotFound if `like` lacks one of the variables.
  absl::Status SaveLike(Session& session, const std::string& like, const std::string& prefix) const;

 private:
  struct Entry {
    std::string path;
    ResourceVariable variable;
    Output value;  // reads it
    Output fed;    // a placeholder
    Operation assign;
  };
  absl::StatusOr<std::vector<Tensor>> Values(Session& session) const;

  std::vector<Entry> entries_;
};

}  // namespace weir
