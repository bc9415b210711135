"""Makes the data sets that programs would download, from data that packages hold or from random numbers.

    make_data.py KIND DIR    DIR becomes the program's home folder
"""
import sys
from pathlib import Path

import numpy as np


def digits():
    """Handwritten digits of scikit-learn in the size of MNIST: images, labels."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    large = np.kron(images.reshape(-1, 8, 8), np.ones((1, 3, 3))) * (255 / 16)
    return np.pad(large, ((0, 0), (2, 2), (2, 2))).astype(np.uint8), labels.astype(np.uint8)


def keras(home):
    """mnist.npz, imdb.npz and reuters.npz where Keras looks for them."""
    folder = home / ".keras/datasets"
    folder.mkdir(parents=True)
    random = np.random.RandomState(0)
    x, y = digits()
    chosen = np.concatenate([random.randint(1500, size=60000), random.randint(1500, len(x), size=10000)])  # MNIST's numbers
    x, y = x[chosen], y[chosen]
    np.savez(folder / "mnist.npz", x_train=x[:60000], y_train=y[:60000], x_test=x[60000:], y_test=y[60000:])

    def texts(count, classes):
        labels = random.randint(classes, size=count)
        # Words above 100 tell the class.
        rows = np.empty(count, object)
        for i, label in enumerate(labels):
            length = random.randint(40, 80)
            rows[i] = [int(w) for w in np.where(random.rand(length) < 0.3, 100 + label, random.randint(4, 100, length))]
        return rows, labels

    x, y = texts(1200, 2)
    np.savez(folder / "imdb.npz", x_train=x[:1000], y_train=y[:1000], x_test=x[1000:], y_test=y[1000:])
    x, y = texts(1200, 46)
    np.savez(folder / "reuters.npz", x=x, y=y)


def text(home):
    """A text for language models: the license of Python."""
    lines = sys.modules["builtins"].license._Printer__filenames if hasattr(sys.modules["builtins"], "license") else []
    found = next((Path(name) for name in lines if Path(name).exists()), None)
    content = found.read_text() if found else "the quick brown fox jumps over the lazy dog.\n" * 400
    (home / "text.txt").write_text(content)


if __name__ == "__main__":
    {"keras": keras, "text": text}[sys.argv[1]](Path(sys.argv[2]))
