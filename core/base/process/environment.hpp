// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <functional>
#include <string>

namespace berth {

/// Value of an environment variable; empty when it is not there. A function, so that tests have an environment of their
/// own.
using Environment = std::function<std::string(const char* name)>;

/// That of this process. Threads: any, while no thread changes it.
inline Environment process_environment() {
  return [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
}

}  // namespace berth
