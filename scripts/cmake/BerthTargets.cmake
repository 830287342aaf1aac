# SPDX-License-Identifier: Apache-2.0
# One static library per folder of core/, one function per kind of target.
include_guard(GLOBAL)

# The precompiled headers: one for the core's libraries, and one for tests, which has GoogleTest as well and is compiled as their
# programs are. Sources still include what they use: -DBERTH_PRECOMPILE=OFF has to build too. Called once, at the top.
function(berth_make_precompiled_headers)
  if(NOT BERTH_PRECOMPILE)
    return()
  endif()
  set(headers <algorithm> <array> <atomic> <bit> <chrono> <cstdint> <functional> <limits> <map> <memory> <mutex> <numeric>
      <optional> <span> <string> <string_view> <tuple> <utility> <variant> <vector>)
  set(source "${PROJECT_BINARY_DIR}/precompiled.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Compiled for its precompiled header.\n")
  foreach(kind core tests)
    add_library(berth_precompiled_${kind} OBJECT "${source}")
    target_precompile_headers(berth_precompiled_${kind} PRIVATE ${headers})
    # Without it ccache cannot see through a precompiled header.
    target_compile_options(berth_precompiled_${kind} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endforeach()
  target_link_libraries(berth_precompiled_core PRIVATE spdlog::spdlog)
  target_precompile_headers(berth_precompiled_core PRIVATE <spdlog/fmt/fmt.h>)
  # Tests of plugins know no spdlog, so neither does what they start from.
  target_link_libraries(berth_precompiled_tests PRIVATE GTest::gtest)
  target_precompile_headers(berth_precompiled_tests PRIVATE <gtest/gtest.h>)
  set_target_properties(berth_precompiled_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(berth_precompiled_tests PRIVATE -fPIE -O0 ${BERTH_UNFUZZED})
endfunction()

function(berth_use_precompiled_headers target kind)
  if(BERTH_PRECOMPILE)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    target_precompile_headers(${target} REUSE_FROM berth_precompiled_${kind})
  endif()
endfunction()

# berth_compile_together(target): sixteen sources of a library or of a test at a time become one where the build asks for it
# (BERTH_UNITY), which takes a third of the time. So the sources of a target share no name in their unnamed namespaces, not even
# for functions of other parameters: an overload that another source did not know of would be chosen in silence. Those that have
# to say so with berth_compile_alone(source…); tests that all call the same things by the same names stand in a namespace of their
# own each, as those of plugins/legacy. Not for the policies: BERTH_PLUGIN gives each source that names policies a constant of its own.
function(berth_compile_together target)
  if(BERTH_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

function(berth_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# berth_add_library(queue SOURCES a.cpp b.cpp LINKS berth::model [PRIVATE_LINKS Boost::headers])
# Makes berth_queue with the alias berth::queue. Includes are written from core/: "queue/scheduling_queue.hpp".
# Without SOURCES the library is header-only.
function(berth_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(ARG_SOURCES)
    add_library(berth_${name} STATIC ${ARG_SOURCES})
    target_include_directories(berth_${name} PUBLIC "${PROJECT_SOURCE_DIR}/core")
    target_link_libraries(berth_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
    berth_use_precompiled_headers(berth_${name} core)
    berth_compile_together(berth_${name})
  else()
    add_library(berth_${name} INTERFACE)
    target_include_directories(berth_${name} INTERFACE "${PROJECT_SOURCE_DIR}/core")
    target_link_libraries(berth_${name} INTERFACE ${ARG_LINKS})
  endif()
  add_library(berth::${name} ALIAS berth_${name})
endfunction()

# berth_add_test(queue_test SOURCES x_test.cpp LINKS berth::queue [LABEL unit] [ARGS …] [SINGLE_THREADED] [STARTS_FIRST])
# A GoogleTest program, registered with ctest as one test (its cases are listed in its own output). Label: unit by default.
# SINGLE_THREADED: what it tests has no threads, so the build with the thread sanitizer leaves it out.
# STARTS_FIRST: ctest starts it before the others, so that it is not what all wait for at the end.
function(berth_add_test name)
  cmake_parse_arguments(ARG "SINGLE_THREADED;STARTS_FIRST" "LABEL" "SOURCES;LINKS;ARGS;ENVIRONMENT" ${ARGN})
  if(ARG_SINGLE_THREADED AND BERTH_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gtest GTest::gtest_main)
  # What is tested is optimised; the tests themselves are compiled once and run for milliseconds.
  target_compile_options(${name} PRIVATE -O0)
  target_compile_definitions(${name} PRIVATE BERTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BERTH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  berth_use_precompiled_headers(${name} tests)
  berth_compile_together(${name})
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
  if(ARG_STARTS_FIRST)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  if(ARG_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
endfunction()

# berth_add_fuzz_target(fuzz_quantity SOURCES fuzz_quantity.cpp LINKS berth::model)
# A libFuzzer program in <build>/fuzz, built by the target berth_fuzz when BERTH_FUZZ is on; scripts/fuzz runs it from
# its seeds in tests/fuzz/seeds/<name>.
function(berth_add_fuzz_target name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(NOT BERTH_FUZZ)
    return()
  endif()
  if(NOT TARGET berth_fuzz)
    add_custom_target(berth_fuzz)
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(berth_fuzz ${name})
endfunction()
