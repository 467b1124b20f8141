# SPDX-License-Identifier: MIT
"""pawl for Conan 2, from the clone that this recipe is in: conan create packaging/conan"""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake/*", "docs/man/*", "include/*", "src/*")


class Pawl(ConanFile):
    name = "pawl"
    version = "0.1.0"
    description = "Delayed work for C: timing wheel and timers for many threads"
    license = "MIT"
    topics = ("timer", "timing-wheel", "timeout", "delay")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "wheel_only": [True, False]}
    default_options = {"shared": False, "wheel_only": False}

    def export_sources(self):
        top = os.path.join(self.recipe_folder, os.pardir, os.pardir)
        for pattern in SOURCES:
            copy(self, pattern, src=top, dst=self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")  # it is C
        self.settings.rm_safe("compiler.cppstd")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["PAWL_SHARED"] = bool(self.options.shared)
        toolchain.cache_variables["PAWL_WHEEL_ONLY"] = bool(self.options.wheel_only)
        for part in ("COMMAND", "DEBUG", "EXAMPLES", "LIBUV", "LIBEVENT", "REDIS"):
            toolchain.cache_variables[f"PAWL_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["pawl"]
        self.cpp_info.set_property("cmake_target_name", "pawl::pawl")
        self.cpp_info.set_property("pkg_config_name", "pawl")
        if self.settings.os in ("Linux", "FreeBSD") and not self.options.wheel_only:
            self.cpp_info.system_libs = ["pthread"]
        if self.settings.os == "Windows" and not self.options.wheel_only:
            self.cpp_info.system_libs = ["advapi32"]
