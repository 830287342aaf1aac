// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/guarded.hpp"
#include "berth/plugin.h"
#include "framework/verdict.hpp"
#include "model/node.hpp"
#include "model/pod.hpp"

namespace berth::framework {

class PluginInstance;

/// Called once with the outcome of a pre-bind or bind call, from any thread, possibly before the call returned.
using BindDone = std::function<void(Verdict)>;
/// Becomes true when the outcome of a call no longer matters: an early end is welcome.
using CancelFlag = std::shared_ptr<const std::atomic<bool>>;

/// What plugins may ask about the cluster while their call is open. Threads: any.
struct BindLookups {
  std::function<bool(const model::Pod& pod)> pod_exists = {};      // as the cluster has it now, same uid; empty: yes
  std::function<model::NodePtr(std::string_view name)> node = {};  // null, or empty: it is gone
};

/// Pre-bind and bind calls of plugins, from their start to their answer: the one place that asks "answered already?".
///
/// A plugin holds a pointer to its call, and one with a defect completes it a second time, at any later moment. So the
/// memory of a call is not freed while the host lives. An answered call rests until k_resting others have been answered
/// after it, and serves another pod then; a second answer meanwhile is logged and ignored.
/// Budget:   k_resting calls and as many as were ever open at once, of some 300 bytes.
/// Lifetime: of the host, after its instances. The memory stays for ever where a call was given up: its plugin may answer still.
/// Threads:  any.
class BindCalls {
 public:
  static constexpr std::size_t k_resting = 1024;

  struct Call {
    BindCalls* owner = nullptr;
    const PluginInstance* plugin = nullptr;
    const char* point = "";  // "PreBind"
    std::string node_name = {};
    model::PodPtr pod = {};
    const BindLookups* lookups = nullptr;
    CancelFlag cancelled = {};
    BindDone done = {};
    std::atomic<bool> answered{true};
    std::atomic<bool> given_up{false};    // answered by give_up(): the plugin may be gone
    std::atomic<std::uint32_t> users{0};  // the function that started it, the answer, and give_up()
    berth_bind_call_v1 abi{};

    /// It is filled in: from now on it is open, and give_up() may answer it from another thread.
    void begin();
    bool is_open() const noexcept { return !answered.load(std::memory_order_acquire); }
    /// Hands the verdict to `done`; false when there was an answer before, which is logged.
    bool answer(Verdict verdict);
    /// One more user, who calls leave(): until then the call serves no other pod. False: it has none any more.
    bool stay() noexcept;
    /// A user does not look at the call any more.
    void leave();
  };

  BindCalls() = default;
  ~BindCalls();
  BindCalls(const BindCalls&) = delete;
  BindCalls& operator=(const BindCalls&) = delete;

  /// A call with two users. The caller fills it in, and then begins it.
  Call& take();
  /// At the end of the process: fails the calls that no plugin has answered, and logs for each which plugin and pod it is about.
  /// How many there were.
  std::size_t give_up();
  /// How many calls there is memory for.
  std::size_t size() const;

 private:
  void rest(Call& call);

  mutable Mutex mutex_;                                                                                // a leaf
  std::unique_ptr<std::deque<Call>> calls_ GUARDED_BY(mutex_) = std::make_unique<std::deque<Call>>();  // stay in place
  std::deque<Call*> resting_ GUARDED_BY(mutex_);  // in order of their answers
  bool has_given_up_ GUARDED_BY(mutex_) = false;
};

}  // namespace berth::framework
