"""Runs a TensorFlow program, whose source is not changed, on a Weir cluster: its sessions get the cluster's target.

Python imports this file first if its folder is on PYTHONPATH. scripts/scorecard sets:

  WEIR_TARGET         the sessions' target; without it the sessions stay in the process
  WEIR_SCORECARD_V1   1: `import tensorflow` is tensorflow.compat.v1, with tf_slim in the place of tf.contrib
  WEIR_SCORECARD_OLD  a folder whose modules `tensorflow` has besides its own, such as tensorflow.examples of an old version
  WEIR_SCORECARD_LOG  a file that gets, at the end, what the sessions did (JSON)
"""
import collections
import collections.abc
import importlib.abc
import importlib.util
import inspect
import os
import sys


class _Patcher(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module as others do, and calls `patch` once it is loaded."""

    def __init__(self, name, patch):
        self._name, self._patch, self._loader = name, patch, None

    def find_spec(self, fullname, path, target=None):
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._patch(module)


def _redirect_sessions(_):
    import scorecard_sessions  # beside this file

    scorecard_sessions.install()


def _take_any_file(module):
    """Data sets are those of make_data.py, whose checksums Keras does not know."""
    module.validate_file = lambda *_, **__: True


def _use_old_optimizers(module):
    """Keras's own of graph mode, under the names that they had before version 2.11."""
    vars(module).update({name: member for name, member in vars(module.legacy).items() if name[0] != "_"})


def _split_layers(module):
    """Modules of layers that Keras had."""
    for name in ("advanced_activations", "convolutional", "convolutional_recurrent", "core", "normalization", "recurrent"):
        sys.modules.setdefault("keras.layers." + name, module)


def _split_utilities(module):
    """A module of utilities that Keras had."""
    sys.modules.setdefault("keras.utils.generic_utils", module)


def _restore_old_python():
    """Names that Python 3 had when the programs were written."""
    for name in ("Callable", "Iterable", "Iterator", "Mapping", "MutableMapping", "Sequence", "Set"):
        setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(inspect, "getargspec"):
        inspect.getargspec = lambda function: inspect.getfullargspec(function)[:4]


if "WEIR_SCORECARD_LOG" in os.environ:
    _restore_old_python()
    sys.meta_path[:0] = [_Patcher("tensorflow", _redirect_sessions), _Patcher("keras.src.utils.data_utils", _take_any_file),
                         _Patcher("keras.optimizers", _use_old_optimizers), _Patcher("keras.layers", _split_layers),
                         _Patcher("keras.utils", _split_utilities)]
