// SPDX-License-Identifier: Apache-2.0
#include "app/plugins/load_hooks.hpp"

#include "observe/breadcrumb.hpp"
#include "observe/exit_report.hpp"
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
    observe::loading_file(&file);
    observe::enter_plugin(file, entry ? observe::Point::entry : observe::Point::loading);
  };
  hooks.named = &observe::name_mapped_object;
  hooks.after = [] {
    observe::leave_plugin();
    observe::loading_file(nullptr);
    observe::refresh_load_map();
  };
  hooks.repair = []() -> std::string {
    const std::string changed = observe::restore_fatal_signal_report();
    return changed.empty() ? changed : "its code replaced the handlers of " + changed + "; they are berth's again";
  };
  return hooks;
}

}  // namespace berth::app
