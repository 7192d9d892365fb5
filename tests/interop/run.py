"""Runs every test_*.py of this folder in one process, so that Spark starts once. Arguments narrow by parts of names."""

import importlib
import os
import sys

import support


def main():
    names = sorted(n[:-3] for n in os.listdir(support.HERE) if n.startswith("test_") and n.endswith(".py"))
    for name in names:
        importlib.import_module(name)
    print("interop: %s, seed %d" % (support.SLUICE, support.SEED), flush=True)
    return support.run_tests(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
