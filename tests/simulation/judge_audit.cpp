// SPDX-License-Identifier: Apache-2.0
// judge-audit: the rules of the simulation, over the audit log of an API server that schedulers used.
#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulation/ledger.hpp"
#include "support/api_server/api_objects.hpp"

namespace {

namespace json = boost::json;
using berth::simulation::key_of;
using berth::simulation::Ledger;
using berth::simulation::SentWrite;
using berth::tests::text_at;

const std::set<std::string> k_judged{"pods", "nodes", "persistentvolumes", "persistentvolumeclaims", "leases"};

struct Event {
  std::int64_t received_ns = 0, done_ns = 0;
  json::value whole;
};

/// A request is judged by what was true when it came, and changes what is true when it is done.
struct Step {
  std::int64_t time_ns = 0;
  bool is_done = false;
  const Event* event = nullptr;
};

/// "2026-11-27T20:36:20.123456Z"
std::int64_t time_of(const std::string& text) {
  std::tm parts{};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  std::int64_t ns = static_cast<std::int64_t>(::timegm(&parts)) * 1'000'000'000;
  std::int64_t unit = 100'000'000;
  if (*rest == '.')
    for (const char* digit = rest + 1; *digit >= '0' && *digit <= '9'; ++digit, unit /= 10) ns += (*digit - '0') * unit;
  return ns;
}

const json::value* at(const json::value& value, std::string_view pointer) {
  boost::system::error_code missing;
  const json::value* const found = value.find_pointer(pointer, missing);
  return found != nullptr && !found->is_null() ? found : nullptr;
}

/// 0: none is known.
std::uint64_t version_of(const json::value& object) {
  const std::string text = text_at(object, "/metadata/resourceVersion");
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

/// What a request is about.
struct Request {
  explicit Request(const json::value& whole)
      : who(text_at(whole, "/user/username")),
        verb(text_at(whole, "/verb")),
        plural(text_at(whole, "/objectRef/resource")),
        part(text_at(whole, "/objectRef/subresource")),
        ns(text_at(whole, "/objectRef/namespace")),
        name(text_at(whole, "/objectRef/name")) {}
  bool is_binding() const { return plural == "pods" && verb == "create" && part == "binding"; }
  bool is_eviction() const { return plural == "pods" && verb == "delete" && part.empty(); }

  const std::string who, verb, plural, part, ns, name;
};

class Audit {
 public:
  /// Requires: no other call before. Answers with how many events can be judged.
  std::size_t read(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      boost::system::error_code wrong;
      Event event{0, 0, json::parse(line, wrong)};
      if (wrong || text_at(event.whole, "/stage") != "ResponseComplete") continue;
      event.received_ns = time_of(text_at(event.whole, "/requestReceivedTimestamp"));
      event.done_ns = time_of(text_at(event.whole, "/stageTimestamp"));
      if (const Request request(event.whole); request.is_binding()) schedulers_.insert(request.who);
      events_.push_back(std::move(event));
    }
    return events_.size();
  }

  int judge() {
    std::vector<Step> steps;
    for (const Event& event : events_) {
      steps.push_back({event.received_ns, false, &event});
      steps.push_back({event.done_ns, true, &event});
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.time_ns < b.time_ns; });
    for (const Step& step : steps)
      if (step.is_done)
        take(*step.event);
      else
        send(*step.event);
    std::printf("%zu bindings and %zu evictions judged, %zu schedulers, %d rules broken\n", ledger_.bound_count(),
                ledger_.evicted_count(), schedulers_.size(), broken_);
    if (unseen_ != 0)
      std::fprintf(stderr,
                   "%zu bindings are of pods that the log does not show: log requests about pods at level "
                   "RequestResponse; a server that was killed leaves some out\n",
                   unseen_);
    if (broken_ != 0) return 1;
    return unseen_ == 0 ? 0 : 2;
  }

 private:
  void report(const std::string& rule, const std::string& what) {
    ++broken_;
    std::printf("BROKEN: %s: %s (%s)\n", rule.c_str(), what.c_str(), when_.c_str());
  }

  void send(const Event& event) {
    const Request request(event.whole);
    if (!schedulers_.contains(request.who) || !(request.is_binding() || request.is_eviction())) return;
    ledger_.sent({request.is_eviction() ? SentWrite::Kind::eviction : SentWrite::Kind::binding, request.who,
                  event.received_ns, request.ns, request.name, text_at(event.whole, "/requestObject/target/name"),
                  text_at(event.whole, "/requestObject/metadata/uid")});
  }

  void take(const Event& event) {
    const json::value& whole = event.whole;
    const json::value* const code = at(whole, "/responseStatus/code");
    if (code == nullptr || !code->is_int64() || code->get_int64() / 100 != 2) return;
    when_ = text_at(whole, "/stageTimestamp");
    const Request request(whole);
    if (!k_judged.contains(request.plural)) return;
    if (request.is_binding())
      return bind(request.ns, request.name, text_at(whole, "/requestObject/target/name"), event.done_ns);
    if (!request.part.empty() && request.part != "status") return;
    const json::value* answer = at(whole, "/responseObject");
    std::optional<json::value> completed;
    if (answer != nullptr && text_at(*answer, "/kind") == "PartialObjectMetadata") {
      completed = complete(request, *answer, whole);
      answer = completed ? &*completed : nullptr;
    }
    if (request.plural == "leases") return hold(request, answer, event.done_ns);
    if (request.verb == "delete") return remove(request.plural, request.ns, request.name, answer, event.done_ns);
    if (answer == nullptr) return;
    if (request.verb == "list") return list(request.plural, *answer, event.done_ns);
    if (request.verb == "deletecollection") {
      each_item(*answer, [&](const json::value& item) {
        remove(request.plural, text_at(item, "/metadata/namespace"), text_at(item, "/metadata/name"), &item,
               event.done_ns);
      });
    } else if (request.verb == "create" || request.verb == "update" || request.verb == "patch") {
      store(request.plural, request.ns, text_at(*answer, "/metadata/name"), *answer, event.done_ns);
    }
  }

  /// What a client that asks for metadata alone is answered, with the rest as it was known and as it was asked for. Nothing
  /// when the object is not known.
  std::optional<json::value> complete(const Request& request, const json::value& answer, const json::value& event) {
    const auto known = objects_.find(request.plural + "/" + key_of(request.ns, request.name));
    if (known == objects_.end()) return std::nullopt;
    json::value out = known->second;
    json::object& object = out.get_object();
    if (const json::value* const metadata = at(answer, "/metadata")) object["metadata"] = *metadata;
    boost::system::error_code missing;
    const json::value* const nominated = event.find_pointer("/requestObject/status/nominatedNodeName", missing);
    if (nominated == nullptr) return out;
    json::value& status = object["status"];
    if (!status.is_object()) status = json::object();
    status.get_object()["nominatedNodeName"] = *nominated;
    return out;
  }

  /// A lease that a scheduler wrote. It leads by its user name: the log has that of each request, and no identity. Where
  /// replicas share one, they are one.
  void hold(const Request& request, const json::value* answer, std::int64_t now_ns) {
    if (answer == nullptr || request.verb == "get" || !schedulers_.contains(request.who)) return;
    json::value lease = *answer;
    if (!text_at(lease, "/spec/holderIdentity").empty())
      lease.get_object()["spec"].get_object()["holderIdentity"] = request.who + "_";
    ledger_.take(request.plural, request.ns, request.name, &lease, now_ns);
  }

  template <typename Do>
  void each_item(const json::value& answer, Do&& then) {
    if (const json::value* const items = at(answer, "/items"); items != nullptr && items->is_array())
      for (const json::value& item : items->get_array()) then(item);
  }

  /// An object as it is now, or was a moment ago. A pod that has a node when it is first seen was bound by one who is not
  /// in this log.
  void store(const std::string& plural, const std::string& ns, const std::string& name, const json::value& object,
             std::int64_t now_ns) {
    if (at(object, "/metadata") == nullptr || gone_.contains(text_at(object, "/metadata/uid"))) return;
    json::value& known = objects_[plural + "/" + key_of(ns, name)];
    const bool is_new = known.is_null() || text_at(object, "/metadata/uid") != text_at(known, "/metadata/uid");
    if (!is_new && is_older(object, known)) return;
    known = object;
    const std::string node = text_at(object, "/spec/nodeName");
    if (plural != "pods" || node.empty() || !is_new) return ledger_.take(plural, ns, name, &object, now_ns);
    json::value waiting = object;
    waiting.get_object()["spec"].get_object().erase("nodeName");
    ledger_.take(plural, ns, name, &waiting, now_ns);
    ledger_.placed_before(ns, name, node);
  }

  /// Two answers may pass each other on their way; no pod that was bound waits again.
  static bool is_older(const json::value& object, const json::value& known) {
    return version_of(object) < version_of(known) ||
           (text_at(object, "/spec/nodeName").empty() && !text_at(known, "/spec/nodeName").empty());
  }

  /// What there was before the log began.
  void list(const std::string& plural, const json::value& answer, std::int64_t now_ns) {
    each_item(answer, [&](const json::value& item) {
      const std::string ns = text_at(item, "/metadata/namespace"), name = text_at(item, "/metadata/name");
      if (!objects_.contains(plural + "/" + key_of(ns, name))) store(plural, ns, name, item, now_ns);
    });
  }

  void bind(const std::string& ns, const std::string& name, const std::string& node, std::int64_t now_ns) {
    const auto known = objects_.find("pods/" + key_of(ns, name));
    if (known == objects_.end()) {
      ++unseen_;
      return;
    }
    json::value& spec = known->second.get_object()["spec"];
    if (!spec.is_object()) spec = json::object();
    spec.get_object()["nodeName"] = node;
    ledger_.take("pods", ns, name, &known->second, now_ns);
  }

  /// An object with a grace period is there until it is deleted with none.
  void remove(const std::string& plural, const std::string& ns, const std::string& name, const json::value* answer,
              std::int64_t now_ns) {
    const json::value* const grace = answer == nullptr ? nullptr : at(*answer, "/metadata/deletionGracePeriodSeconds");
    if (grace != nullptr && grace->is_int64() && grace->get_int64() > 0)
      return store(plural, ns, name, *answer, now_ns);
    if (const auto known = objects_.find(plural + "/" + key_of(ns, name)); known != objects_.end()) {
      gone_.insert(text_at(known->second, "/metadata/uid"));
      objects_.erase(known);
    }
    ledger_.take(plural, ns, name, nullptr, now_ns);
  }

  Ledger ledger_{[this](const std::string& rule, const std::string& what) { report(rule, what); },
                 [](const std::string&) {}, Ledger::Leaders::known_from_the_first_lease};
  std::vector<Event> events_;
  std::set<std::string> schedulers_, gone_;     // names; uids
  std::map<std::string, json::value> objects_;  // by "plural/namespace/name"
  std::string when_;
  std::size_t unseen_ = 0;  // bindings of pods that are not known
  int broken_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "judge_audit FILE: an audit log of an API server, a JSON object a line\n");
    return 2;
  }
  Audit audit;
  if (audit.read(argv[1]) == 0) {
    std::fprintf(stderr, "%s has no event at stage ResponseComplete\n", argv[1]);
    return 2;
  }
  return audit.judge();
}
