"""All of adocd, imported: tests/support/forked.py forks its processes from one that has imported this module."""

import gc
import importlib
import os
import pkgutil
import sys

from fastapi import FastAPI

from tests.support.forked import AT_START, COLUMNS, main_of

# What adocd finds out about its terminal when it is imported holds for every child.
sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - to the end
os.environ.update(AT_START, COLUMNS=COLUMNS)
for command in ("adocd", "adocctl"):
    main_of(command)
for package in ("adocd.cli", "adocd.daemon", "adocd.targets"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
# What FastAPI imports for the first route.
FastAPI().get("/")(lambda: None)
# Before a child is forked: its collections then leave these pages alone, and so shared.
gc.collect()
gc.freeze()
