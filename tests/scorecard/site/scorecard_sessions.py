"""Patches TensorFlow's Session for sitecustomize.py."""
import atexit
import json
import os
import sys
import types

_record = {"sessions": 0, "steps": 0, "failed_steps": 0, "nodes": 0, "ops": [], "error": ""}


def _config_on(target, config):
    """With the functions of this process, and variables of the session's own, as a session in the process has."""
    import weir

    config = weir.enable_py_func(target, config)
    config.isolate_session_state = True
    return config


def install():
    """Redirects the sessions of this process, and records what they do."""
    from tensorflow.python.client import session

    target = os.environ.get("WEIR_TARGET")
    graphs = []
    construct = session.BaseSession.__init__

    def redirected(self, target_="", graph=None, config=None):
        if target and not target_:
            target_, config = target, _config_on(target, config)
        _record["sessions"] += 1
        construct(self, target_, graph=graph, config=config)
        graphs.append(self.graph)

    def counted(method):
        def call(self, *arguments, **more):
            _record["steps"] += 1
            try:
                return method(self, *arguments, **more)
            except Exception as error:
                if type(error).__name__ != "OutOfRangeError":  # the end of a dataset
                    _record["failed_steps"] += 1
                    _record["error"] = _record["error"] or "%s: %s" % (type(error).__name__, str(error)[:600])
                raise

        return call

    session.BaseSession.__init__ = redirected
    session.BaseSession._call_tf_sessionrun = counted(session.BaseSession._call_tf_sessionrun)
    session.BaseSession._Callable.__call__ = counted(session.BaseSession._Callable.__call__)
    atexit.register(_write, graphs)
    _restore_removed_names()
    if os.environ.get("WEIR_SCORECARD_V1") == "1":
        _use_version_1()


def _write(graphs):
    seen = set()
    for graph in graphs:
        if id(graph) not in seen:
            seen.add(id(graph))
            definition = graph.as_graph_def(add_shapes=False)
            nodes = list(definition.node) + [node for function in definition.library.function for node in function.node_def]
            _record["nodes"] += len(nodes)
            _record["ops"] = sorted(set(_record["ops"]) | {node.op for node in nodes})
    with open(os.environ["WEIR_SCORECARD_LOG"], "w", encoding="utf-8") as log:
        json.dump(_record, log)


def _module(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    module.__path__ = []
    sys.modules[name] = module
    return module


def _restore_removed_names():
    """Restores names that TensorFlow's modules had when the programs were written."""
    from tensorflow.python.framework import ops, tensor_conversion_registry
    from tensorflow.python.util import nest

    nest.is_sequence = nest.is_nested
    ops.register_tensor_conversion_function = tensor_conversion_registry.register_tensor_conversion_function


def _use_version_1():
    """Provides tensorflow.compat.v1, which TensorFlow's migration guide recommends, under the old name."""
    import tensorflow.compat.v1 as v1

    real = sys.modules["tensorflow"]
    v1.disable_v2_behavior()
    v1.__path__ = list(real.__path__) + list(v1.__path__) + os.environ.get("WEIR_SCORECARD_OLD", "").split(os.pathsep)
    v1.__version__ = "1.15.0"
    sys.modules["tensorflow"] = v1
    try:
        import tf_slim
    except ImportError:
        return
    v1.contrib = _module(
        "tensorflow.contrib", slim=tf_slim,
        layers=_module("tensorflow.contrib.layers", **vars(tf_slim.layers), **{
            "xavier_initializer": v1.glorot_uniform_initializer, "l2_regularizer": tf_slim.l2_regularizer}),
        framework=_module("tensorflow.contrib.framework", arg_scope=tf_slim.arg_scope, nest=v1.nest),
        rnn=_module("tensorflow.contrib.rnn", **{name: member for name, member in vars(v1.nn.rnn_cell).items() if name[0] != "_"},
                    static_rnn=v1.nn.static_rnn))
