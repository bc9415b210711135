// A variable divided into parts on several devices.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "client/variables.h"
#include "core/api.h"

namespace WEIR_API weir {

// The number of parts along each axis of a variable; more than 1 for at most one axis. Like TensorFlow's partitioners.
using Partitioner = std::function<std::vector<int64_t>(const TensorShape& shape, DataType dtype)>;

namespace partitioners {

// `parts` parts along `axis`, limited by its length.
Partitioner FixedSize(int64_t parts, int axis = 0);
// Parts of at least `min_slice_bytes`, at most `max_parts` of them.
Partitioner MinMax(int64_t max_parts, int axis = 0, int64_t min_slice_bytes = 256 << 10);
// Parts of at most `max_part_bytes` if the axis allows it, at most `max_parts` of them (0: no limit).
Partitioner AxisSize(int64_t max_part_bytes, int axis = 0, int64_t max_parts = 0);

}  // namespace partitioners

// Assigns each variable to the task of `job` with the fewest bytes so far; without tasks, to the job.
class ByteBalancedDevices {
 public:
  ByteBalancedDevices(std::string job, int tasks) : job_(std::move(job)), bytes_(std::max(tasks, 0)) {}
  std::string Next(int64_t bytes);
  const std::vector<int64_t>& bytes() const { return bytes_; }

 private:
  const std::string job_;
  std::vector<int64_t> bytes_;  // by task
};

// A value type. Its parts are variables "name/part_0", … which optimizers update separately; if sizes do not divide
// evenly, the first parts have one row more. In checkpoints it is one tensor, "name", stored in slices like
// TensorFlow's, so it can be restored to another number of parts.
class PartitionedVariable {
 public:
  // `device_for` returns the device of a part of the given size; without it, all are on the scope's device.
  static PartitionedVariable Make(const Scope& scope, const TensorShape& shape, DataType dtype,
                                  const Initializer& initializer, const Partitioner& partitioner,
                                  const std::function<std::string(int64_t bytes)>& device_for = {},
                                  VariableOptions options = {});

  const TensorShape& shape() const { return shape_; }
  const std::vector<ResourceVariable>& parts() const { return parts_; }
  int axis() const { return axis_; }
  // Concatenates all parts to one tensor.
  Output value(const Scope& scope) const;
  // Gathers the rows `ids` (int32 or int64, any shape) from the parts in parallel; only for parts along axis 0.
  Output Lookup(const Scope& scope, const Output& ids) const;

 private:
  TensorShape shape_;
  int axis_ = 0;
  std::vector<int64_t> starts_;  // of the parts along the axis, and the end
  std::vector<ResourceVariable> parts_;
};

}  // namespace weir
