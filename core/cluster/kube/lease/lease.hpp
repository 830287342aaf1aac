// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {

/// What a Lease says, as far as election is concerned.
struct LeaseRecord {
  std::string holder;  // empty: released
  std::int64_t duration_s = 0;
  std::string acquired, renewed;  // as written
  std::int64_t transitions = 0;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

/// A Lease as fetched: the record, and everything else of the object, which is kept as it is.
///
/// Numbers are those that the API has room for, 0 to 2^31 - 1, whatever was written: what a holder says of itself must
/// not break the arithmetic of others. Times are never read: clocks of other machines do not count.
struct Lease {
  LeaseRecord record;
  std::string version;
  std::string metadata_json;  // empty: there is none

  /// How long the holder may go on without being heard of.
  std::int64_t duration_ns() const noexcept { return record.duration_s * 1'000'000'000; }
  /// Of a record in which another process is the holder. Stays at the highest number that the API takes.
  std::int64_t transitions_of_next() const noexcept;
};

Lease lease_of(const text::Value& root);
/// Fails when the text is not JSON.
Result<Lease> read_lease(const std::string& json);
/// The object to be written. `metadata_json` empty: a new object of that name.
std::string lease_json(const std::string& ns, const std::string& name, const std::string& metadata_json,
                       const LeaseRecord& record);

}  // namespace berth::cluster::kube
