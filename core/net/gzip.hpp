// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::net {

/// Unpacks gzip as it arrives, no faster than it is asked to: a thousandth of what it unpacks to is enough to send.
/// Threads: one.
class Inflate {
 public:
  Inflate();
  ~Inflate();
  Inflate(Inflate&&) noexcept;
  /// Appends what `packed` unpacks to until `out` has grown by `bytes_max`; `packed` becomes what is not yet unpacked.
  /// Fails on bytes that are not gzip.
  Status add(std::string_view& packed, std::string& out, std::size_t bytes_max);
  /// What was taken unpacks to more: add() goes on with it, also with nothing new.
  bool has_more() const noexcept;
  /// True when the stream came to its proper end.
  bool complete() const noexcept;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

/// For tests and servers.
std::string gzip(std::string_view text);

}  // namespace berth::net
