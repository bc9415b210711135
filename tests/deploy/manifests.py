"""The documents of deploy/kubernetes, for tests."""

import importlib.util
import os
import pathlib
import sys

SKIPPED = 77


def need(module, whence):
    """Goes on in the interpreter that WEIR_KUBERNETES_PYTHON names, or ends, skipped, where `module` is missing."""
    wanted = os.environ.pop("WEIR_KUBERNETES_PYTHON", "")
    if wanted:
        os.execvp(wanted, [wanted, *sys.argv])
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {sys.executable} has no module {module} ({whence})")
        sys.exit(SKIPPED)


def read(deploy):
    """File name and document, for each."""
    import yaml

    found = []
    for path in sorted((pathlib.Path(deploy) / "kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            found.append((path.name, document))
    assert found, f"no documents in {deploy}/kubernetes"
    return found
