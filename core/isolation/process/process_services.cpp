// SPDX-License-Identifier: Apache-2.0
#include "isolation/process/process_services.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "isolation/packed.hpp"
#include "isolation/turns.hpp"

namespace berth::isolation {
namespace {

constexpr std::size_t k_texts_kept = std::size_t{1} << 16;  // and as many from before
constexpr std::size_t k_sets_kept = std::size_t{1} << 14;
constexpr std::size_t k_message_bytes = std::size_t{8} << 10;

/// What was looked up, in two generations: addresses in the older one stay good until the next change.
template <typename Value>
class Remembered {
 public:
  Value* find(std::uint64_t key) {
    if (const auto at = now_.find(key); at != now_.end()) return &at->second;
    return nullptr;
  }
  Value& add(std::uint64_t key, Value value, std::size_t kept) {
    if (now_.size() >= kept) forget();
    return now_.emplace(key, std::move(value)).first->second;
  }
  void forget() {
    before_ = std::move(now_);
    now_.clear();
  }

 private:
  std::unordered_map<std::uint64_t, Value> now_, before_;
};

struct Services {
  HostLine* line = nullptr;
  std::uint64_t symbols_age = 0, sets_age = 0;
  std::unordered_map<berth_id, std::string> own_texts;  // of ids that live as long as the instance
  Remembered<std::string> texts;
  Remembered<std::vector<std::byte>> sets;
};

Services& services() {
  static Services all;
  return all;
}

std::string_view view(berth_str text) noexcept {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
}
berth_str to_abi(std::string_view text) noexcept { return {text.data(), text.size()}; }

// --- berth.log/1 -----------------------------------------------------------------------------------------------------
std::uint32_t log_enabled(void*, std::uint32_t severity) {
  return static_cast<std::uint32_t>(
      services().line->ask(Upcall::log_enabled, severity, 0, std::span<std::byte>()).value);
}
void log_write(void*, std::uint32_t severity, berth_str message, const berth_kv_v1* fields, std::uint32_t count) {
  alignas(8) static std::byte room[k_asked_bytes];
  PackedWriter out(room);
  out.text(view(message).substr(0, k_message_bytes));
  const std::uint32_t kept = std::min<std::uint32_t>(count, 16);
  for (std::uint32_t i = 0; i < kept; ++i) {
    out.text(view(fields[i].key).substr(0, 256));
    out.text(view(fields[i].value).substr(0, 1024));
  }
  services().line->ask(Upcall::log, severity, kept, std::span<const std::byte>(room, out.size()));
}
constexpr berth_log_v1 k_log{sizeof(berth_log_v1), 0, &log_enabled, &log_write};

// --- berth.clock/1 ---------------------------------------------------------------------------------------------------
constexpr berth_clock_v1 k_clock{
    sizeof(berth_clock_v1), 0,
    [](void*) {
      return static_cast<std::int64_t>(services().line->ask(Upcall::monotonic_ns, 0, 0, std::span<std::byte>()).value);
    },
    [](void*) {
      return static_cast<std::int64_t>(services().line->ask(Upcall::wall_ns, 0, 0, std::span<std::byte>()).value);
    }};

// --- berth.intern/1 --------------------------------------------------------------------------------------------------
berth_id intern(void*, berth_str text) {
  const auto id = static_cast<berth_id>(services().line->ask(Upcall::intern, 0, 0, {view(text)}).value);
  if (id != 0) services().own_texts.emplace(id, view(text));
  return id;
}
void text_of(void*, berth_id id, berth_str* out) {
  *out = {"", 0};
  if (id == 0) return;
  Services& s = services();
  if (const auto own = s.own_texts.find(id); own != s.own_texts.end()) {
    *out = to_abi(own->second);
    return;
  }
  std::string* known = s.texts.find(id);
  if (known == nullptr) {
    const HostLine::Answer answer = s.line->ask(Upcall::text, id, 0, std::span<std::byte>());
    known = &s.texts.add(id, std::string(reinterpret_cast<const char*>(answer.bytes.data()), answer.bytes.size()),
                         k_texts_kept);
  }
  *out = to_abi(*known);
}
constexpr berth_intern_v1 k_intern{
    sizeof(berth_intern_v1),
    0,
    &intern,
    &text_of,
    [](void*, berth_id id) { services().line->ask(Upcall::pin, id, 0, std::span<std::byte>()); },
    [](void*, berth_id id) { services().line->ask(Upcall::unpin, id, 0, std::span<std::byte>()); },
    [](void*, berth_str text) {
      return static_cast<berth_id>(services().line->ask(Upcall::intern_for_cycle, 0, 0, {view(text)}).value);
    }};

// --- berth.reasons/1 -------------------------------------------------------------------------------------------------
constexpr berth_reasons_v1 k_reasons{
    sizeof(berth_reasons_v1), 0, [](void*, const berth_str* texts, std::uint32_t count) -> berth_reason {
      alignas(8) static std::byte room[k_asked_bytes];
      PackedWriter out(room);
      const std::uint32_t kept = std::min<std::uint32_t>(count, 16);
      for (std::uint32_t i = 0; i < kept; ++i) out.text(view(texts[i]).substr(0, 1024));
      return static_cast<berth_reason>(
          services().line->ask(Upcall::make_reason, kept, 0, std::span<const std::byte>(room, out.size())).value);
    }};

// --- berth.sets/1 ----------------------------------------------------------------------------------------------------
template <typename T>
const T* members(SetKind kind, std::uint32_t set, std::uint32_t* count) {
  *count = 0;
  if (set == 0) return nullptr;
  Services& s = services();
  const std::uint64_t key = static_cast<std::uint64_t>(kind) << 32 | set;
  std::vector<std::byte>* known = s.sets.find(key);
  if (known == nullptr) {
    const HostLine::Answer answer =
        s.line->ask(Upcall::set_members, set, static_cast<std::uint64_t>(kind), std::span<std::byte>());
    known = &s.sets.add(key, {answer.bytes.begin(), answer.bytes.end()}, k_sets_kept);
  }
  *count = static_cast<std::uint32_t>(known->size() / sizeof(T));
  return reinterpret_cast<const T*>(known->data());
}
constexpr berth_sets_v1 k_sets{
    sizeof(berth_sets_v1),
    0,
    [](void*, std::uint32_t set, std::uint32_t* count) { return members<berth_taint_v1>(SetKind::taints, set, count); },
    [](void*, std::uint32_t set, std::uint32_t* count) { return members<berth_image_v1>(SetKind::images, set, count); },
    [](void*, std::uint32_t set, std::uint32_t* count) {
      return members<berth_host_port_v1>(SetKind::ports, set, count);
    },
    [](void*, std::uint32_t set, std::uint32_t* count) { return members<berth_id>(SetKind::features, set, count); },
    [](void*, std::uint32_t set, std::uint32_t* count) { return members<berth_label_v1>(SetKind::labels, set, count); },
    [](void*, std::uint32_t set, std::uint32_t* count) {
      return members<berth_node_volume_v1>(SetKind::volumes, set, count);
    },
    [](void*) { return services().sets_age; }};

}  // namespace

void HostLine::await() {
  const Turn turn{region_.header.to_child, region_.header.child_sleeps};
  ++turn_;
  for (std::uint32_t number = turn.number.load(std::memory_order_acquire); number != turn_;)
    number = await_turn(turn, number, std::numeric_limits<std::int64_t>::max());
}

const Request& HostLine::next() {
  await();
  return region_.request;
}

void HostLine::reply(const Reply& reply) {
  region_.reply = reply;
  give_turn({region_.header.to_host, region_.header.host_sleeps}, turn_);
}

HostLine::Answer HostLine::ask(Upcall upcall, std::uint64_t value, std::uint64_t other,
                               std::initializer_list<std::string_view> texts) {
  alignas(8) static std::byte room[k_asked_bytes];
  PackedWriter out(room);
  for (const std::string_view text : texts) out.text(text);
  return ask(upcall, value, other, std::span<const std::byte>(room, out.size()));
}

HostLine::Answer HostLine::ask(Upcall upcall, std::uint64_t value, std::uint64_t other,
                               std::span<const std::byte> packed) {
  if (!packed.empty()) std::memcpy(region_.asked, packed.data(), packed.size());
  Reply question;
  question.upcall = upcall;
  question.value = value;
  question.other = other;
  question.bytes = static_cast<std::uint32_t>(packed.size());
  reply(question);
  const Request& answer = next();
  return {answer.code, answer.value, {region_.answered, answer.bytes}};
}

void serve_with(HostLine& line) { services().line = &line; }

const void* process_service(void*, const char* id) {
  if (id == nullptr) return nullptr;
  const std::string_view name = id;
  if (name == "berth.log/1") return &k_log;
  if (name == "berth.intern/1") return &k_intern;
  if (name == "berth.reasons/1") return &k_reasons;
  if (name == "berth.sets/1") return &k_sets;
  if (name == "berth.clock/1") return &k_clock;
  return nullptr;
}

berth_binder_v1 process_binder() {
  berth_binder_v1 binder{};
  binder.struct_size = sizeof binder;
  binder.column = [](void*, std::uint32_t kind, berth_str key) {
    return static_cast<std::uint32_t>(services().line->ask(Upcall::column, kind, 0, {view(key)}).value);
  };
  binder.request = [](void*, berth_str resource) {
    return static_cast<std::uint32_t>(services().line->ask(Upcall::request, 0, 0, {view(resource)}).value);
  };
  binder.pod_fields = [](void*, std::uint64_t groups) {
    return services().line->ask(Upcall::pod_fields, groups, 0, std::span<std::byte>()).value;
  };
  binder.pod_label = [](void*, berth_str key) { services().line->ask(Upcall::pod_label, 0, 0, {view(key)}); };
  return binder;
}

void forget_if_aged(std::uint64_t symbols_age, std::uint64_t sets_age) {
  Services& s = services();
  if (s.symbols_age != symbols_age) s.texts.forget();
  if (s.sets_age != sets_age) s.sets.forget();
  s.symbols_age = symbols_age;
  s.sets_age = sets_age;
}

berth_code fail_row(void*, std::uint32_t row, berth_str text) {
  return services().line->ask(Upcall::fail_row, row, 0, {view(text).substr(0, 1024)}).code;
}

berth_code add_detail(void*, std::uint32_t row, berth_str text, std::uint64_t count) {
  return services().line->ask(Upcall::add_detail, row, count, {view(text).substr(0, 1024)}).code;
}

}  // namespace berth::isolation
