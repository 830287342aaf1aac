// SPDX-License-Identifier: Apache-2.0
/// What a policy says about a pod as a whole (Verdict) or about one node (Rejection), and how it reaches the host's
/// note.
#pragma once
#include <berth/types.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace berth {
inline namespace sdk {

/// Why a node is refused. `reason` is a row of the plugin's table or an id made by Reasons.
struct Rejection {
  Reason reason = 0;
  bool unresolvable = false;  ///< evicting pods from the node cannot help
};
constexpr Rejection unschedulable(Reason reason) noexcept { return {reason, false}; }
constexpr Rejection unresolvable(Reason reason) noexcept { return {reason, true}; }

/// The answer of a point that speaks about the pod: a code, and a table row or a sentence. Allocates only for
/// sentences.
class [[nodiscard]] Verdict {
 public:
  static Verdict ok() noexcept { return Verdict(BERTH_OK); }
  static Verdict skip() noexcept { return Verdict(BERTH_SKIP); }
  static Verdict wait() noexcept { return Verdict(BERTH_WAIT); }
  static Verdict async() noexcept { return Verdict(BERTH_ASYNC); }
  static Verdict unschedulable(Reason reason) noexcept { return Verdict(BERTH_UNSCHEDULABLE, reason); }
  static Verdict unschedulable(std::string text) { return Verdict(BERTH_UNSCHEDULABLE, std::move(text)); }
  static Verdict unresolvable(Reason reason) noexcept { return Verdict(BERTH_UNRESOLVABLE, reason); }
  static Verdict unresolvable(std::string text) { return Verdict(BERTH_UNRESOLVABLE, std::move(text)); }
  static Verdict pending(Reason reason) noexcept { return Verdict(BERTH_PENDING, reason); }
  static Verdict pending(std::string text) { return Verdict(BERTH_PENDING, std::move(text)); }
  static Verdict error(std::string text) { return Verdict(BERTH_ERROR, std::move(text)); }
  /// A code that came from a service, with its text.
  static Verdict of(berth_code code, std::string text = {}) { return Verdict(code, std::move(text)); }

  berth_code code() const noexcept { return code_; }
  Reason reason() const noexcept { return reason_; }
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

inline berth_code finish(const Verdict& verdict, berth_note_v1* note) noexcept {
  if (note != nullptr && verdict.reason() != 0) note->reason = verdict.reason();
  if (!verdict.text().empty()) write_text(note, verdict.text());
  return verdict.code();
}

/// The exception barrier: nothing that a policy throws crosses into the host.
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
