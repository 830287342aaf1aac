// SPDX-License-Identifier: Apache-2.0
/// What a policy knows, for people, at /debug/NAME. Included by the few plugins that need it.
///
/// Units:   a page is one JSON value of at most 64 MiB. Errors: what debug_page() throws, or a page that is longer, is shown instead.
/// Source:  ext/debug_pages.h, berth.debug_pages/1.
#pragma once
#include <berth/ext/debug_pages.h>
#include <berth/setup.hpp>

#include <string>
#include <string_view>

namespace berth {
inline namespace sdk {

/// The page of the plugin's first instance is served; later instances are answered true and not asked.
class DebugPages : public Service<berth_debug_pages_v1> {
 public:
  static constexpr const char* id = "berth.debug_pages/1";
  using Service::Service;

  /// Offers source.debug_page(), which returns JSON as a std::string, at /debug/NAME. Any thread calls it, several at
  /// a time, and `source` outlives the instance. In the constructor only: refused elsewhere. False: the name is taken
  /// by another, or is not a lower-case letter with at most 62 of a-z, 0-9 and "-" after it. [load]
  template <class Source>
  bool offer(std::string_view name, Source& source) const {
    return table_->offer(ctx_, borrow(name), &write<Source>, &source) == BERTH_OK;
  }

 private:
  template <class Source>
  static berth_code write(void* arg, berth_page_append_v1 append, void* out, berth_note_v1* note) noexcept {
    return detail::guarded_call(note, [&] {
      const std::string page = static_cast<Source*>(arg)->debug_page();
      return append(out, borrow(page));
    });
  }
};

}  // namespace sdk
}  // namespace berth
