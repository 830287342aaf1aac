// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>

#include "cluster/kube/read/reflector.hpp"
#include "net/http_client.hpp"
#include "text/value.hpp"

namespace berth::cluster::kube {

struct ListQuestion {
  ResourceTarget target;
  std::size_t page_items = 500;
  std::chrono::milliseconds quiet_limit{10'000};  // a server that sends nothing for that long has not answered
  std::chrono::milliseconds limit{300'000};       // of the whole list
  /// Asked a few times a second; false ends the list with an Error. Empty: always true.
  std::function<bool()> goes_on = {};
};

/// Asks for a list, page by page, and calls `take` with each object on the calling thread, one at a time; objects that
/// cannot be read are left out, and their number is the result. For threads that may block.
/// Bounds:  a list of any size is never held: a piece of it and one object of k_object_bytes_max are.
/// Failure: what the server says or does not say; then the list is not complete. Nothing is tried again.
Result<std::size_t> ask_for_list(net::HttpClient& client, const ListQuestion& question,
                                 const std::function<void(const text::Value& object)>& take);

}  // namespace berth::cluster::kube
