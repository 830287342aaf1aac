// SPDX-License-Identifier: Apache-2.0
/// One value for all instances of a plugin. Included by the few plugins that need it.
///
/// Threads: get() [load]; the value is reached by all instances and their threads, so it has locks of its own.
/// Source:  ext/shared.h, berth.shared/1.
#pragma once
#include <berth/ext/shared.h>
#include <berth/setup.hpp>

#include <exception>

namespace berth {
inline namespace sdk {

/// For caches of what does not depend on args, and for tables that must know of every pod. Plugins do not see each
/// other's values.
/// Ask for it in the constructor; the reference may be kept as long as the instance lives.
class Shared : public Service<berth_shared_v1> {
 public:
  /// What `services` lists, for a policy that cannot work without it.
  static constexpr const char* id = "berth.shared/1";
  using Service::Service;
  /// The T under that key, made as T(setup) by the first instance that asks; lives until after the last instance of
  /// the plugin, and is destroyed once. Watches that T declares are the first instance's. Equal keys must mean equal
  /// T: the host does not know types. Throws what T's constructor throws, and Failure where the host keeps none.
  template <class T>
  T& get(Setup& setup, std::string_view key) const {
    // Carries the exception past the host's frames.
    struct Maker {
      Setup& setup;
      std::exception_ptr thrown;
    } maker{setup, {}};
    void* const found = table_->get(
        ctx_, borrow(key),
        [](void* arg) -> void* {
          auto& its = *static_cast<Maker*>(arg);
          try {
            return new T(its.setup);
          } catch (...) {
            its.thrown = std::current_exception();
            return nullptr;
          }
        },
        &maker, [](void* value) { delete static_cast<T*>(value); });
    if (maker.thrown) std::rethrow_exception(maker.thrown);
    if (found == nullptr) throw Failure("the host keeps no shared value \"" + std::string(key) + "\"");
    return *static_cast<T*>(found);
  }
};

}  // namespace sdk
}  // namespace berth
