// SPDX-License-Identifier: Apache-2.0
#include "app/load_hooks.hpp"

#include "observe/breadcrumb.hpp"
#include "observe/fatal_signal.hpp"

namespace berth::app {

loader::LoadHooks crash_reporting_hooks() {
  loader::LoadHooks hooks;
  hooks.before = [](loader::LoadStage stage, const char* path, const char* build_id) {
    // One at a time: files are loaded by the main thread.
    static observe::CrumbOwner file;
    file = {nullptr, nullptr, path, build_id};
    const bool entry = stage == loader::LoadStage::entry_symbol;
    if (entry) observe::refresh_load_map();
    observe::enter_plugin(file, entry ? observe::Point::entry : observe::Point::loading);
  };
  hooks.after = [] {
    observe::leave_plugin();
    observe::refresh_load_map();
  };
  return hooks;
}

}  // namespace berth::app
