// SPDX-License-Identifier: Apache-2.0
#include "isolation/child_process.hpp"

#include <algorithm>
#include <utility>

#include "isolation/turns.hpp"

namespace berth::isolation {
namespace {

constexpr std::int64_t k_look_ns = 100'000'000;  // the starter's notice is looked for so often
constexpr std::int64_t k_notice_ns = 10'000'000, k_end_ns = 2'000'000'000;

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::begin(StarterLink& starter) {
  Result<StarterLink::Begun> begun = starter.begin();
  if (!begun.ok()) return begun.error();
  Result<SharedMemory> memory = SharedMemory::map(begun->memory.number(), k_region_bytes);
  if (!memory.ok()) {
    starter.end(begun->child);
    return memory.error();
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(starter, std::move(*begun), std::move(*memory)));
}

ChildProcess::ChildProcess(StarterLink& starter, StarterLink::Begun begun, SharedMemory memory)
    : starter_(starter), id_(begun.child), process_(begun.process), memory_(std::move(memory)) {}

ChildProcess::~ChildProcess() { end(); }

void ChildProcess::post() noexcept { give_turn({region().header.to_child, region().header.child_sleeps}, ++turn_); }

ChildProcess::Outcome ChildProcess::await(std::int64_t until_ns) {
  Header& header = region().header;
  const std::uint32_t was = turn_ - 1;
  // What else the number may be is not this request's answer.
  std::uint32_t number = header.to_host.load(std::memory_order_acquire);
  while (number == was) {
    number = await_turn({header.to_host, header.host_sleeps}, was, std::min(until_ns, now_ns() + k_look_ns));
    if (number != was) break;
    // It may say so itself: the starter is asked.
    const bool is_said = header.ended.load(std::memory_order_acquire) != 0;
    if (const auto status = starter_.ended(id_, is_said ? k_notice_ns : 0)) {
      has_ended_ = true;
      how_ = how_it_ended(*status);
      return Outcome::ended;
    }
    if (now_ns() >= until_ns) return Outcome::late;
  }
  if (number != turn_) return Outcome::garbled;
  if (base_ == 0) base_ = copy_once(region().base);
  return Outcome::replied;
}

std::string ChildProcess::end() {
  if (has_ended_) return how_;
  has_ended_ = true;
  starter_.end(id_);
  const auto status = starter_.ended(id_, k_end_ns);
  how_ = status ? how_it_ended(*status) : "no notice";
  return how_;
}

}  // namespace berth::isolation
