"""Files that cases write and read."""
import os
import tempfile


def path(name):
    """In the folder that the harness drops; other in each process, so that no answer to it is remembered wrongly."""
    return os.path.join(tempfile.gettempdir(), "weir_table_files_" + name)


def written(name, content):
    """At once: a server may be reading what an earlier row wrote."""
    with open(path(name) + ".new", "wb") as file:
        file.write(content)
    os.replace(path(name) + ".new", path(name))
    return path(name)
