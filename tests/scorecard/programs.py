"""The programs of scripts/scorecard, and its page."""
import dataclasses
from typing import Dict, List

# The last TensorFlow with tf.estimator and Keras 2, in which most of these programs can run at all.
PACKAGES = ["tensorflow-cpu==2.15.1", "numpy==1.23.5", "scipy==1.10.1", "matplotlib==3.7.5", "pandas==1.5.3", "pillow==9.5.0",
            "scikit-learn==1.2.2", "pytest==9.2.0", "pyyaml", "msgpack", "pyzmq", "psutil", "mock", "future", "tqdm",
            "decorator", "multipledispatch", "tabulate"]
PACKAGES_WITHOUT_DEPENDENCIES = ["tf-slim==1.1.0", "gin-config==0.5.0", "msgpack-numpy==0.4.8"]


@dataclasses.dataclass
class Program:
    """One program, and how it is run."""

    name: str
    source: str  # for the page
    command: List[str]  # arguments of Python; "@": a path in the package
    package: str  # of the index
    path: str = ""  # within the package, of its modules
    version_1: bool = True  # written for `import tensorflow` to be TensorFlow 1
    data: str = ""  # of make_data.py
    seconds: int = 30  # after which it has run long enough
    measure: str = r"loss: ([\d.e+-]+)"  # a pattern of the number that measures its training
    rises: bool = False  # whether that grows
    is_test_suite: bool = False  # errors of steps are part of it
    variables: Dict[str, str] = dataclasses.field(default_factory=dict)


def keras(name, **more):
    return Program(name=f"Keras, {name}", source=f"examples/{name}.py", package="Keras==2.3.1", path="nothing",
                   command=[f"@examples/{name}.py"], **more)


def tensorflow(name, *arguments, **more):
    return Program(name=f"TensorFlow, {name}", source=f"python/debug/examples/{name}.py", package="tensorflow==1.15.5",
                   command=[f"@tensorflow_core/python/debug/examples/{name}.py", *arguments], path="nothing", **more)


def suite(name, package, *files, version_1=True, **more):
    return Program(name=name, source="its tests: " + ", ".join(files), package=package, version_1=version_1,
                   command=["-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"@{file}" for file in files)], measure="",
                   is_test_suite=True, **{"seconds": 500, **more})


PROGRAMS = [
    tensorflow("debug_fibonacci", measure=""),
    tensorflow("debug_keras", measure=""),
    tensorflow("debug_tflearn_iris", measure=r"loss = ([\d.e+-]+)"),
    suite("TFLearn", "tflearn==0.5.0", "tests"),
    suite("GPflow, optimizers", "gpflow==1.5.1", "tests/test_optimizers.py"),
    suite("GPflow, models", "gpflow==1.5.1", "tests/test_methods.py", "tests/test_hmc.py"),
    suite("BERT", "bert-tensorflow==1.0.4", "bert/modeling_test.py", "bert/optimization_test.py"),
    suite("TensorRec", "tensorrec==0.26.2", "test/test_tensorrec.py", "test/test_readme.py"),
    suite("TRFL", "trfl==1.2.0", "trfl/value_ops_test.py", "trfl/vtrace_ops_test.py", "trfl/retrace_ops_test.py",
          "trfl/target_update_ops_test.py"),
    suite("Mesh TensorFlow", "mesh-tensorflow==0.1.21", "mesh_tensorflow/layers_test.py", "mesh_tensorflow/ops_test.py", version_1=False),
    suite("Tensorpack", "tensorpack==0.11", "tensorpack/models/models_test.py", "tensorpack/callbacks/param_test.py"),
    keras("mnist_mlp", data="keras"),
    keras("mnist_cnn", data="keras"),
    keras("mnist_siamese", data="keras"),
    keras("mnist_denoising_autoencoder", data="keras"),
    keras("conv_lstm"),
    keras("mnist_acgan", data="keras", measure=""),
    keras("mnist_hierarchical_rnn", data="keras"),
    keras("imdb_lstm", data="keras"),
    keras("imdb_fasttext", data="keras"),
    keras("reuters_mlp", data="keras"),
    keras("antirectifier", data="keras"),
    keras("lstm_stateful", measure=r"loss: ([\d.e+-]+) - val_loss", seconds=100),
]

PAGE = """# Scorecard: public TensorFlow 1 programs on Weir

`scripts/scorecard` wrote this page. COUNTS

Each program is taken from the Python package index at the version shown, and its source is not changed. It runs twice with a stock
`TENSORFLOW`: in TensorFlow's own process, and on `weir.launch(workers=2)`. What a user would change is changed around it
([tests/scorecard/site](../tests/scorecard/site)):

- its sessions get the cluster's target, [`weir.enable_py_func`](from_tensorflow.md#py_func) and variables of their own
  (`isolate_session_state`), as sessions in the process have;
- `import tensorflow` is `tensorflow.compat.v1`, with `tf_slim` in the place of `tf.contrib`, where the program was written for
  TensorFlow 1; some names that Python 3.11, TensorFlow 2 and Keras 2.15 dropped are restored;
- data sets that would be downloaded are made: MNIST from scikit-learn's digits, texts for IMDB and Reuters from random words.

A program works if it ends well or runs until it is stopped at its time limit, no step fails, and its measure, where it prints one,
improves. A test suite works if all its tests pass. *Steps* are `Session.run` and callables on Weir, *ops* the different ops in its graphs there.

| program | source | in TensorFlow | on Weir | steps | ops | measure in TensorFlow | measure on Weir | seconds |
| --- | --- | --- | --- | ---: | ---: | --- | --- | --- |
ROWS

Programs that fail in TensorFlow's own process fail there for the reason shown, not because of Weir.
"""
