// SPDX-License-Identifier: Apache-2.0
/// A ResourceClaim with the classes that it names, read once per pod instead of once per node.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <berth/cel/cel.hpp>

#include "amount.hpp"
#include "objects.hpp"

namespace berth::dra {

/// Compiled when the claim is prepared; that it does not compile shows when a device is judged, as upstream.
struct PreparedSelector {
  std::shared_ptr<const cel::Program> program;
  std::string compile_error;
};

/// What the selectors of a pod's claims and of the classes that they name may take together. Each program counts once.
struct SelectorBudget {
  static constexpr std::size_t k_bytes_max = std::size_t{16} << 20;
  static constexpr std::uint64_t k_steps_max = 25'000'000;  ///< of compiling; a tenth of a second

  std::size_t bytes = 0;
  std::uint64_t steps = 0;
  std::unordered_map<std::string_view, std::shared_ptr<const cel::Program>> programs;  ///< that were counted, by text

  /// The compiled selector, or why there is none. What has no room is not compiled, or not kept.
  PreparedSelector prepare(const std::string& text, cel::ProgramCache& cache);
};

struct WantedAmount {
  std::string_view name;
  Amount amount;
};

/// A class as a request needs it.
struct PreparedClass {
  std::string name;
  std::vector<PreparedSelector> selectors;
  std::vector<OpaqueConfig> config;
};

/// `exactly`, or an entry of `firstAvailable`.
struct Query {
  const DeviceRequest* object = nullptr;
  std::uint32_t request = 0;  ///< index in the claim
  bool is_sub = false;
  std::string error;  ///< not empty: such a claim ends the attempt for its pod
  bool takes_all = false;
  std::int64_t count = 0;  ///< unless it takes all
  std::shared_ptr<const PreparedClass> device_class;
  std::vector<PreparedSelector> selectors;
  std::vector<WantedAmount> capacity;  ///< by name
};

struct PreparedConstraint {
  bool is_distinct = false;
  std::string_view attribute;  ///< with its domain
  std::string_view domain;
  std::string_view local_name;
  std::vector<bool> covers;  ///< by query
};

/// Class by name. Null: there is none.
using ClassLookup = std::function<std::shared_ptr<const DeviceClass>(std::string_view name)>;

/// Immutable: any thread may use it. Bounds: at most `k_queries_max` queries; more is an error of the claim.
class PreparedClaim {
 public:
  static constexpr std::size_t k_queries_max = 1024;

  struct RequestQueries {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool has_subs = false;
  };

  /// `programs` compiles the selectors; any thread may prepare with one cache at the same time.
  PreparedClaim(std::shared_ptr<const Claim> claim, const ClassLookup& classes, cel::ProgramCache& programs,
                SelectorBudget& budget);

  const Claim& object() const { return *claim_; }
  /// `namespace/name`
  const std::string& name() const { return name_; }
  const std::vector<Query>& queries() const { return queries_; }
  const std::vector<RequestQueries>& requests() const { return requests_; }
  const std::vector<PreparedConstraint>& constraints() const { return constraints_; }
  /// Of the constraints, or of the claim as a whole; raised after errors of requests.
  const std::string& error() const { return error_; }
  /// `r` or `r/sub`
  std::string result_name(const Query& query) const;

 private:
  Query read_query(const DeviceRequest& wanted, std::uint32_t request, bool is_sub, const ClassLookup& classes,
                   cel::ProgramCache& programs, SelectorBudget& budget);
  std::shared_ptr<const PreparedClass> class_of(const std::string& name, const ClassLookup& classes,
                                                cel::ProgramCache& programs, SelectorBudget& budget);
  void read_constraints();

  std::shared_ptr<const Claim> claim_;
  std::string name_;
  std::vector<std::shared_ptr<const PreparedClass>> classes_;
  std::vector<Query> queries_;
  std::vector<RequestQueries> requests_;
  std::vector<PreparedConstraint> constraints_;
  std::string error_;
};

}  // namespace berth::dra
