// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostics.hpp"
#include "text/value.hpp"

namespace berth::config {

/// Where something was written. `path` is as in messages: "profiles[0].plugins.score.enabled[1]".
struct Place {
  text::Position position;
  std::string path;
};

/// The file that is read and where its problems go.
struct Source {
  std::string file;
  text::Diagnostics& diagnostics;

  /// "berth.yaml:14:9  plugins.files[2]".
  std::string where(const Place& place) const;
  void report(const Place& place, std::string message, std::string advice = {}) const {
    diagnostics.add(file, place.position, place.path, std::move(message), std::move(advice));
  }
};

/// Reads the fields of one mapping strictly: a field that is not asked for is an error when the reader goes away.
///
/// A null counts as absent, as in Kubernetes' decoding. A field of the wrong kind is reported and counts as absent, so
/// that the caller goes on and everything wrong is found in one run. When `value` is no mapping, that is reported and
/// every field is absent. Must not outlive what it was given.
class Fields {
 public:
  Fields(const Source& source, const text::Value& value, std::string path);
  /// Reports the fields that were not asked for.
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  /// Each returns whether the field was there with a usable value; `out` is left alone otherwise.
  bool read(std::string_view key, bool& out);
  bool read(std::string_view key, std::int32_t& out);
  bool read(std::string_view key, std::int64_t& out);
  bool read(std::string_view key, double& out);
  bool read(std::string_view key, std::string& out);
  bool read_duration(std::string_view key, std::int64_t& out_ns);
  bool read_strings(std::string_view key, std::vector<std::string>& out);

  /// Null when absent or of another kind.
  const text::Value* mapping(std::string_view key) { return of_kind(key, text::Kind::mapping); }
  const text::Value* sequence(std::string_view key) { return of_kind(key, text::Kind::sequence); }
  /// Any kind; null when absent.
  const text::Value* any(std::string_view key);

  std::string path_of(std::string_view key) const;
  /// Of the field's value; of the mapping itself when the field is absent.
  Place place_of(std::string_view key) const;
  const Place& place() const noexcept { return place_; }
  bool has(std::string_view key) const noexcept;

 private:
  const text::Value* of_kind(std::string_view key, text::Kind kind);
  void wrong_kind(std::string_view key, const text::Value& value, std::string_view wanted) const;
  bool read_integer(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& out);

  const Source& source_;
  const text::Value& value_;
  Place place_;
  std::vector<std::string> known_;
};

/// The value as messages show it: compact JSON, cut after 60 bytes.
std::string shown(const text::Value& value);

}  // namespace berth::config
