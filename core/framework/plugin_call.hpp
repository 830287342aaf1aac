// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "framework/plugin_instance.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// Buffer in which a plugin explains itself.
class Note {
 public:
  Note() { reset(); }
  void reset() noexcept { abi_ = {sizeof(berth_note_v1), 0, text_, sizeof text_, 0}; }
  berth_note_v1* abi() noexcept { return &abi_; }
  berth_reason reason() const noexcept { return abi_.reason; }
  /// What was written: valid UTF-8 without control characters, "…" at the end when it was cut.
  std::string text() const;
  void write(std::string_view text) noexcept;

 private:
  char text_[1024];
  berth_note_v1 abi_;
};

/// Of the functions of a service: the plugin that asks.
inline PluginInstance& plugin_of(void* ctx) noexcept { return *static_cast<PluginInstance*>(ctx); }
/// Of the functions of a service: says why in the plugin's note, if it gave one. Returns `code`.
berth_code answer(berth_note_v1* note, std::string_view text, berth_code code) noexcept;

/// Text from a plugin made safe for logs, events and conditions.
std::string clean_text(std::string_view text);

/// The one way into a plugin: breadcrumb, time, and a barrier against exceptions (a C++ plugin without the wrapper). What a
/// call of the host has led to, such as hints about a write, leaves the caller's breadcrumb as it was.
/// f returns the plugin's berth_code.
template <typename F>
Code call_plugin(const PluginInstance& plugin, observe::Point point, Note& note, F&& f) {
  observe::Breadcrumb& crumb = observe::t_breadcrumb;
  const observe::CrumbOwner* const caller = crumb.owner.load(std::memory_order_relaxed);
  const observe::Point calling = crumb.point.load(std::memory_order_relaxed);
  observe::enter_plugin(plugin.crumb(), point);
  const std::uint64_t start = observe::ticks();
  berth_code code;
  try {
    code = f();
  } catch (const std::exception& e) {
    note.write(e.what());
    code = BERTH_ERROR;
  } catch (...) {
    note.write("unknown exception");
    code = BERTH_ERROR;
  }
  plugin.host().counters.add(plugin.counter(point), observe::ticks() - start, code);
  crumb.point.store(calling, std::memory_order_relaxed);
  crumb.owner.store(caller, std::memory_order_relaxed);
  return static_cast<Code>(code);
}

/// The sentences of a pod-level answer: the note's reason, or its text.
std::vector<std::string> sentences(const PluginInstance& plugin, const Note& note);
/// The sentences behind a node-level reason id.
std::vector<std::string> sentences(const PluginInstance& plugin, berth_reason reason);

/// "plugin X returned Wait from filter, which is not valid there".
std::string invalid_code(const PluginInstance& plugin, observe::Point point, Code code);

}  // namespace berth::framework
