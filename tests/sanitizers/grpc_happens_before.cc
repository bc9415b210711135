// Tells ThreadSanitizer what gRPC's completion queues order. The system's gRPC is not instrumented and has locks of its
// own, so that without this each value handed over through a queue looks like a race. Linked into the test programs of
// a ThreadSanitizer build: these definitions stand in front of the library's, and so must be visible to it.
#pragma GCC visibility push(default)
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <sanitizer/tsan_interface.h>

#include <cstdlib>

namespace {

template <typename Function>
Function* Original(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();  // another gRPC than the one this was written for
  return reinterpret_cast<Function*>(found);
}

// What a slice's memory belongs to: gRPC lets go of it on a thread of its own.
struct SliceOwner {
  void (*destroy)(void*);
  void* data;

  static void Destroy(void* self) {
    __tsan_acquire(self);
    const SliceOwner owner = *static_cast<SliceOwner*>(self);
    delete static_cast<SliceOwner*>(self);
    owner.destroy(owner.data);
  }
};

// Both ends of a call may be in this process. Which answer belongs to which request is not known here, so that a
// completion counts as after every message sent before it; races between such threads can go unseen.
char network;

grpc_event Acquired(grpc_event event) {
  if (event.type != GRPC_OP_COMPLETE) return event;
  __tsan_acquire(event.tag);
  __tsan_acquire(&network);
  return event;
}

}  // namespace

#define WEIR_ORIGINAL(name) static const auto original = Original<decltype(name)>(#name)

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t num_ops, void* tag, void* reserved) {
  WEIR_ORIGINAL(grpc_call_start_batch);
  __tsan_release(tag);
  __tsan_release(&network);
  return original(call, ops, num_ops, tag, reserved);
}

grpc_call_error grpc_server_request_call(grpc_server* server, grpc_call** call, grpc_call_details* details,
                                         grpc_metadata_array* metadata, grpc_completion_queue* bound_to_call,
                                         grpc_completion_queue* for_notification, void* tag) {
  WEIR_ORIGINAL(grpc_server_request_call);
  __tsan_release(tag);
  return original(server, call, details, metadata, bound_to_call, for_notification, tag);
}

grpc_call_error grpc_server_request_registered_call(grpc_server* server, void* method, grpc_call** call,
                                                    gpr_timespec* deadline, grpc_metadata_array* metadata,
                                                    grpc_byte_buffer** payload, grpc_completion_queue* bound_to_call,
                                                    grpc_completion_queue* for_notification, void* tag) {
  WEIR_ORIGINAL(grpc_server_request_registered_call);
  __tsan_release(tag);
  return original(server, method, call, deadline, metadata, payload, bound_to_call, for_notification, tag);
}

grpc_slice grpc_slice_new_with_user_data(void* bytes, size_t size, void (*destroy)(void*), void* data) {
  WEIR_ORIGINAL(grpc_slice_new_with_user_data);
  auto* const owner = new SliceOwner{destroy, data};
  __tsan_release(owner);
  return original(bytes, size, &SliceOwner::Destroy, owner);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  WEIR_ORIGINAL(grpc_completion_queue_next);
  return Acquired(original(queue, deadline, reserved));
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline, void* reserved) {
  WEIR_ORIGINAL(grpc_completion_queue_pluck);
  return Acquired(original(queue, tag, deadline, reserved));
}

}  // extern "C"
#pragma GCC visibility pop
