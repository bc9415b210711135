"""Calls of functions in the client's Python: tests/interop/py_func_test.py."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

elsewhere("PyFunc PyFuncStateless EagerPyFunc", "they run in the client's process: TensorFlow rejects them over grpc")
