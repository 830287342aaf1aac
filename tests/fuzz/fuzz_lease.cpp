// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Lease: what is read of it stays within what the API takes, and what is written of that is read back.
#include <cstdint>
#include <limits>
#include <string>

#include "base/check.hpp"
#include "cluster/kube/lease/lease.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::cluster::kube;
  constexpr std::int64_t k_most = std::numeric_limits<std::int32_t>::max();
  const berth::Result<Lease> read = read_lease(std::string(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) {
    BERTH_CHECK(!read.error().message.empty(), "refused without a reason");
    return 0;
  }
  const LeaseRecord& record = read->record;
  BERTH_CHECK(record.duration_s >= 0 && record.duration_s <= k_most, "a duration of {} s", record.duration_s);
  BERTH_CHECK(read->duration_ns() / 1'000'000'000 == record.duration_s, "the duration overflows");
  BERTH_CHECK(record.transitions >= 0 && record.transitions <= k_most, "{} transitions", record.transitions);
  BERTH_CHECK(read->transitions_of_next() > 0 && read->transitions_of_next() <= k_most, "transitions overflow");
  const berth::Result<Lease> again = read_lease(lease_json("ns", "name", read->metadata_json, record));
  BERTH_CHECK(again.ok(), "what is written cannot be read: {}", again.ok() ? "" : again.error().message);
  BERTH_CHECK(again->record == record && again->version == read->version, "it is read differently");
  return 0;
}
