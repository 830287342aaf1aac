# SPDX-License-Identifier: Apache-2.0
# berth_add_plugin(node_name SOURCES node_name.cpp [TESTS node_name_test.cpp] [STATIC])
#
# Makes the module node_name.so in BERTH_PLUGIN_OUTPUT_DIRECTORY, with the flags that the loader expects. The target is
# plugin_node_name. Flags, in the order in which they stand below:
#   hidden visibility, version script   one exported symbol, no interposition in either direction
#   -ffp-contract=off                   equal scores on every CPU
#   -O3, x86-64-v2 on amd64             columns are compared with SSE4; every amd64 server has it
#   -z defs                             undefined symbols fail when the plugin is built
#   -z now, relro, noexecstack, nodelete, build-id
#
# STATIC also makes plugin_node_name_static of the same objects and remembers its entry for berth_add_static_plugins().
# TESTS makes the GoogleTest program plugin_node_name_test, which calls the policy through tested_library(). In berth's own
# tree the policy is linked in, and STATIC is implied; elsewhere berth/testkit/module.hpp loads the module. No GoogleTest, no
# test; ctest needs enable_testing().
include_guard(GLOBAL)

function(_berth_plugin_compile_flags target)
  target_link_libraries(${target} PRIVATE berth::sdk)
  # A plugin in C needs no C++ compiler.
  if(CMAKE_CXX_COMPILER)
    target_compile_features(${target} PRIVATE cxx_std_20)
  endif()
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # Under a sanitizer it would take long to compile and gain nothing.
  if(NOT BERTH_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    target_compile_options(${target} PRIVATE -march=x86-64-v2)
  endif()
endfunction()

function(_berth_test_module name)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "no GoogleTest: plugin_${name}_test is not built")
    return()
  endif()
  add_executable(plugin_${name}_test ${ARGN})
  target_compile_features(plugin_${name}_test PRIVATE cxx_std_20)
  # What is tested is optimised; the test itself is compiled once and runs for milliseconds.
  target_compile_options(plugin_${name}_test PRIVATE -O0)
  target_compile_definitions(plugin_${name}_test PRIVATE BERTH_TESTED_FILE="$<TARGET_FILE:plugin_${name}>")
  target_link_libraries(plugin_${name}_test PRIVATE berth::testkit GTest::gtest_main ${CMAKE_DL_LIBS})
  add_dependencies(plugin_${name}_test plugin_${name})
  add_test(NAME plugin_${name}_test COMMAND plugin_${name}_test)
endfunction()

function(berth_add_plugin name)
  cmake_parse_arguments(ARG "STATIC" "" "SOURCES;TESTS;LINKS" ${ARGN})
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "berth_add_plugin(${name}): SOURCES is missing")
  endif()
  if(NOT BERTH_PLUGIN_OUTPUT_DIRECTORY)
    set(BERTH_PLUGIN_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins")
  endif()

  add_library(plugin_${name} MODULE ${ARG_SOURCES})
  _berth_plugin_compile_flags(plugin_${name})
  target_link_libraries(plugin_${name} PRIVATE ${ARG_LINKS})
  set_target_properties(plugin_${name} PROPERTIES
    OUTPUT_NAME ${name} PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY "${BERTH_PLUGIN_OUTPUT_DIRECTORY}"
    SKIP_BUILD_RPATH ON LINK_DEPENDS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/berth_plugin.map")
  target_link_options(plugin_${name} PRIVATE
    "-Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/berth_plugin.map"
    -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,-z,nodelete -Wl,--build-id)
  # A sanitizer's runtime belongs to the host; its symbols are resolved when the plugin is loaded.
  if(NOT BERTH_SANITIZE)
    target_link_options(plugin_${name} PRIVATE -Wl,-z,defs)
  endif()
  # Where the umask leaves files to a group, the loader would refuse them.
  add_custom_command(TARGET plugin_${name} POST_BUILD VERBATIM
    COMMAND chmod go-w "${BERTH_PLUGIN_OUTPUT_DIRECTORY}" "$<TARGET_FILE:plugin_${name}>")
  set_property(GLOBAL APPEND PROPERTY BERTH_PLUGINS ${name})

  if(ARG_STATIC OR (ARG_TESTS AND COMMAND berth_add_test))
    add_library(plugin_${name}_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:plugin_${name}>)
    target_link_libraries(plugin_${name}_static PRIVATE ${ARG_LINKS})
    set_target_properties(plugin_${name}_static PROPERTIES LINKER_LANGUAGE CXX)
    # Programs have several of them, so each needs a name of its own for its entry.
    add_custom_command(TARGET plugin_${name}_static POST_BUILD VERBATIM
      COMMAND "${CMAKE_OBJCOPY}" --redefine-sym berth_library_entry_v1=berth_static_entry_${name}
        "$<TARGET_FILE:plugin_${name}_static>")
    set_property(GLOBAL APPEND PROPERTY BERTH_STATIC_PLUGINS ${name})
  endif()
  if(ARG_TESTS AND NOT COMMAND berth_add_test)
    _berth_test_module(${name} ${ARG_TESTS})
  elseif(ARG_TESTS)
    berth_add_test(plugin_${name}_test SOURCES ${ARG_TESTS} LINKS plugin_${name}_static berth::testkit_compiled SINGLE_THREADED)
    if(TARGET plugin_${name}_test)
      target_compile_definitions(plugin_${name}_test PRIVATE BERTH_TESTED_ENTRY=berth_static_entry_${name})
    endif()
  endif()
endfunction()

# berth_add_static_plugins(bench_policies [PLUGINS node_name taint_toleration])
#
# A static library with berth::static_plugins() (berth/static_plugins.hpp): the entries of the listed plugins, or of all that
# were added with STATIC or TESTS before this call. For hosts that want policies linked in.
function(berth_add_static_plugins target)
  cmake_parse_arguments(ARG "" "" "PLUGINS" ${ARGN})
  if(NOT ARG_PLUGINS)
    get_property(ARG_PLUGINS GLOBAL PROPERTY BERTH_STATIC_PLUGINS)
  endif()
  set(declarations "")
  set(entries "")
  foreach(plugin IN LISTS ARG_PLUGINS)
    string(APPEND declarations "extern \"C\" const berth_library_v1* berth_static_entry_${plugin}(void);\n")
    string(APPEND entries "    &berth_static_entry_${plugin},\n")
  endforeach()
  list(LENGTH ARG_PLUGINS count)
  if(count EQUAL 0)
    message(FATAL_ERROR "berth_add_static_plugins(${target}): no plugin was added with STATIC")
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT "// Generated by berth_add_static_plugins.
#include <berth/static_plugins.hpp>

@declarations@
namespace {
constexpr berth::LibraryEntry k_entries[] = {
@entries@};
}  // namespace

std::span<const berth::LibraryEntry> berth::static_plugins() noexcept { return k_entries; }
")
  add_library(${target} STATIC "${file}")
  target_link_libraries(${target} PUBLIC berth::sdk)
  foreach(plugin IN LISTS ARG_PLUGINS)
    target_link_libraries(${target} PRIVATE plugin_${plugin}_static)
  endforeach()
endfunction()
