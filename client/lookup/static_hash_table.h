// Tables that map keys to values and never change: vocabularies, labels. Made of TensorFlow's ops, HashTableV2 and
// others.
#pragma once

#include <cstdint>
#include <string>

#include "client/ops/op_scope.h"
#include "client/scope.h"
#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

// A line of a text file gives the text of a column, numbered from 0, or one of these.
constexpr int64_t kLineNumber = -1;  // from 0; DT_INT64
constexpr int64_t kWholeLine = -2;

struct TextFileTableOptions {
  DataType key_dtype = DT_STRING;
  int64_t key_index = kWholeLine;
  DataType value_dtype = DT_INT64;
  int64_t value_index = kLineNumber;
  std::string delimiter = "\t";  // one byte
  int64_t vocab_size = -1;       // the file must have this many lines; -1: any number
};

// A table of a graph under construction. A value type; C++ copies refer to the same table. Graphs share a table on a
// task only if it is of the same columns of the same file, as in TensorFlow. It is on the scope's device
// and has its entries once its initializer has run there (InitializeTables). Training loops, estimators and loaded
// models see to that, also after the loss of a task.
class StaticHashTable {
 public:
  StaticHashTable() = default;
  // The lines of the file `path`, which the task with the table reads: by default each line is a key, and its number
  // the value. Errors of the file are the initializer's: NotFound, or InvalidArgument with the line. The file is an
  // asset of exported models.
  static StaticHashTable FromTextFile(const OpScope& scope, const std::string& path, const Input& default_value,
                                      const TextFileTableOptions& options = {});
  // Vectors of one length. An initializer with two different values for one key fails with FailedPrecondition.
  static StaticHashTable FromTensors(const OpScope& scope, const Input& keys, const Input& values,
                                     const Input& default_value);

  bool valid() const { return handle_.valid(); }
  Output handle() const { return handle_; }
  Operation initializer() const { return initializer_; }
  DataType value_dtype() const { return value_dtype_; }
  // The value of each key, in the shape of `keys`; the default value for keys that the table does not have.
  // FailedPrecondition in a step if the initializer has not run.
  Output Lookup(const OpScope& scope, const Input& keys) const;
  Output Size(const OpScope& scope) const;  // DT_INT64

 private:
  StaticHashTable(const Scope& inner, const std::string& shared_name, DataType keys, DataType values,
                  const Input& default_value);

  DataType value_dtype_ = DT_INVALID;
  Output handle_;
  Input default_value_ = 0;
  Operation initializer_;
};

// An op that fills all tables of the scope's graph: runs every InitializeTable op, also those that were not made here.
// Running it again changes nothing. Invalid if the graph has no such op.
Operation InitializeTables(const Scope& scope);

}  // namespace weir
