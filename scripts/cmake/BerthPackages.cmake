# SPDX-License-Identifier: Apache-2.0
# Debian packages: berth (the component runtime, and what belongs to the machine: configuration, unit) and
# berth-plugin-dev (the component sdk). scripts/package makes them; what is packaged is what `cmake --install` installs.
include_guard(GLOBAL)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(package_files "${PROJECT_SOURCE_DIR}/conf/deploy/package")
set(package_build "${PROJECT_BINARY_DIR}/package")

# --- man pages and completions, from the program's own help -----------------------------------------------------------
set(manual "${package_build}/manual")
install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/scripts/lib/command_line.py\"
  --berth \"$<TARGET_FILE:berth>\" --out \"${manual}\" --version \"${PROJECT_VERSION}\" --date 2026-01-01
  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT runtime)
install(DIRECTORY "${manual}/" DESTINATION "${CMAKE_INSTALL_DATADIR}/man/man1" COMPONENT runtime
  FILES_MATCHING PATTERN "*.1.gz")
install(FILES "${manual}/berth" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT runtime)
install(FILES "${manual}/_berth" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT runtime)
install(FILES "${manual}/berth.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT runtime)

# Called by this name, the program is `berth run`. Not on anybody's PATH: a machine may have the other one.
install(CODE "file(CREATE_LINK ../../bin/berth
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/berth/kube-scheduler\" SYMBOLIC)" COMPONENT runtime)

# --- what only a package brings: absolute places, so never part of a plain `cmake --install` --------------------------
install(FILES "${package_files}/berth.yaml" DESTINATION /etc/berth COMPONENT machine EXCLUDE_FROM_ALL)
# Where policies of others go: a name below the plugin directory that no version of the package writes to.
install(DIRECTORY DESTINATION /usr/lib/berth/plugins/site COMPONENT machine EXCLUDE_FROM_ALL)
install(FILES "${package_files}/berth.service" DESTINATION /lib/systemd/system COMPONENT machine EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_CONTACT "The berth developers <developers@berth.dev>")

# documents(PACKAGE COMPONENT): copyright and changelog, where Debian wants them.
function(documents package component)
  set(folder "${package_build}/${package}")
  configure_file("${package_files}/changelog.in" "${folder}/changelog.Debian" @ONLY)
  install(CODE "execute_process(COMMAND gzip -9nfk \"${folder}/changelog.Debian\" COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES "${package_files}/lintian/${package}" DESTINATION /usr/share/lintian/overrides
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES "${package_files}/copyright" "${folder}/changelog.Debian.gz" DESTINATION "/usr/share/doc/${package}"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
documents(berth machine)
documents(berth-plugin-dev sdk-documents)
# Next to the files that it speaks of, so that its links lead somewhere.
install(FILES "${PROJECT_SOURCE_DIR}/conf/deploy/README.md" "${PROJECT_SOURCE_DIR}/conf/deploy/RECORDING.md"
  "${PROJECT_SOURCE_DIR}/conf/deploy/RUNNING.md" "${PROJECT_SOURCE_DIR}/conf/deploy/THREATS.md"
  "${PROJECT_SOURCE_DIR}/conf/deploy/Dockerfile" "${PROJECT_SOURCE_DIR}/conf/deploy/seccomp.json"
  DESTINATION /usr/share/doc/berth/examples COMPONENT machine EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/SECURITY.md" DESTINATION /usr/share/doc/berth COMPONENT machine EXCLUDE_FROM_ALL)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/conf/deploy/static-pod" "${PROJECT_SOURCE_DIR}/conf/deploy/kustomize"
  "${PROJECT_SOURCE_DIR}/conf/deploy/monitoring" "${PROJECT_SOURCE_DIR}/conf/deploy/shadow"
  "${PROJECT_SOURCE_DIR}/conf/deploy/helm" DESTINATION /usr/share/doc/berth/examples COMPONENT machine EXCLUDE_FROM_ALL)

# --- CPack ------------------------------------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL runtime machine sdk sdk-documents)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_RUNTIME_GROUP berth)
set(CPACK_COMPONENT_MACHINE_GROUP berth)
set(CPACK_COMPONENT_SDK_GROUP berth-plugin-dev)
set(CPACK_COMPONENT_SDK-DOCUMENTS_GROUP berth-plugin-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)

# Some files have absolute places, so everything is installed below a root and not into a prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_PACKAGE_NAME berth)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_HOMEPAGE_URL "https://berth.dev")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_BERTH_PACKAGE_NAME berth)
set(CPACK_DEBIAN_BERTH_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_BERTH_PACKAGE_SHLIBDEPS ON)
# An API server or an extender whose configuration names no authority is verified by the system's certificates.
set(CPACK_DEBIAN_BERTH_PACKAGE_DEPENDS ca-certificates)
set(CPACK_DEBIAN_BERTH_DESCRIPTION "Kubernetes scheduler whose every policy is a plugin
berth decides exactly as kube-scheduler v1.36 does, looks at every node
instead of a sample, and takes every policy from a shared library over a
stable C ABI.
.
It schedules a live cluster in place of kube-scheduler or alongside it, and
simulates and explains decisions from manifests alone.")
file(WRITE "${package_build}/conffiles" "/etc/berth/berth.yaml\n")
set(CPACK_DEBIAN_BERTH_PACKAGE_CONTROL_EXTRA
  "${package_build}/conffiles" "${package_files}/postinst" "${package_files}/prerm" "${package_files}/postrm")

set(CPACK_DEBIAN_BERTH-PLUGIN-DEV_PACKAGE_NAME berth-plugin-dev)
set(CPACK_DEBIAN_BERTH-PLUGIN-DEV_PACKAGE_SECTION libdevel)
# Plugins that link the library for device selectors link RE2 with it.
set(CPACK_DEBIAN_BERTH-PLUGIN-DEV_PACKAGE_DEPENDS libre2-dev)
set(CPACK_DEBIAN_BERTH-PLUGIN-DEV_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_BERTH-PLUGIN-DEV_PACKAGE_SUGGESTS "berth, cmake, pkg-config")
set(CPACK_DEBIAN_BERTH-PLUGIN-DEV_DESCRIPTION "headers and build rules for plugins of the berth scheduler
A policy of berth is a shared library over a C ABI. This package has the
headers of the ABI, the C++ wrapper, builders and fakes for unit tests of a
policy, the scheduler itself as a library for tests of several policies
together, a static library that evaluates device selectors (CEL), a CMake
package, a pkg-config file and a template to start from.")

include(CPack)
