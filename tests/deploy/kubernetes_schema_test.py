#!/usr/bin/env python3
"""Checks deploy/kubernetes against Kubernetes' schemas, strictly: no field that they do not know.

    kubernetes_schema_test.py DEPLOY WEIR

Exit status 77: PyPI's kubernetes-validate, which brings the schemas, is not there (see manifests.need).
"""

import copy
import sys

import manifests

# The first in which probes by gRPC are stable, and one that is newer.
VERSIONS = ("1.27", "1.31")


def refused(validate, document):
    try:
        validate(document)
    except Exception:  # its own classes differ by version
        return True
    return False


def main(deploy, _):
    manifests.need("kubernetes_validate", "PyPI's kubernetes-validate")
    import kubernetes_validate

    documents = manifests.read(deploy)
    for version in VERSIONS:
        def validate(document):
            return kubernetes_validate.validate(document, version, strict=True)

        for name, document in documents:
            validate(document)
            # The tool does find what is wrong.
            broken = copy.deepcopy(document)
            broken["metadata"]["nmae"] = "x"
            assert refused(validate, broken), f"{name}: a field that does not exist passed"
    print(f"{len(documents)} documents are valid for {', '.join(VERSIONS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
