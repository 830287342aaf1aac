# SPDX-License-Identifier: Apache-2.0
# Options and compiler settings that hold for the whole tree.
include_guard(GLOBAL)
include(GNUInstallDirs)

option(BERTH_WERROR "Treat warnings as errors" ON)
option(BERTH_FUZZ "Build the fuzz targets (Clang with libFuzzer)" OFF)
option(BERTH_BENCH "Build the benchmark programs" ON)
option(BERTH_PRECOMPILE "Precompile the headers that nearly every file includes" ON)
option(BERTH_UNITY "Compile several sources of one library as one: faster from scratch, slower to change" OFF)
set(BERTH_SANITIZE "" CACHE STRING "Sanitizers for everything: 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

# The binary and its plugins stand side by side, so that a build tree works without installation.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
set(BERTH_PLUGIN_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins")

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${BERTH_CCACHE}")
  # Precompiled headers are only cached when these differences are allowed; no source here asks for the time.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${BERTH_CCACHE}")
endif()
find_program(BERTH_MOLD mold)
if(BERTH_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Scores must not depend on the CPU: no contraction of a*b+c, no fast-math anywhere.
add_compile_options(-ffp-contract=off -fwrapv -Wall -Wextra -Wpedantic -Wshadow
                    "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual;-Wextra-semi>")
# Locks are named in types (core/base/guarded.hpp); only Clang can check them.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety> $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Werror=thread-safety>)
if(BERTH_UNITY)
  # A class with members of types from an unnamed namespace: harmless in one source, and that is where all of them stand.
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endif()
if(BERTH_WERROR)
  add_compile_options(-Werror)
endif()
if(BERTH_SANITIZE)
  # Compilers differ in what they define; this is for what takes longer under a sanitizer, or cannot be had.
  add_compile_definitions(BERTH_SANITIZED)
  # Instrumentation hides initialisations from GCC 12's flow analysis: it then warns about <regex> and <functional> themselves.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Clang 14 cannot emit the check of function types for coroutines ("difference across sections"); GCC has no such check.
  # The check of vptrs asks the kernel through a pipe what can be read, so it fails where tests use up all descriptors.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function,vptr>)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()
if(BERTH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "BERTH_FUZZ needs Clang: cmake --preset asan")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  # For what no fuzz target links, the policies and the tests: a fifth of the time it takes to compile, and a call less for each
  # comparison when it runs.
  set(BERTH_UNFUZZED -fno-sanitize=fuzzer-no-link)
endif()
