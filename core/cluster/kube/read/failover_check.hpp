// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decode/object_decoder.hpp"
#include "model/pod.hpp"
#include "net/http_client.hpp"

namespace berth::cluster::kube {

/// What the check needs to know and tells, on an I/O thread, one call at a time.
struct PlacementCheckCalls {
  std::function<std::vector<model::PodPtr>()> known;      // that have no node, as last seen
  std::function<void(decode::Decoded pod)> changed;       // as the server has it now
  std::function<void(decode::Remains pod)> unreadable;    // what the server has now cannot be read whole
  std::function<void(const model::PodPtr& pod)> is_gone;  // the server no longer has it
};

/// Finds the pods that wait no longer although the watch has not told so yet: what the scheduler that led before this
/// one wrote last.
///
/// Asks for the names of the pods that wait, and then for those that are missing there, one by one: that costs as much
/// as there are waiting pods, however many have a node.
///
/// Lifetime:  I/O threads outlive it. No call follows stop(), which the destructor calls.
/// Threads:   any, but not from inside a call.
/// Failure:   asks again until it is answered.
class PlacementCheck {
 public:
  /// `selector`: of the pods that are looked at at all.
  PlacementCheck(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, std::string selector,
                 PlacementCheckCalls calls, std::shared_ptr<const decode::ObjectDecoder> decoder,
                 const net::HttpClientOptions& client);
  ~PlacementCheck();
  PlacementCheck(const PlacementCheck&) = delete;
  PlacementCheck& operator=(const PlacementCheck&) = delete;

  /// Calls `done` with true when every pod that waited, as last seen, is known to wait still or was told about; with
  /// false when so many are missing that a list of all pods costs less.
  void run(std::function<void(bool is_complete)> done);
  void stop() noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::cluster::kube
