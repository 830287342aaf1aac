// SPDX-License-Identifier: Apache-2.0
#include "claim_deletion.hpp"

namespace devices {
namespace {

using berth::Json;
using berth::JsonWriter;
using berth::ObjectAnswer;

constexpr int k_attempts_max = 5;  // on conflicts

std::string without_finalizer(const ClaimObject& claim) {
  const Json metadata = Json::parse(claim.metadata);
  JsonWriter left = JsonWriter::list();
  for (const Json& each : metadata["finalizers"].items())
    if (!each.is_string() || each.string("") != k_finalizer) left.item(berth::json_of(each));
  return berth::with_member(metadata, "finalizers", left.done());
}

class Deletion : public std::enable_shared_from_this<Deletion> {
 public:
  Deletion(berth::ObjectWrites writes, ClaimPtr claim, std::function<void(std::string)> done)
      : writes_(writes), claim_(std::move(claim)), done_(std::move(done)) {}

  void unprotect(const ClaimPtr& now) {
    writes_.update(name(), now->json(without_finalizer(*now), now->status),
                   [self = shared_from_this()](const ObjectAnswer& answer) { self->unprotected(answer); });
  }

 private:
  berth::ObjectName name() const { return {k_claims, claim_->ns, claim_->name, {}}; }

  void unprotected(const ObjectAnswer& answer) {
    if (answer.is_ok()) {
      writes_.remove(name(), claim_->uid, [self = shared_from_this()](const ObjectAnswer& removed) {
        self->done_(removed.is_ok() || removed.code == BERTH_NOT_FOUND ? std::string() : removed.text);
      });
      return;
    }
    if (answer.code == BERTH_NOT_FOUND) return done_({});
    if (!answer.is_conflict() || ++attempts_ == k_attempts_max)
      return done_("update resourceclaim " + claim_->key() + ": " + answer.text);
    writes_.read(name(), [self = shared_from_this()](const ObjectAnswer& found) {
      if (found.code == BERTH_NOT_FOUND) return self->done_({});
      if (!found.is_ok()) return self->done_("get resourceclaim " + self->claim_->key() + ": " + found.text);
      try {
        self->unprotect(read_whole_claim(found.json));
      } catch (const berth::JsonError& e) {
        self->done_(e.what());
      }
    });
  }

  const berth::ObjectWrites writes_;
  const ClaimPtr claim_;
  const std::function<void(std::string)> done_;
  int attempts_ = 0;
};

}  // namespace

void delete_claim(berth::ObjectWrites writes, ClaimPtr claim, std::function<void(std::string error)> done) {
  const auto deletion = std::make_shared<Deletion>(writes, claim, std::move(done));
  deletion->unprotect(claim);
}

}  // namespace devices
