// SPDX-License-Identifier: Apache-2.0
/// What a policy says about a pod as a whole (Verdict) or about one node (Rejection), and how it reaches the host's
/// note.
///
/// Units:    codes are BERTH_*, of abi/status.h; 0..6 mean what kube-scheduler's framework.Code means.
/// Threads:  any: values. A Verdict owns its text.
/// Lifetime: a Reason that berth.reasons/1 made is good for the attempt; a row of the plugin's table always.
#pragma once
#include <berth/types.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace berth {
inline namespace sdk {

/// Why a node is refused. `reason` is a row of the plugin's table or an id made by Reasons.
struct Rejection {
  Reason reason = 0;          ///< 0: no reason is given
  bool unresolvable = false;  ///< evicting pods from the node cannot help
};
/// The node is out, and might be in if pods were evicted from it (BERTH_UNSCHEDULABLE).
constexpr Rejection unschedulable(Reason reason) noexcept { return {reason, false}; }
/// The node is out whatever is evicted: preemption does not look at it (BERTH_UNRESOLVABLE).
constexpr Rejection unresolvable(Reason reason) noexcept { return {reason, true}; }

/// The answer of a point that speaks about the pod: a code, and a table row or a sentence. Allocates only for
/// sentences. What a point does not take (async() from pre_filter, say) ends the attempt as an error of the plugin.
class [[nodiscard]] Verdict {
 public:
  /// Goes on. Of post_filter: a node was nominated. Of bind: the pod is bound.
  static Verdict ok() noexcept { return Verdict(BERTH_OK); }
  /// This policy takes no part for this pod. Of pre_filter, pre_score, pre_bind_check and bind only.
  static Verdict skip() noexcept { return Verdict(BERTH_SKIP); }
  /// Of permit only: the pod keeps its node and waits, as long as Permit::timeout_ms() says.
  static Verdict wait() noexcept { return Verdict(BERTH_WAIT); }
  /// Of pre_bind and bind only: BindCall::complete() follows, exactly once.
  static Verdict async() noexcept { return Verdict(BERTH_ASYNC); }
  /// Not now; evicting pods may help. The reason is what the pod's message counts.
  static Verdict unschedulable(Reason reason) noexcept { return Verdict(BERTH_UNSCHEDULABLE, reason); }
  /// The same with a sentence of its own; the host cuts it when its buffer is full.
  static Verdict unschedulable(std::string text) { return Verdict(BERTH_UNSCHEDULABLE, std::move(text)); }
  /// Not now; evicting pods cannot help.
  static Verdict unresolvable(Reason reason) noexcept { return Verdict(BERTH_UNRESOLVABLE, reason); }
  static Verdict unresolvable(std::string text) { return Verdict(BERTH_UNRESOLVABLE, std::move(text)); }
  /// As unschedulable(); a later hint of this policy takes the pod out of the queue without back-off.
  static Verdict pending(Reason reason) noexcept { return Verdict(BERTH_PENDING, reason); }
  static Verdict pending(std::string text) { return Verdict(BERTH_PENDING, std::move(text)); }
  /// Something is broken: the attempt ends with that text, and the pod comes again after the back-off for errors.
  static Verdict error(std::string text) { return Verdict(BERTH_ERROR, std::move(text)); }
  /// A code that came from a service, with its text.
  static Verdict of(berth_code code, std::string text = {}) { return Verdict(code, std::move(text)); }

  /// BERTH_OK .. BERTH_CONFLICT.
  berth_code code() const noexcept { return code_; }
  /// 0 where text() speaks, or where nothing is to be said.
  Reason reason() const noexcept { return reason_; }
  /// Lives as long as the verdict.
  const std::string& text() const noexcept { return text_; }
  bool is_ok() const noexcept { return code_ == BERTH_OK; }

 private:
  explicit Verdict(berth_code code, Reason reason = 0) noexcept : code_(code), reason_(reason) {}
  Verdict(berth_code code, std::string text) : code_(code), text_(std::move(text)) {}

  berth_code code_;
  Reason reason_ = 0;
  std::string text_;
};

namespace detail {

/// Copies what fits; text_len keeps the full length, so the host sees that something was cut.
inline void write_text(berth_note_v1* note, std::string_view text) noexcept {
  if (note == nullptr) return;
  const std::size_t fits = std::min<std::size_t>(text.size(), static_cast<std::size_t>(note->text_cap));
  if (note->text != nullptr && fits != 0) std::memcpy(note->text, text.data(), fits);
  note->text_len = text.size();
}

/// What a C function answers for the verdict; the note has the reason and the text then.
inline berth_code finish(const Verdict& verdict, berth_note_v1* note) noexcept {
  if (note != nullptr && verdict.reason() != 0) note->reason = verdict.reason();
  if (!verdict.text().empty()) write_text(note, verdict.text());
  return verdict.code();
}

/// The exception barrier: nothing that a policy throws crosses into the host.
/// BadArgs and TooOld have codes of their own, which mean something in create() only; all else is BERTH_ERROR.
template <class Body>
berth_code guarded(berth_note_v1* note, Body&& body) noexcept {
  try {
    return body();
  } catch (const BadArgs& e) {
    write_text(note, e.what());
    return BERTH_BAD_ARGS;
  } catch (const TooOld& e) {
    write_text(note, e.what());
    return BERTH_TOO_OLD;
  } catch (const std::exception& e) {
    write_text(note, e.what());
  } catch (...) {
    write_text(note, "unknown exception");
  }
  return BERTH_ERROR;
}

/// Outside create() the load-time codes mean nothing to the host: everything thrown is an error.
template <class Body>
berth_code guarded_call(berth_note_v1* note, Body&& body) noexcept {
  const berth_code code = guarded(note, std::forward<Body>(body));
  return code == BERTH_BAD_ARGS || code == BERTH_TOO_OLD ? static_cast<berth_code>(BERTH_ERROR) : code;
}

}  // namespace detail
}  // namespace sdk
}  // namespace berth
