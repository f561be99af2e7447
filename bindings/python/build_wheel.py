#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build_wheel.py [DIR] - writes the wheel of the package (pure Python) into DIR; also what `pip install .` calls."""
import base64
import hashlib
import os
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def version() -> str:
    with open(os.path.join(HERE, "tune", "_version.py"), encoding="utf-8") as f:
        return re.search(r'"([0-9.]+)"', f.read()).group(1)


def metadata() -> str:
    return (
        f"Metadata-Version: 2.1\nName: tune-farm\nVersion: {version()}\nLicense: MIT\nRequires-Python: >=3.9\n"
        "Summary: A kernel autotuning farm from Python: tune_kernel, searches of one's own, logs, kernels at run time\n"
        "Provides-Extra: all\n"
        + "".join(f'Requires-Dist: {name}; extra == "all"\n' for name in ("numpy", "pandas", "matplotlib"))
    )


def package_files(editable: bool) -> "dict[str, bytes]":
    if editable:
        return {"_tune_farm.pth": (HERE + "\n").encode()}
    files = {}
    for folder, _, names in sorted(os.walk(os.path.join(HERE, "tune"))):
        for name in sorted(names):
            if name.endswith(".py") or name == "py.typed":
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    files[os.path.relpath(path, HERE)] = f.read()
    return files


def write(folder: str, editable: bool = False) -> str:
    """Writes the wheel, the same bytes each time; returns its name."""
    info = f"tune_farm-{version()}.dist-info"
    name = f"tune_farm-{version()}-py3-none-any.whl"
    files = package_files(editable)
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in files.items():
            z.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return name


# What pip calls (PEP 517, PEP 660).


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write(wheel_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write(wheel_directory, editable=True)


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else "."
    os.makedirs(where, exist_ok=True)
    print(os.path.join(where, write(where)))
