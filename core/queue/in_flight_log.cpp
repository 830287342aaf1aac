// SPDX-License-Identifier: Apache-2.0
#include "queue/in_flight_log.hpp"

#include <algorithm>
#include <limits>

#include "model/object_bytes.hpp"

namespace berth::queue {

std::uint32_t InFlightLog::bytes_of(const Entry& entry) noexcept {
  const model::EventObjects& objects = entry.objects;
  const std::size_t bytes = sizeof(Entry) + model::bytes_of(objects.old_pod) + model::bytes_of(objects.new_pod) +
                            model::bytes_of(objects.old_node) + model::bytes_of(objects.new_node) +
                            model::bytes_of(objects.old_object) + model::bytes_of(objects.new_object);
  return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

void InFlightLog::start(Record& record) {
  if (Record* before = by_uid_.find(*record.pod)) {
    BERTH_CHECK(!before->logged, "pod {}/{} is in flight twice", record.pod->ns, record.pod->name);
    by_uid_.erase(*before);  // an attempt past its log and a new one of the same pod: the new one hears of removals
  }
  by_uid_.insert(record);
  ++markers_;
  record.logged = true;
  record.first_event = first_number_ + events_.size();
  record.flight_before = last_;
  record.flight_after = RecordTable::k_no_slot;
  (last_ == RecordTable::k_no_slot ? first_ : records_[last_].flight_after) = record.slot;
  last_ = record.slot;
}

void InFlightLog::unlink(Record& record) {
  --markers_;
  record.logged = false;
  (record.flight_before == RecordTable::k_no_slot ? first_ : records_[record.flight_before].flight_after) =
      record.flight_after;
  (record.flight_after == RecordTable::k_no_slot ? last_ : records_[record.flight_after].flight_before) =
      record.flight_before;
}

}  // namespace berth::queue
