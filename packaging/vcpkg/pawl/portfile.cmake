# SPDX-License-Identifier: MIT
# From the clone that this port is in. In a registry: vcpkg_from_github or vcpkg_from_git, with the release's checksum.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    libevent PAWL_LIBEVENT
    libuv PAWL_LIBUV
    wheel-only PAWL_WHEEL_ONLY)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DPAWL_SHARED=${shared}
    -DPAWL_COMMAND=OFF
    -DPAWL_DEBUG=OFF
    -DPAWL_EXAMPLES=OFF
    -DPAWL_REDIS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/pawl)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
