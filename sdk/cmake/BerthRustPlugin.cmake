# SPDX-License-Identifier: Apache-2.0
# berth_add_rust_plugin(node_name MAIN src/lib.rs)
#
# Makes the module node_name.so in BERTH_PLUGIN_OUTPUT_DIRECTORY of a crate in Rust that stands on the SDK's crates berth and
# berth-sys, with rustc alone: no cargo, nothing from a registry. The target is plugin_node_name; its tests (#[cfg(test)]) are the
# program plugin_node_name_test, for which ctest needs enable_testing(). Flags are those of BerthPlugin.cmake: rustc exports what
# export! marks and nothing else, and contracts no floating-point operations.
include_guard(GLOBAL)

# Once per project: berth-sys and berth, optimised for modules and tests alike.
function(_berth_rust_crates)
  if(TARGET berth_rust_crates)
    return()
  endif()
  find_program(BERTH_RUSTC rustc)
  if(NOT BERTH_RUSTC)
    message(FATAL_ERROR "no rustc: a plugin in Rust needs it (Debian: apt install rustc)")
  endif()
  if(NOT BerthPlugin_RUST)
    message(FATAL_ERROR "this SDK has no crates: it was built without bindgen")
  endif()
  set(folder "${CMAKE_BINARY_DIR}/berth_rust")
  file(MAKE_DIRECTORY "${folder}")
  set(flags --edition=2021 --crate-type=rlib -C opt-level=3)
  file(GLOB sys "${BerthPlugin_RUST}/berth-sys/src/*.rs")
  file(GLOB_RECURSE layer "${BerthPlugin_RUST}/berth/src/*.rs")
  add_custom_command(OUTPUT "${folder}/libberth_sys.rlib" DEPENDS ${sys} VERBATIM
    COMMAND "${BERTH_RUSTC}" ${flags} --crate-name=berth_sys "${BerthPlugin_RUST}/berth-sys/src/lib.rs" --out-dir "${folder}")
  add_custom_command(OUTPUT "${folder}/libberth.rlib" DEPENDS ${layer} "${folder}/libberth_sys.rlib" VERBATIM
    COMMAND "${BERTH_RUSTC}" ${flags} --crate-name=berth -L "${folder}" --extern berth_sys
      "${BerthPlugin_RUST}/berth/src/lib.rs" --out-dir "${folder}")
  add_custom_target(berth_rust_crates DEPENDS "${folder}/libberth.rlib")
endfunction()

function(berth_add_rust_plugin name)
  cmake_parse_arguments(ARG "" "MAIN" "" ${ARGN})
  if(NOT ARG_MAIN)
    message(FATAL_ERROR "berth_add_rust_plugin(${name}): MAIN is missing")
  endif()
  if(NOT BERTH_PLUGIN_OUTPUT_DIRECTORY)
    set(BERTH_PLUGIN_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins")
  endif()
  file(MAKE_DIRECTORY "${BERTH_PLUGIN_OUTPUT_DIRECTORY}")
  _berth_rust_crates()
  get_filename_component(main "${ARG_MAIN}" ABSOLUTE)
  get_filename_component(folder "${main}" DIRECTORY)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.rs")
  set(crates "${CMAKE_BINARY_DIR}/berth_rust")
  set(flags --edition=2021 -L "${crates}" --extern "berth=${crates}/libberth.rlib")
  set(module "${BERTH_PLUGIN_OUTPUT_DIRECTORY}/${name}.so")
  # A name of its own for the crate: that of the file may be one that Rust has already. Where the umask leaves files to a group, the
  # loader would refuse them.
  add_custom_command(OUTPUT "${module}" DEPENDS ${sources} berth_rust_crates "${crates}/libberth.rlib" VERBATIM
    COMMAND "${BERTH_RUSTC}" ${flags} --crate-type=cdylib --crate-name=plugin_${name} -C opt-level=3 -C strip=debuginfo -D warnings
      -C link-args=-Wl,-z,defs,-z,now,-z,relro,-z,noexecstack,-z,nodelete,--build-id "${main}" -o "${module}"
    COMMAND chmod go-w "${BERTH_PLUGIN_OUTPUT_DIRECTORY}" "${module}")
  add_custom_target(plugin_${name} ALL DEPENDS "${module}")
  set(test "${crates}/plugin_${name}_test")  # no name of a target
  add_custom_command(OUTPUT "${test}" DEPENDS ${sources} berth_rust_crates "${crates}/libberth.rlib" VERBATIM
    COMMAND "${BERTH_RUSTC}" ${flags} --test --crate-name=plugin_${name}_test "${main}" -o "${test}")
  add_custom_target(plugin_${name}_test ALL DEPENDS "${test}")
  add_test(NAME plugin_${name}_test COMMAND "${test}")
endfunction()
