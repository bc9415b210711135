"""Serves this process's Python functions (tf.py_func and its kin) to sessions on a Weir cluster.

    config = weir.enable_py_func(target)
    session = tf.compat.v1.Session(target, config=config)

A stream from this process to the task at `target` carries the calls: the cluster connects to nothing.
"""

import atexit
import os
import queue
import secrets
import threading
import traceback
from typing import Any, Callable, Dict, Iterable, Optional

__all__ = ["enable_py_func"]

_OPTIMIZER = b"PythonFunctions"
_CONNECT_SECONDS = 20
# A task that answers no ping is considered lost, and the stream is opened again. Without pings a client that only listens
# does not notice that the task's machine has vanished.
_PING_MILLISECONDS, _PONG_MILLISECONDS = 20_000, 20_000
_RECONNECT_SECONDS = (0.05, 2.0)
# Canonical status codes.
_UNKNOWN, _INVALID_ARGUMENT, _RESOURCE_EXHAUSTED, _OUT_OF_RANGE, _UNIMPLEMENTED = 2, 3, 8, 11, 12
_MAX_TEXT = 1 << 16  # characters of an exception
_MESSAGES = """
ServePythonRequest: 1 service string
ServePythonResponse: 1 task string
PythonCallId: 1 id uint64
PythonCall: 1 id uint64, 2 token bytes, 3 eager bool, 4 input tensors
PythonResult: 1 id uint64, 2 code int32, 3 message string, 4 output tensors
"""


def enable_py_func(target: str, config: Any = None, timeout: float = 600) -> Any:
    """A config for sessions on `target` whose graphs call functions of this process: tf.py_func, tf.numpy_function,
    tf.py_function, Dataset.from_generator.

    The functions run in threads of this process, which must live as long as the sessions. Other processes that use the
    config call the functions of this one.

    Args:
      target: the sessions' target, "grpc://host:port".
      config: a tf.compat.v1.ConfigProto, which is copied; None: an empty one.
      timeout: seconds that one call of a function may take.

    Raises:
      ConnectionError: the task is not reached, or does not know such functions.
      ValueError: the target has another form.
    """
    import tensorflow as tf  # pylint: disable=import-outside-toplevel  # not needed for weir.launch

    service = _service_of(target)
    result = tf.compat.v1.ConfigProto()
    if config is not None:
        result.CopyFrom(config)
    optimizers = result.graph_options.rewrite_options.custom_optimizers
    others = [optimizer for optimizer in optimizers if optimizer.name != _OPTIMIZER.decode()]
    del optimizers[:]
    optimizers.extend(others)
    parameters = optimizers.add(name=_OPTIMIZER.decode()).parameter_map
    parameters["service"].s = service.secret.encode()
    parameters["task"].s = service.task.encode()
    parameters["timeout_in_ms"].i = max(1, int(timeout * 1000))
    return result


_services: Dict[str, "_Service"] = {}
_services_lock = threading.Lock()


def _service_of(target: str) -> "_Service":
    """This process's connection to the task at `target`."""
    if not target.startswith("grpc://"):
        raise ValueError(f"the target of a Weir cluster is grpc://host:port, not {target!r}")
    with _services_lock:
        service = _services.get(target)
        is_new = service is None
        if is_new:
            service = _services[target] = _Service(target)
    try:
        service.await_connected(_CONNECT_SECONDS)
    except BaseException:
        # Sessions use a service that was connected once, and an older one belongs to another call.
        if is_new and service.close_unused():
            with _services_lock:
                if _services.get(target) is service:
                    del _services[target]
        raise
    return service


def disconnect(targets: Iterable[str]) -> None:
    """Ends the connections to tasks that have stopped; otherwise they would be tried again until the process ends."""
    with _services_lock:
        ended = [_services.pop(target) for target in targets if target in _services]
    for service in ended:
        service.close()


def _forget_services() -> None:
    """In a forked child, which has neither the threads nor the connections."""
    global _services, _services_lock  # pylint: disable=global-statement
    _services, _services_lock = {}, threading.Lock()


os.register_at_fork(after_in_child=_forget_services)


class _Threads:
    """Runs each piece of work at once, on a thread that is idle or new. Functions may wait for each other."""

    def __init__(self):
        self._work: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def run(self, work: Callable[[], None]) -> None:
        with self._lock:
            is_new = self._idle == 0
            if not is_new:
                self._idle -= 1
        if is_new:
            threading.Thread(target=self._serve, args=(work,), name="weir-py-func", daemon=True).start()
        else:
            self._work.put(work)

    def _serve(self, work: Callable[[], None]) -> None:
        while True:
            work()
            with self._lock:
                self._idle += 1
            work = self._work.get()


class _Service:
    """A stream to one task, opened anew whenever it breaks."""

    def __init__(self, target: str):
        self.secret = secrets.token_hex(16)
        self.task = ""
        self._target = target
        self._owner = os.getpid()
        self._types = _message_types()
        self._threads = _Threads()
        self._changed = threading.Condition()
        self._connected = self._was_connected = self._closed = False
        self._error: Optional[Exception] = None
        self._call: Any = None
        atexit.register(self.close)
        threading.Thread(target=self._keep_connected, name="weir-py-func-stream", daemon=True).start()

    def await_connected(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._connected or self._closed or self._is_hopeless(), seconds)
            if not self._connected:
                raise ConnectionError(f"{self._target} does not take Python functions: {self._words()}")

    def close_unused(self) -> bool:
        """Closes a service that was never connected; returns whether it was so."""
        with self._changed:
            if self._was_connected:
                return False
            self.close()
            return True

    def close(self) -> None:
        if os.getpid() != self._owner:  # a forked child: the connection is its parent's
            return
        atexit.unregister(self.close)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            if self._call is not None:
                self._call.cancel()

    def _is_hopeless(self) -> bool:
        """Whether the task does not know this service, and so will not."""
        code = getattr(self._error, "code", None)
        return code is not None and code().name in ("UNIMPLEMENTED", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")

    def _words(self) -> str:
        if self._error is None:
            return "no answer"
        details = getattr(self._error, "details", None)
        return f"{self._error.code().name}: {details()}" if details is not None else repr(self._error)

    def _keep_connected(self) -> None:
        import grpc  # pylint: disable=import-outside-toplevel  # TensorFlow brings it

        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
                   ("grpc.enable_http_proxy", 0), ("grpc.keepalive_time_ms", _PING_MILLISECONDS),
                   ("grpc.keepalive_timeout_ms", _PONG_MILLISECONDS), ("grpc.http2.ping_timeout_ms", _PONG_MILLISECONDS),
                   ("grpc.http2.max_pings_without_data", 0)]
        pause = _RECONNECT_SECONDS[0]
        with grpc.insecure_channel(self._target[len("grpc://"):], options=options) as channel:
            open_stream = channel.stream_stream(
                "/weir.PythonService/Serve", request_serializer=lambda data: data, response_deserializer=lambda data: data)
            while True:
                to_send: queue.SimpleQueue = queue.SimpleQueue()
                to_send.put(self._types["ServePythonRequest"](service=self.secret).SerializeToString())
                with self._changed:
                    if self._closed:
                        return
                    self._call = open_stream(iter(to_send.get, None))
                error: Optional[Exception] = None
                try:
                    self._serve(self._call, to_send)
                except Exception as broken:  # pylint: disable=broad-except  # whatever it is, the next stream may work
                    error = broken
                    self._call.cancel()
                to_send.put(None)
                with self._changed:
                    pause = _RECONNECT_SECONDS[0] if self._connected else min(2 * pause, _RECONNECT_SECONDS[1])
                    self._connected, self._error = False, error
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._closed, pause)

    def _serve(self, stream: Any, to_send: "queue.SimpleQueue") -> None:
        greeting = next(stream)
        task = self._types["ServePythonResponse"].FromString(greeting).task
        with self._changed:
            self.task, self._error = task, None
            self._connected = self._was_connected = True
            self._changed.notify_all()
        for data in stream:
            self._threads.run(lambda data=data: self._reply(stream, to_send, data))

    def _reply(self, stream: Any, to_send: "queue.SimpleQueue", data: bytes) -> None:
        try:
            to_send.put(self._answer(data))
        except BaseException:
            stream.cancel()  # so that the task does not wait for this answer
            raise

    def _answer(self, data: bytes) -> bytes:
        """The PythonResult of a PythonCall."""
        call_id = self._types["PythonCallId"].FromString(data).id
        make_result = self._types["PythonResult"]
        try:
            call = self._types["PythonCall"].FromString(data)
            token = call.token.decode(errors="backslashreplace")
            result = make_result(id=call_id)
            for value in _run(token, call.eager, call.input):
                result.output.add().CopyFrom(value)
            if result.ByteSize() >= 2**31:
                raise ValueError(f"{token} returned {result.ByteSize()} bytes; a message has less than 2 GiB")
            return result.SerializeToString()
        except BaseException as error:  # pylint: disable=broad-except  # it belongs to the step
            try:
                return make_result(id=call_id, code=_code_of(error), message=_text_of(error)).SerializeToString()
            except Exception:  # pylint: disable=broad-except  # of the exception's own methods
                return make_result(id=call_id, code=_UNKNOWN, message="An exception that has no text").SerializeToString()


def _run(token: str, eager: bool, inputs: Any) -> list:
    """Calls a function of TensorFlow's registry as TensorFlow's own runtime does; returns TensorProtos."""
    import tensorflow as tf  # pylint: disable=import-outside-toplevel
    from tensorflow.python.eager import context  # pylint: disable=import-outside-toplevel
    from tensorflow.python.ops import script_ops  # pylint: disable=import-outside-toplevel

    registry = script_ops._py_funcs  # pylint: disable=protected-access
    arrays = [tf.make_ndarray(value) for value in inputs]
    if not eager:
        # TensorFlow passes scalars as scalars.
        results = registry(token, None, [array[()] if array.ndim == 0 else array for array in arrays])
        if not isinstance(results, list):
            results = [] if results.dtype == object and results.shape == () and results[()] is None else [results]
        return [tf.make_tensor_proto(value) for value in results]
    with context.eager_mode():
        tensors = [tf.constant(array, dtype=tf.as_dtype(value.dtype)) for array, value in zip(arrays, inputs)]
        results = registry(token, None, tensors)
        if results is None:
            return []
        if not isinstance(results, (list, tuple)):
            results = [results]
        return [tf.make_tensor_proto(value.numpy(), dtype=value.dtype, shape=value.shape) for value in results]


def _code_of(error: BaseException) -> int:
    """The status code that TensorFlow's runtime gives to an exception of a function."""
    code = getattr(error, "error_code", None)  # of tf.errors
    if isinstance(code, int) and 0 < code <= 16:
        return code
    for kind, code in ((StopIteration, _OUT_OF_RANGE), (NotImplementedError, _UNIMPLEMENTED),
                       (MemoryError, _RESOURCE_EXHAUSTED), ((ValueError, TypeError), _INVALID_ARGUMENT)):
        if isinstance(error, kind):
            return code
    return _UNKNOWN


def _text_of(error: BaseException) -> str:
    """The traceback's last line, then the traceback; valid UTF-8, and cut if it is very long."""
    last = "".join(traceback.format_exception_only(type(error), error)).strip()
    text = last + "\n" + "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return text[:_MAX_TEXT].encode("utf-8", "backslashreplace").decode()


def _message_types() -> Dict[str, Any]:
    """The messages of protos/weir/python.proto, as far as a client needs them."""
    # pylint: disable=import-outside-toplevel
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from tensorflow.core.framework import tensor_pb2  # the proto that the file imports

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="weir/python.proto", package="weir", syntax="proto3",
                                              dependency=[tensor_pb2.DESCRIPTOR.name])
    for line in _MESSAGES.strip().splitlines():
        name, fields = line.split(": ")
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            number, label, kind = text.split()
            added = message.field.add(name=label, number=int(number), label=field.LABEL_OPTIONAL)
            if kind == "tensors":
                added.label, added.type, added.type_name = field.LABEL_REPEATED, field.TYPE_MESSAGE, ".tensorflow.TensorProto"
            else:
                added.type = getattr(field, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.Default()
    try:
        pool.FindFileByName(file.name)
    except KeyError:
        pool.AddSerializedFile(file.SerializeToString())
    found = {message.name: pool.FindMessageTypeByName(f"weir.{message.name}") for message in file.message_type}
    if hasattr(message_factory, "GetMessageClass"):
        return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in found.items()}
    return {name: message_factory.MessageFactory(pool).GetPrototype(descriptor) for name, descriptor in found.items()}
