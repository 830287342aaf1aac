// SPDX-License-Identifier: Apache-2.0
/// What the host answers to a process that asks while it carries out a call. Everything in a question may be a lie.
#include <algorithm>
#include <cstring>

#include "framework/services/service_tables.hpp"
#include "isolation/isolated_plugin.hpp"
#include "isolation/packed.hpp"

namespace berth::isolation {
namespace {

constexpr std::size_t k_pins_most = std::size_t{1} << 16;
constexpr std::uint32_t k_texts_most = 16;
constexpr std::size_t k_create_questions_most = std::size_t{1} << 16;

berth_str to_abi(std::string_view text) noexcept { return {text.data(), text.size()}; }

template <typename Table>
const Table& table(const berth_host_v1& host, const char* id) {
  return *static_cast<const Table*>(host.service(host.ctx, id));
}

}  // namespace

void IsolatedPlugin::answer_bytes(const void* bytes, std::size_t count) {
  count = std::min(count, k_answered_bytes);
  if (count != 0) std::memcpy(child_->region().answered, bytes, count);
  request().bytes = static_cast<std::uint32_t>(count);
}

/// Numbers of sets that there are not have no members.
void IsolatedPlugin::answer_members(SetKind kind, std::uint32_t set) {
  const auto give = [&](const auto& lists) REQUIRES(mutex_) {
    if (set >= lists.id_limit()) return;
    const auto members = lists.members(set);
    answer_bytes(members.data(), members.size_bytes());
  };
  const auto& lists = instance_.host().lists;
  switch (kind) {
    case SetKind::taints:
      return give(lists.taints);
    case SetKind::images:
      return give(lists.images);
    case SetKind::ports:
      return give(lists.ports);
    case SetKind::features:
      return give(lists.features);
    case SetKind::labels:
      return give(lists.labels);
    case SetKind::volumes:
      return give(lists.volumes);
  }
}

void IsolatedPlugin::give_back_pins() {
  for (const auto& [id, count] : pins_)
    for (std::uint32_t i = 0; i < count; ++i) instance_.host().symbols.unpin(id);
  pins_.clear();
}

/// What create() declares: the first time it is the framework's to answer; later it has to be the same again.
bool IsolatedPlugin::answer_binder(const Reply& question, std::string_view text) {
  Question key(question.upcall, question.value, std::string(text));
  std::uint64_t& value = request().value;
  if (binder_ == nullptr) {
    const auto known = said_in_create_.find(key);
    if (known == said_in_create_.end()) return false;
    std::size_t& asked = asked_again_[key];
    value = known->second[std::min(asked, known->second.size() - 1)];
    ++asked;
    return true;
  }
  if (said_in_create_.size() >= k_create_questions_most) return false;
  std::uint64_t out = 0;
  switch (question.upcall) {
    case Upcall::column:
      if (instance_.columns().size() >= k_columns_max) return false;
      out = binder_->column(binder_->ctx, static_cast<std::uint32_t>(question.value), to_abi(text));
      break;
    case Upcall::request:
      out = binder_->request(binder_->ctx, to_abi(text));
      break;
    case Upcall::pod_fields:
      out = binder_->pod_fields(binder_->ctx, question.value);
      break;
    case Upcall::pod_label:
      binder_->pod_label(binder_->ctx, to_abi(text));
      break;
    default:  // intern
      out = table<berth_intern_v1>(host_, "berth.intern/1").intern(host_.ctx, to_abi(text));
      break;
  }
  said_in_create_[std::move(key)].push_back(out);
  value = out;
  return true;
}

bool IsolatedPlugin::answer(const Reply& question) {
  if (question.bytes > k_asked_bytes) return false;
  asked_.resize(question.bytes);
  copy_once(asked_.data(), child_->region().asked, asked_.size());
  PackedReader in(asked_);
  Request& out = request();
  out.op = Op::answer;
  out.code = BERTH_OK;
  out.value = 0;
  out.bytes = 0;
  const auto id = static_cast<berth_id>(question.value);
  switch (question.upcall) {
    case Upcall::none:
      return false;
    case Upcall::column:
    case Upcall::request:
    case Upcall::pod_label:
      return is_creating_ && answer_binder(question, in.text()) && in.ok();
    case Upcall::pod_fields:
      return is_creating_ && answer_binder(question, {});
    case Upcall::intern: {
      const std::string_view text = in.text();
      if (!in.ok()) return false;
      if (is_creating_ && (binder_ != nullptr || said_in_create_.contains({Upcall::intern, 0, std::string(text)})))
        return answer_binder({Upcall::intern}, text);
      out.value = table<berth_intern_v1>(host_, "berth.intern/1").intern(host_.ctx, to_abi(text));
      return true;
    }
    case Upcall::intern_for_cycle:
      out.value = table<berth_intern_v1>(host_, "berth.intern/1").intern_for_cycle(host_.ctx, to_abi(in.text()));
      return in.ok();
    case Upcall::text: {
      // Pinned meanwhile: the number may be one that is not held.
      SymbolTable& symbols = instance_.host().symbols;
      symbols.pin(id);
      const std::string text(symbols.text(id));
      symbols.unpin(id);
      answer_bytes(text.data(), text.size());
      return true;
    }
    case Upcall::pin:
      if (id == 0) return true;
      if (pins_.size() >= k_pins_most || pins_[id] >= k_pins_most) return false;
      ++pins_[id];
      instance_.host().symbols.pin(id);
      return true;
    case Upcall::unpin:
      if (const auto pinned = pins_.find(id); pinned != pins_.end()) {
        instance_.host().symbols.unpin(id);
        if (--pinned->second == 0) pins_.erase(pinned);
      }
      return true;
    case Upcall::log_enabled:
      out.value =
          table<berth_log_v1>(host_, "berth.log/1").enabled(host_.ctx, static_cast<std::uint32_t>(question.value));
      return true;
    case Upcall::log: {
      const std::string_view message = in.text();
      std::vector<berth_kv_v1> fields;
      for (std::uint64_t i = 0; i < question.other && i < k_texts_most; ++i) {
        const std::string_view key = in.text();
        fields.push_back({to_abi(key), to_abi(in.text())});
      }
      if (in.ok())
        table<berth_log_v1>(host_, "berth.log/1")
            .write(host_.ctx, static_cast<std::uint32_t>(question.value), to_abi(message), fields.data(),
                   static_cast<std::uint32_t>(fields.size()));
      return in.ok();
    }
    case Upcall::make_reason: {
      std::vector<berth_str> texts;
      for (std::uint64_t i = 0; i < question.value && i < k_texts_most; ++i) texts.push_back(to_abi(in.text()));
      if (in.ok())
        out.value = table<berth_reasons_v1>(host_, "berth.reasons/1")
                        .make(host_.ctx, texts.data(), static_cast<std::uint32_t>(texts.size()));
      return in.ok();
    }
    case Upcall::set_members:
      answer_members(static_cast<SetKind>(question.other), static_cast<std::uint32_t>(question.value));
      return true;
    case Upcall::monotonic_ns:
      out.value = static_cast<std::uint64_t>(instance_.host().ports.clock.monotonic_ns());
      return true;
    case Upcall::wall_ns:
      out.value = static_cast<std::uint64_t>(instance_.host().ports.clock.wall_ns());
      return true;
    case Upcall::fail_row:
      if (filter_out_ == nullptr) return false;
      out.code = filter_out_->fail_row(filter_out_->ctx, static_cast<std::uint32_t>(question.value), to_abi(in.text()));
      return in.ok();
    case Upcall::add_detail:
      if (filter_out_ == nullptr || filter_out_->add_detail == nullptr) return false;
      out.code = filter_out_->add_detail(filter_out_->ctx, static_cast<std::uint32_t>(question.value),
                                         to_abi(in.text()), question.other);
      return in.ok();
  }
  return false;
}

}  // namespace berth::isolation
