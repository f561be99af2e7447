# SPDX-License-Identifier: MIT
"""few.py ROOT OUT - the machine's PoCL once more, with those built-in functions alone that kernels of the tree ROOT call: OUT is a folder for
OCL_ICD_VENDORS, with the other drivers in it too. few.py ROOT OUT SHARE - only its data, of the PoCL whose data are SHARE.

PoCL reads the declarations of all built-in functions for each program (.1 s) and their code in each process that builds one (.6 s). Driver and
compiler are the machine's own here; a function that was left out is an error of the program that calls it. Exit code 1 and words: no such PoCL
here."""
import ctypes
import os
import re
import sys
from pathlib import Path

VENDORS = Path("/etc/OpenCL/vendors")
FAMILIES = re.compile(r"convert_[a-z]+\d*|v(load|store)(_half)?\d*")  # names that macros put together


def names_called(root):
    """Whatever stands in kernels/ and in files with a kernel."""
    names = set()
    for folder in ("kernels", "agent", "runtime", "tests", "examples", "docs", "bindings", "README.md"):
        for path in [root / folder] if (root / folder).is_file() else (root / folder).rglob("*.*"):
            if path.is_file() and path.suffix not in (".bc", ".png"):
                text = path.read_text(encoding="utf-8", errors="replace")
                if folder == "kernels" or re.search(r"\b(__)?kernel void\b", text):
                    names.update(re.findall(r"[a-z]\w+", text))
    return lambda name: name in names or FAMILIES.fullmatch(name)


def header(text, called):
    """Clang's opencl-c.h without declarations of what is not called."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", " ", text, flags=re.DOTALL)
    out, part = [], ""
    for line in text.split("\n"):
        if line.startswith("#"):
            out += [part, line]
            part = ""
            continue
        part += line + " "
        if ";" not in line:
            continue
        name = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", part))
        if not name or called(name[1]):
            out.append(part)
        part = ""
    return "\n".join(out) + "\n"


def library(llvm, source, target, called):
    """The code of built-in functions: what is called, and what that calls."""
    buffer, module, words = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char_p()
    context = ctypes.c_void_p(llvm.LLVMContextCreate())
    if llvm.LLVMCreateMemoryBufferWithContentsOfFile(os.fsencode(source), ctypes.byref(buffer), ctypes.byref(words)):
        sys.exit(f"few.py: {source}: {words.value.decode()}")
    if llvm.LLVMParseBitcodeInContext2(context, buffer, ctypes.byref(module)):
        sys.exit(f"few.py: {source} is no bitcode of this LLVM")
    llvm.LLVMStripModuleDebugInfo(module)

    def functions():
        function, size = llvm.LLVMGetFirstFunction(module), ctypes.c_size_t()
        while function:
            yield ctypes.c_void_p(function), llvm.LLVMGetValueName2(ctypes.c_void_p(function), ctypes.byref(size)).decode()
            function = llvm.LLVMGetNextFunction(ctypes.c_void_p(function))

    linkage = {}
    for function, name in functions():
        mangled = re.match(r"_Z(\d+)(?:_cl_)?", name)
        if mangled and not llvm.LLVMIsDeclaration(function) and not called(name[mangled.end() : mangled.end(1) + int(mangled[1])]):
            linkage[name] = llvm.LLVMGetLinkage(function)
            llvm.LLVMSetLinkage(function, 8)  # internal: goes, where nobody needs it
    if llvm.LLVMRunPasses(module, b"globaldce", None, ctypes.c_void_p(llvm.LLVMCreatePassBuilderOptions())):
        sys.exit("few.py: LLVM has no pass globaldce")
    for function, name in functions():
        if name in linkage:
            llvm.LLVMSetLinkage(function, linkage[name])
    if llvm.LLVMWriteBitcodeToFile(module, os.fsencode(target)):
        sys.exit(f"few.py: cannot write {target}")
    return len(linkage)


def pocl():
    """The driver, as it is loaded with its LLVM, and where it lies."""
    try:
        driver = ctypes.CDLL((VENDORS / "pocl.icd").read_text(encoding="utf-8").strip())
        for name in ("ContextCreate", "GetFirstFunction", "GetNextFunction", "CreatePassBuilderOptions", "RunPasses"):
            getattr(driver, "LLVM" + name).restype = ctypes.c_void_p
        driver.LLVMGetValueName2.restype = ctypes.c_char_p
    except (OSError, AttributeError) as e:
        sys.exit(f"few.py: no PoCL with LLVM as a library here: {e}")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return driver, Path(re.search(r"/\S*/libpocl\.so\S*", maps.read())[0])


def make_data(llvm, share, out, called):
    (out / "include").mkdir(parents=True)
    for path in (share / "include").iterdir():
        text = path.read_text(encoding="utf-8")
        (out / "include" / path.name).write_text(header(text, called) if path.name == "opencl-c.h" else text, encoding="utf-8")
    for path in share.glob("*.bc"):
        if re.search("avx2|avx512|aarch64", path.name):  # what processors of our time have
            library(llvm, path, out / path.name, called)
        else:
            (out / path.name).symlink_to(path)


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    llvm, driver = pocl()
    share = Path(sys.argv[3]) if len(sys.argv) > 3 else driver.parent.parent.parent / "share/pocl"
    if not (share / "include/opencl-c.h").is_file():
        sys.exit(f"few.py: no opencl-c.h in {share}/include")
    called = names_called(root)
    if len(sys.argv) > 3:
        make_data(llvm, share, out, called)
        return
    folder = out / "lib/here"
    folder.mkdir(parents=True)
    make_data(llvm, share, out / "share/pocl", called)  # found from the driver's folder
    for name in (driver.name, "pocl"):
        (folder / name).symlink_to(driver.parent / name)
    for path in VENDORS.glob("*.icd"):
        text = f"{folder / driver.name}\n" if path.name == "pocl.icd" else path.read_text(encoding="utf-8")
        (out / path.name).write_text(text, encoding="utf-8")


main()
