// SPDX-License-Identifier: Apache-2.0
/// A library whose policies stand in several sources, put together when its entry is first asked for.
///
/// Place:   BERTH_PLUGIN_PARTS of plugin.hpp, for libraries that hold many policies, as the one of berth's own.
/// Threads: [load]; the library is constant once it is made.
/// Source:  berth_library_v1, abi/host.h.
#pragma once
#include <berth/describe.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace berth {
inline namespace sdk {

/// The policies of one source. Borrows static descriptors.
struct PluginPart {
  std::span<const berth_plugin_v1* const> plugins;
  Minor minor_required = 0;  ///< the greatest of its policies
};

/// What BERTH_PLUGIN_PART defines.
template <class... P>
PluginPart plugin_part() noexcept {
  return {detail::k_plugins<P...>, detail::minor_required_of_all<P...>()};
}

/// Never freed before the process ends, as all descriptors; nothing to destroy. Policies beyond k_plugins_max are
/// left out.
class JoinedLibrary {
 public:
  static constexpr std::size_t k_plugins_max = 256;  // the host accepts no more

  /// In the order of the parts. abi_minor_required becomes the greatest of the parts': a file is loaded or refused as
  /// one.
  explicit JoinedLibrary(std::initializer_list<PluginPart> parts) noexcept {
    for (const PluginPart& part : parts) {
      library_.abi_minor_required = std::max(library_.abi_minor_required, part.minor_required);
      for (const berth_plugin_v1* plugin : part.plugins)
        if (library_.plugin_count < k_plugins_max) plugins_[library_.plugin_count++] = plugin;
    }
    library_.plugins = plugins_.data();
  }
  JoinedLibrary(const JoinedLibrary&) = delete;
  JoinedLibrary& operator=(const JoinedLibrary&) = delete;

  /// For berth_library_entry_v1(). Lives as long as this object.
  const berth_library_v1* raw() const noexcept { return &library_; }

 private:
  std::array<const berth_plugin_v1*, k_plugins_max> plugins_{};
  berth_library_v1 library_{sizeof(berth_library_v1), BERTH_ABI_MINOR, 0, 0, 0, nullptr};
};

}  // namespace sdk
}  // namespace berth
