# SPDX-License-Identifier: MIT
"""conan.py RECIPE WORK: Conan's part, as far as the recipe needs it, and then the recipe's methods in Conan's order.
What it packages is in WORK/package."""
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import types

RECIPE, WORK = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
variables = {}


def copy(_conanfile, pattern, src, dst):
    found = [path for path in pathlib.Path(src).glob(pattern.replace("/*", "/**/*")) if path.is_file()]
    if not found:
        sys.exit(f"the recipe copies {pattern}, of which there is nothing in {src}")
    for path in found:
        target = pathlib.Path(dst) / path.relative_to(src)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


class ConanFile:
    recipe_folder = str(RECIPE.parent)
    export_sources_folder = source_folder = str(WORK / "source")
    package_folder = str(WORK / "package")


class CMakeToolchain:
    def __init__(self, _conanfile):
        self.cache_variables = variables

    def generate(self):
        pass


class CMake:
    def __init__(self, conanfile):
        self.source, self.package = conanfile.source_folder, conanfile.package_folder

    def configure(self):
        given = [f"-D{name}={'ON' if value else 'OFF'}" for name, value in variables.items()]
        self.run("-S", self.source, "-B", str(WORK / "build"), f"-DCMAKE_INSTALL_PREFIX={self.package}",
                 "-DCMAKE_INSTALL_LIBDIR=lib", *given)

    def build(self):
        self.run("--build", str(WORK / "build"))

    def install(self):
        self.run("--install", str(WORK / "build"))

    @staticmethod
    def run(*arguments):
        subprocess.run(["cmake", *arguments], check=True, stdout=subprocess.DEVNULL)


class Settings(types.SimpleNamespace):
    def rm_safe(self, _name):
        pass


class Info(types.SimpleNamespace):
    def set_property(self, _name, _value):
        pass


def module(name, **content):
    made = types.ModuleType(name)
    made.__dict__.update(content)
    sys.modules[name] = made


module("conan", ConanFile=ConanFile)
module("conan.tools")
module("conan.tools.cmake", CMake=CMake, CMakeToolchain=CMakeToolchain, cmake_layout=lambda conanfile: None)
module("conan.tools.files", copy=copy)

spec = importlib.util.spec_from_file_location("conanfile", RECIPE)
conanfile = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(conanfile)
recipe = conanfile.Pawl()
for options in ({}, {"shared": True}, {"wheel_only": True}):
    shutil.rmtree(WORK, ignore_errors=True)
    recipe.settings = Settings(os="Linux")
    recipe.options = types.SimpleNamespace(**{**recipe.default_options, **options})
    recipe.cpp_info = Info()
    variables.clear()
    for method in ("export_sources", "configure", "layout", "generate", "build", "package", "package_info"):
        getattr(recipe, method)()
    for option, file in (("shared", "lib/libpawl.so"), ("wheel_only", "include/pawl/service.h")):
        expected = getattr(recipe.options, option) == (option == "shared")
        if (WORK / "package" / file).exists() != expected:
            sys.exit(f"with {options or 'the defaults'}: {file} is {'not ' if expected else ''}there")
    if not (WORK / "package/licenses/LICENSE").exists() or recipe.cpp_info.libs != ["pawl"]:
        sys.exit("the licence or the library's name is missing")
