// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "framework/plugin_instance.hpp"
#include "isolation/child_process.hpp"
#include "isolation/isolated_library.hpp"
#include "isolation/isolated_state.hpp"
#include "isolation/mirror.hpp"

namespace berth::isolation {

/// One instance of an isolated plugin, as berth has it: what stands in for `self`.
///
/// Its calls go to its process, one at a time. A process that ends, hangs or garbles costs the call an error; the next call after
/// a while starts another one, in which create() says the same again: after 1 s, doubled with each failure up to 60 s, and from 1 s
/// again when it was up for a minute. No call waits for it longer than the limit of a call.
/// Threads: any; calls wait for each other.
class IsolatedPlugin {
 public:
  /// berth_plugin_v1::create of a ProxyPlugin: `host` is an instance's of the framework.
  static berth_code create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args_json, void** self,
                           berth_note_v1* note);
  ~IsolatedPlugin();
  IsolatedPlugin(const IsolatedPlugin&) = delete;
  IsolatedPlugin& operator=(const IsolatedPlugin&) = delete;

  // As the tables of the ABI have them.
  berth_code pre_filter(berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note);
  berth_code pre_score(berth_cycle_v1* cycle, const berth_slot* nodes, std::uint32_t count, berth_note_v1* note);
  berth_code filter(const berth_cycle_v1* cycle, const berth_node_block_v1* block, berth_filter_out_v1* out,
                    berth_note_v1* note);
  berth_code score(const berth_cycle_v1* cycle, const berth_node_block_v1* block, std::int64_t* raw,
                   berth_note_v1* note);
  berth_code normalize(const berth_cycle_v1* cycle, const berth_slot* nodes, std::int64_t* scores, std::uint32_t count,
                       berth_note_v1* note);
  berth_code state_clone(const void* from, void** to, berth_note_v1* note);
  void state_free(void* state);
  berth_code pod_moved(Op op, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node, berth_note_v1* note);
  berth_code hint(const berth_event_v1* event, const berth_pod_v1* const* pods, std::uint32_t count,
                  std::uint64_t* queue, berth_note_v1* note);
  std::uint64_t budget_ns() const noexcept { return budget_ns_; }

  IsolatedState state() const;

 private:
  enum class Phase : std::uint8_t { down, loading, up };
  /// A state of the plugin: a number of the process that made it.
  struct State {
    std::uint64_t generation = 0, value = 0;
  };
  /// Questions of create(), which are answered alike when it is called again.
  using Question = std::tuple<Upcall, std::uint64_t, std::string>;

  IsolatedPlugin(framework::PluginInstance& instance, const ProxyPlugin& proxy, const berth_host_v1& host,
                 std::string args);

  berth_code start(const berth_binder_v1* binder, berth_note_v1* note);
  bool is_up(berth_note_v1* note) REQUIRES(mutex_);
  bool begin(berth_note_v1* note) REQUIRES(mutex_);
  bool finish_start(std::int64_t until_ns, berth_note_v1* note) REQUIRES(mutex_);
  berth_code run(Op op, berth_note_v1* note) REQUIRES(mutex_);
  berth_code run(Op op, berth_note_v1* note, std::int64_t limit_ns) REQUIRES(mutex_);
  berth_code fail(std::string what, berth_note_v1* note) REQUIRES(mutex_);
  std::string when_again() const REQUIRES(mutex_);
  bool put_cycle(const berth_cycle_v1& cycle, berth_note_v1* note) REQUIRES(mutex_);
  bool put_nodes(const berth_slot* nodes, std::uint32_t count, berth_note_v1* note) REQUIRES(mutex_);
  bool put_block(const berth_node_block_v1& block, const berth_cycle_v1& cycle, berth_note_v1* note) REQUIRES(mutex_);
  berth_code too_much(berth_note_v1* note, std::string_view what) const REQUIRES(mutex_);
  void take_state(berth_cycle_v1& cycle) REQUIRES(mutex_);
  bool answer(const Reply& question) REQUIRES(mutex_);
  bool answer_binder(const Reply& question, std::string_view text) REQUIRES(mutex_);
  void answer_members(SetKind kind, std::uint32_t set) REQUIRES(mutex_);
  void answer_bytes(const void* bytes, std::size_t count) REQUIRES(mutex_);
  void give_back_pins() REQUIRES(mutex_);
  Request& request() REQUIRES(mutex_) { return child_->region().request; }

  framework::PluginInstance& instance_;
  const ProxyPlugin& proxy_;
  IsolatedLibrary& library_;
  const berth_host_v1& host_;
  const std::string args_;
  std::uint64_t budget_ns_ = 0;

  mutable Mutex mutex_;
  Phase phase_ GUARDED_BY(mutex_) = Phase::down;
  std::unique_ptr<ChildProcess> child_ GUARDED_BY(mutex_);
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;
  std::int64_t began_ns_ GUARDED_BY(mutex_) = 0;                                          // of the machine's clock
  std::int64_t up_since_ns_ GUARDED_BY(mutex_) = 0, again_at_ns_ GUARDED_BY(mutex_) = 0;  // of the framework's
  std::int64_t again_after_ns_ GUARDED_BY(mutex_) = 0;
  std::uint64_t failures_ GUARDED_BY(mutex_) = 0, restarts_ GUARDED_BY(mutex_) = 0;
  std::string failure_ GUARDED_BY(mutex_);
  const berth_binder_v1* binder_ GUARDED_BY(mutex_) = nullptr;  // while create() runs for the first time
  bool is_creating_ GUARDED_BY(mutex_) = false;
  std::map<Question, std::vector<std::uint64_t>> said_in_create_ GUARDED_BY(mutex_);
  std::map<Question, std::size_t> asked_again_ GUARDED_BY(mutex_);
  std::map<berth_id, std::uint32_t> pins_ GUARDED_BY(mutex_);
  std::vector<std::uint64_t> given_back_ GUARDED_BY(mutex_);  // states
  std::vector<std::byte> asked_ GUARDED_BY(mutex_);           // a question's bytes, copied
  Reply reply_ GUARDED_BY(mutex_);
  const char* call_ GUARDED_BY(mutex_) = "";
  berth_filter_out_v1* filter_out_ GUARDED_BY(mutex_) = nullptr;
  Mirror mirror_ GUARDED_BY(mutex_);
};

}  // namespace berth::isolation
