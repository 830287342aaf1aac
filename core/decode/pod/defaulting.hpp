// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "text/diagnostics.hpp"
#include "text/value.hpp"

namespace berth::decode {

/// What the API server would have written into an object that a person wrote.
///
/// Place:   ObjectDecoder asks it while decoding. Applies to objects without metadata.uid only: an object with a uid
///          comes from a server, is complete, and stays as it is.
/// Threads: add_priority_class() before decoding starts; everything else is const.
/// Source:  kubernetes v1.36 pkg/apis/core/v1/defaults.go, pkg/registry/core/pod/strategy.go,
///          plugin/pkg/admission/{priority,defaulttolerationseconds}; each default names its own in defaulting.cpp and
///          pod_decoder.cpp. Departs: uids are made up from kind, namespace and name, so that two runs agree.
class Defaulting {
 public:
  /// `now_ns` (wall clock) is the creation time of objects without one.
  explicit Defaulting(std::int64_t now_ns = 0);

  /// A PriorityClass object; others are ignored. The two system classes are known already.
  void add_priority_class(const text::Document& document, const text::Value& object, text::Diagnostics& diagnostics);

  struct Priority {
    std::int32_t value = 0;
    bool preempts = true;
  };
  /// The class's priority; for an empty name that of the global default, 0 without one. Nothing for an unknown class.
  std::optional<Priority> priority_of(std::string_view class_name) const;
  std::int64_t creation_ns() const noexcept { return now_ns_; }

  static bool applies(const text::Value& object) noexcept;
  /// Shaped like a UUID; the same for the same three words.
  static std::string make_uid(std::string_view kind, std::string_view ns, std::string_view name);

 private:
  std::int64_t now_ns_;
  std::map<std::string, Priority, std::less<>> classes_;
  std::optional<Priority> global_default_;
};

}  // namespace berth::decode
