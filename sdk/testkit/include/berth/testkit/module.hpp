// SPDX-License-Identifier: Apache-2.0
/// tested_library() for the tests of a plugin outside berth's own tree: the module that berth_add_plugin(… TESTS …)
/// made, loaded as a host would load it.
#pragma once
#include <berth/testkit/policy.hpp>

#include <dlfcn.h>

namespace berth::testkit {

/// Throws when the file does not load. It stays loaded.
inline const berth_library_v1* tested_library() {
  void* const file = ::dlopen(BERTH_TESTED_FILE, RTLD_NOW | RTLD_LOCAL);
  void* const entry = file == nullptr ? nullptr : ::dlsym(file, BERTH_ENTRY_SYMBOL);
  if (entry == nullptr) throw std::runtime_error(::dlerror());
  return reinterpret_cast<decltype(&berth_library_entry_v1)>(entry)();
}

}  // namespace berth::testkit
