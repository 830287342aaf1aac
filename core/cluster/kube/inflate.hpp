// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::cluster::kube {

/// Unpacks gzip as it arrives. Threads: one.
class Inflate {
 public:
  Inflate();
  ~Inflate();
  Inflate(Inflate&&) noexcept;
  /// Appends what `packed` unpacks to. Fails on bytes that are not gzip.
  Status add(std::string_view packed, std::string& out);
  /// True when the stream came to its proper end.
  bool complete() const noexcept;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

/// For tests and servers.
std::string gzip(std::string_view text);

}  // namespace berth::cluster::kube
