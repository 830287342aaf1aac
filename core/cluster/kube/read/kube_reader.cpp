// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/kube_reader.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <iterator>
#include <map>
#include <type_traits>

#include "base/check.hpp"
#include "base/guarded.hpp"
#include "cluster/kube/read/closed_nodes.hpp"
#include "cluster/kube/read/failover_check.hpp"
#include "observe/log.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::string_view k_pods = "core/v1/pods", k_nodes = "core/v1/nodes";
constexpr std::array k_volumes = {std::string_view("core/v1/persistentvolumeclaims"),
                                  std::string_view("core/v1/persistentvolumes")};
// Until a snapshot is taken for what the watch has not told: of little, soon; of all pods, only when the watch is
// broken.
constexpr std::chrono::milliseconds k_soon{50}, k_when_broken{90'000};
// Finished pods use nothing; the server leaves them out, and tells of their end as of a deletion.
constexpr std::string_view k_pod_selector = "status.phase!=Succeeded,status.phase!=Failed";

std::uint64_t number_of(const model::ResourceVersion& version) { return version.number(); }

/// True when `b` says nothing that `a` did not: the same version again, or an older one of the same object.
template <typename T>
bool is_old_news(const T& a, const T& b) {
  if (a.uid != b.uid) return false;
  if (a.resource_version == b.resource_version) return !b.resource_version.empty();
  const std::uint64_t known = number_of(a.resource_version), given = number_of(b.resource_version);
  return known != 0 && given != 0 && given < known;
}

/// Names an object within its resource; a view of the object.
struct Key {
  std::string_view ns, name;
  friend bool operator==(const Key&, const Key&) = default;
};
Key key_of(const model::Pod& pod) { return {pod.ns, pod.name}; }
Key key_of(const model::Node& node) { return {{}, node.name}; }
Key key_of(const model::Object& object) { return {object.ns, object.name}; }

constexpr std::string_view k_pod_owner = "pod ", k_node_owner = "node ";
std::string owner_of(const Key& pod) { return std::string(k_pod_owner).append(pod.ns).append("/").append(pod.name); }
std::string node_owner_of(std::string_view name) { return std::string(k_node_owner).append(name); }

/// The node as one on which no pod fits.
model::NodePtr closed(const model::NodePtr& node) {
  auto out = std::make_shared<model::Node>(*node);
  out->allowed_pods = 0;
  return out;
}

/// The three kinds of a sink's calls, by type.
struct Calls {
  ClusterSink& sink;
  void added(const model::PodPtr& pod) { sink.pod_added(pod); }
  void added(const model::NodePtr& node) { sink.node_added(node); }
  void added(const model::ObjectPtr& object) { sink.object_added(object); }
  void updated(const model::PodPtr& a, const model::PodPtr& b) { sink.pod_updated(a, b); }
  void updated(const model::NodePtr& a, const model::NodePtr& b) { sink.node_updated(a, b); }
  void updated(const model::ObjectPtr& a, const model::ObjectPtr& b) { sink.object_updated(a, b); }
  void deleted(const model::PodPtr& pod) { sink.pod_deleted(pod); }
  void deleted(const model::NodePtr& node) { sink.node_deleted(node); }
  void deleted(const model::ObjectPtr& object) { sink.object_deleted(object); }
};

}  // namespace

struct KubeReader::State {
  class Feed;
  template <typename Ptr>
  class Collection;

  State(SymbolTable& table, decode::DecodeOptions options, std::shared_ptr<BindingGate> of_bindings)
      : symbols(table),
        decoder(std::make_shared<decode::ObjectDecoder>(table, std::move(options))),
        gate(std::move(of_bindings)) {}
  /// Some resource is in sync now; the last one makes the cluster known.
  void one_more_synced();
  PlacementCheckCalls placement_calls();
  /// Tells the sink of nodes that were closed or opened.
  void show(const std::vector<std::string>& nodes_changed) REQUIRES(delivery);

  const SymbolTable& symbols;
  const std::shared_ptr<const decode::ObjectDecoder> decoder;
  const std::shared_ptr<BindingGate> gate;
  std::vector<std::shared_ptr<Feed>> feeds;
  std::vector<std::unique_ptr<Reflector>> reflectors;  // parallel to feeds
  Collection<model::PodPtr>* pods = nullptr;
  Collection<model::NodePtr>* nodes = nullptr;
  Reflector* pod_reflector = nullptr;
  std::unique_ptr<PlacementCheck> placement_check;
  Mutex delivery;  // guards the calls of the sink as well; comes before any other lock
  ClosedNodes closed_nodes GUARDED_BY(delivery);
  ClusterSink* sink GUARDED_BY(delivery) = nullptr;
  std::size_t unsynced GUARDED_BY(delivery) = 0;
  std::atomic<bool> synced{false};
};

class KubeReader::State::Feed : public ReflectorSink {
 public:
  Feed(State& state, std::string resource) : state_(state), resource_(std::move(resource)) {}
  const std::string& resource() const noexcept { return resource_; }
  bool is_synced() const noexcept { return synced_; }
  virtual std::size_t size() const = 0;
  virtual void add_objects(std::vector<model::ObjectPtr>& to) const = 0;

 protected:
  void in_sync() {
    if (!synced_.exchange(true)) state_.one_more_synced();
  }
  State& state_;

 private:
  const std::string resource_;
  std::atomic<bool> synced_{false};
};

template <typename Ptr>
class KubeReader::State::Collection final : public Feed {
 public:
  using Feed::Feed;

  void snapshot_started() override {
    const Lock lock(mutex_);
    ++round_;
  }
  void snapshot_failed() override {}

  void present(decode::Decoded object, bool) override {
    Ptr* const fresh = std::get_if<Ptr>(&object);
    if (fresh == nullptr) return;
    // The gate hears first: delivery may have thousands of pods to tell of.
    if constexpr (k_is_nodes)
      if (state_.gate) state_.gate->node_present((*fresh)->name, (*fresh)->uid);
    const Lock delivering(state_.delivery);
    if constexpr (k_is_nodes) state_.closed_nodes.release(node_owner_of((*fresh)->name));
    put(*fresh);
    // Once it is charged: its node may be open again.
    if constexpr (k_is_pods) state_.show(state_.closed_nodes.release(owner_of(key_of(**fresh))));
  }

  void absent(const decode::ObjectIdentity& gone) override {
    if constexpr (k_is_nodes)
      if (state_.gate) state_.gate->node_absent(gone.name, gone.uid);
    const Lock delivering(state_.delivery);
    Ptr before;
    {
      const Lock lock(mutex_);
      forgotten_.erase(gone.uid);
      before = take({gone.ns, gone.name}, gone.uid);
    }
    if (before != nullptr) Calls{*state_.sink}.deleted(before);
    // Also of a pod that was never told of, since nothing of it could be read.
    if constexpr (k_is_pods) state_.show(state_.closed_nodes.release(owner_of({gone.ns, gone.name})));
  }

  /// What was known of it stays.
  void unreadable(decode::Remains remains, bool) override {
    const Lock delivering(state_.delivery);
    const Key key{remains.identity.ns, remains.identity.name};
    Ptr known;
    std::uint64_t round = 0;
    {
      const Lock lock(mutex_);
      round = round_;
      if (const auto found = entries_.find(key); !key.name.empty() && found != entries_.end()) {
        found->round = round_;
        known = found->object;
      }
    }
    if constexpr (k_is_nodes) {
      if (known != nullptr) state_.show(state_.closed_nodes.close(node_owner_of(key.name), known->name, round));
    } else if constexpr (k_is_pods) {
      unreadable_pod(std::move(remains), known, round);
    }
  }
  /// It is gone, and what the watch still has to tell of it is old.
  void forget(const Ptr& object) {
    const Lock delivering(state_.delivery);
    Ptr before;
    {
      const Lock lock(mutex_);
      const std::string uid = object->uid;
      before = take(key_of(*object), uid);
      if (before != nullptr) forgotten_.insert(object->uid);
    }
    if (before != nullptr) Calls{*state_.sink}.deleted(before);
  }
  /// A node that was closed or opened. Delivering.
  void show_again(const std::string& name) requires(std::is_same_v<Ptr, model::NodePtr>) {
    state_.delivery.assert_held();
    Ptr before, after;
    {
      const Lock lock(mutex_);
      const auto found = entries_.find(Key{{}, name});
      if (found == entries_.end()) return;
      const auto withheld = withheld_.find(name);
      const bool was_closed = withheld != withheld_.end();
      if (was_closed == state_.closed_nodes.is_closed(name)) return;
      after = was_closed ? withheld->second : shown(found->object);
      if (was_closed) withheld_.erase(withheld);
      before = std::exchange(found->object, after);
    }
    observe::warning(state_.closed_nodes.is_closed(name) ? "A node takes no new pods: something on it cannot be read"
                                                         : "A node takes new pods again: what is on it can be read",
                     {{"node", observe::ObjectName{{}, name}}});
    Calls{*state_.sink}.updated(before, after);
  }

  void snapshot_ended() override {
    std::vector<Ptr> gone;
    std::uint64_t round = 0;
    {
      const Lock lock(mutex_);
      round = round_;
      forgotten_.clear();
      boost::unordered::erase_if(entries_, [&](const Entry& entry) REQUIRES(mutex_) {
        if (entry.round == round_) return false;
        gone.push_back(entry.object);
        return true;
      });
    }
    if constexpr (k_is_nodes)
      if (state_.gate)
        for (const Ptr& node : gone) state_.gate->node_absent(node->name, node->uid);
    for (const Ptr& object : gone) {
      const Lock delivering(state_.delivery);
      if constexpr (k_is_nodes) withdraw(object->name);
      Calls{*state_.sink}.deleted(object);
    }
    if constexpr (k_is_pods) {
      const Lock delivering(state_.delivery);
      state_.show(state_.closed_nodes.release_unseen(k_pod_owner, round));
    }
    in_sync();
  }

  void not_served() override { in_sync(); }

  Ptr find(const Key& key) const {
    const Lock lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->object;
  }
  std::size_t size() const override {
    const Lock lock(mutex_);
    return entries_.size();
  }
  void add_objects(std::vector<model::ObjectPtr>& to) const override {
    if constexpr (std::is_same_v<Ptr, model::ObjectPtr>) {
      std::vector<model::ObjectPtr> mine = all();
      to.insert(to.end(), std::make_move_iterator(mine.begin()), std::make_move_iterator(mine.end()));
    }
  }
  std::vector<Ptr> all() const {
    const Lock lock(mutex_);
    std::vector<Ptr> out;
    out.reserve(entries_.size());
    for (const Entry& entry : entries_) out.push_back(entry.object);
    return out;
  }

 private:
  struct Entry {
    mutable Ptr object;
    mutable std::uint64_t round = 0;  // the snapshot that it was last seen in
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept {
      std::size_t out = boost::hash<std::string_view>()(key.ns);
      boost::hash_combine(out, key.name);
      return out;
    }
    std::size_t operator()(const Entry& entry) const noexcept { return (*this)(key_of(*entry.object)); }
  };
  struct Equal {
    using is_transparent = void;
    static Key key(const Key& key) noexcept { return key; }
    static Key key(const Entry& entry) noexcept { return key_of(*entry.object); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      return key(a) == key(b);
    }
  };
  static constexpr bool k_is_pods = std::is_same_v<Ptr, model::PodPtr>;
  static constexpr bool k_is_nodes = std::is_same_v<Ptr, model::NodePtr>;

  /// The object of that name and uid (empty: any), which is no longer here then; null: there was none.
  Ptr take(const Key& key, std::string_view uid) REQUIRES(mutex_, state_.delivery) {
    const auto found = entries_.find(key);
    if (found == entries_.end() || (!uid.empty() && found->object->uid != uid)) return nullptr;
    Ptr out = found->object;
    entries_.erase(found);
    if constexpr (k_is_nodes) withdraw(out->name);
    return out;
  }
  /// Tells of it, unless it is old news.
  void put(Ptr fresh) REQUIRES(state_.delivery) {
    Ptr before;
    {
      const Lock lock(mutex_);
      if (!forgotten_.empty() && forgotten_.contains(fresh->uid)) return;
      const auto known = entries_.find(key_of(*fresh));
      if (known != entries_.end()) {
        known->round = round_;
        if (is_old_news(*known->object, *fresh) && !opens(*fresh)) return;
      }
      if constexpr (k_is_nodes) fresh = shown(fresh);
      if (known == entries_.end())
        entries_.insert({fresh, round_});
      else
        before = std::exchange(known->object, fresh);  // by the same name: it stays where it is
    }
    Calls calls{*state_.sink};
    if (before == nullptr)
      calls.added(fresh);
    else
      calls.updated(before, fresh);
  }
  /// A node that is closed is shown as such, and kept as it is for when it is open again.
  Ptr shown(const Ptr& node) REQUIRES(state_.delivery) {
    withheld_.erase(node->name);
    if (!state_.closed_nodes.is_closed(node->name)) return node;
    withheld_[node->name] = node;
    return closed(node);
  }
  /// A node that was closed and is not any more.
  bool opens(const typename Ptr::element_type& object) const REQUIRES(state_.delivery) {
    if constexpr (k_is_nodes)
      return withheld_.find(object.name) != withheld_.end() && !state_.closed_nodes.is_closed(object.name);
    else
      return false;
  }
  void withdraw(const std::string& name) REQUIRES(state_.delivery) {
    withheld_.erase(name);
    state_.closed_nodes.release(node_owner_of(name));
  }
  void unreadable_pod(decode::Remains remains, const Ptr& known, std::uint64_t round) REQUIRES(state_.delivery) {
    const std::string owner = owner_of({remains.identity.ns, remains.identity.name});
    ClosedNodes& closed_nodes = state_.closed_nodes;
    if (remains.pod != nullptr) {
      // Closed first: no pod may come between. Charged before it is open again.
      if (!remains.is_charge_known) state_.show(closed_nodes.close(owner, remains.node, round));
      put(remains.pod);
      if (remains.is_charge_known) state_.show(closed_nodes.release(owner));
    } else if (remains.identity.name.empty()) {
      if (remains.may_be_bound) state_.show(closed_nodes.close(owner + "?" + remains.node, remains.node, round));
    } else if (known != nullptr && known->node_name != k_no_symbol) {
      state_.show(closed_nodes.close(owner, std::string(state_.symbols.text(known->node_name)), round));
    } else if (remains.may_be_bound) {
      closed_nodes.close(owner, {}, round);
    } else {
      state_.show(closed_nodes.release(owner));
    }
  }

  std::map<std::string, Ptr> withheld_ GUARDED_BY(state_.delivery);  // nodes that are closed, as the server has them
  mutable Mutex mutex_;                                              // a leaf
  boost::unordered_flat_set<Entry, Hash, Equal> entries_ GUARDED_BY(mutex_);
  boost::unordered_flat_set<std::string> forgotten_ GUARDED_BY(mutex_);  // uids
  std::uint64_t round_ GUARDED_BY(mutex_) = 0;                           // of snapshots
};

void KubeReader::State::one_more_synced() {
  const Lock delivering(delivery);
  if (--unsynced != 0) return;
  synced = true;
  sink->synced();
}

void KubeReader::State::show(const std::vector<std::string>& nodes_changed) {
  for (const std::string& node : nodes_changed) nodes->show_again(node);
}

KubeReader::KubeReader(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, SymbolTable& symbols,
                       KubeReaderOptions options) {
  decode::DecodeOptions decode = options.decode;
  decode.watched = options.resources;
  state_ = std::make_unique<State>(symbols, std::move(decode), options.gate);
  std::vector<std::string> resources{std::string(k_nodes), std::string(k_pods)};
  for (const std::string& resource : options.resources)
    if (std::find(resources.begin(), resources.end(), resource) == resources.end()) resources.push_back(resource);
  for (const std::string& resource : resources) {
    if (resource == k_pods) {
      auto pods = std::make_shared<State::Collection<model::PodPtr>>(*state_, resource);
      state_->pods = pods.get();
      state_->feeds.push_back(std::move(pods));
    } else if (resource == k_nodes) {
      auto nodes = std::make_shared<State::Collection<model::NodePtr>>(*state_, resource);
      state_->nodes = nodes.get();
      state_->feeds.push_back(std::move(nodes));
    } else {
      state_->feeds.push_back(std::make_shared<State::Collection<model::ObjectPtr>>(*state_, resource));
    }
    net::HttpClientOptions client = options.client;
    client.seed += state_->feeds.size();
    ReflectorOptions reflector = options.reflector;
    if (resource == k_nodes && options.gate)
      reflector.on_step = [gate = options.gate](bool in_step) { gate->watch_in_step(in_step); };
    const ResourceTarget target{resource, resource == k_pods ? std::string(k_pod_selector) : std::string()};
    state_->reflectors.push_back(std::make_unique<Reflector>(threads, endpoint, target, state_->feeds.back(),
                                                             state_->decoder, client, std::move(reflector)));
    if (resource == k_pods) state_->pod_reflector = state_->reflectors.back().get();
  }
  state_->placement_check = std::make_unique<PlacementCheck>(
      threads, endpoint, std::string(k_pod_selector), state_->placement_calls(), state_->decoder, options.client);
}

KubeReader::~KubeReader() { stop(); }

void KubeReader::start(ClusterSink& sink) {
  {
    const Lock delivering(state_->delivery);
    BERTH_CHECK(state_->sink == nullptr, "a reader is started once");
    state_->sink = &sink;
    state_->unsynced = state_->feeds.size();
  }
  for (const auto& reflector : state_->reflectors) reflector->start();
}

void KubeReader::stop() noexcept {
  state_->placement_check->stop();
  for (const auto& reflector : state_->reflectors) reflector->stop();
}

model::PodPtr KubeReader::find_pod(std::string_view ns, std::string_view name) const {
  return state_->pods->find({ns, name});
}

PlacementCheckCalls KubeReader::State::placement_calls() {
  PlacementCheckCalls out;
  out.known = [this] {
    std::vector<model::PodPtr> waiting = pods->all();
    std::erase_if(waiting, [](const model::PodPtr& pod) { return pod->node_name != 0; });
    return waiting;
  };
  out.changed = [this](decode::Decoded pod) { pods->present(std::move(pod), false); };
  out.unreadable = [this](decode::Remains pod) { pods->unreadable(std::move(pod), false); };
  out.is_gone = [this](const model::PodPtr& pod) { pods->forget(pod); };
  return out;
}

void KubeReader::catch_up(std::function<void()> done) {
  std::vector<Reflector*> volumes;
  for (std::size_t i = 0; i < state_->feeds.size(); ++i)
    if (std::find(k_volumes.begin(), k_volumes.end(), state_->feeds[i]->resource()) != k_volumes.end())
      volumes.push_back(state_->reflectors[i].get());
  const auto behind = std::make_shared<std::atomic<std::size_t>>(volumes.size() + 1);
  const auto one_less = [behind, done = std::move(done)] {
    if (behind->fetch_sub(1) == 1) done();
  };
  for (Reflector* const reflector : volumes) reflector->catch_up(one_less, k_soon);
  Reflector* const pods = state_->pod_reflector;
  state_->placement_check->run([pods, one_less](bool is_complete) {
    if (!is_complete) {
      pods->catch_up(one_less, k_soon);
      return;
    }
    one_less();
    pods->catch_up([] {}, k_when_broken);
  });
}

std::vector<model::PodPtr> KubeReader::pods() const { return state_->pods->all(); }

std::vector<model::ObjectPtr> KubeReader::objects() const {
  std::vector<model::ObjectPtr> out;
  for (const auto& feed : state_->feeds) feed->add_objects(out);
  return out;
}

bool KubeReader::is_synced() const noexcept { return state_->synced; }
// Counts that any thread may read.
UNCHECKED_LOCKS std::size_t KubeReader::closed_nodes() const noexcept { return state_->closed_nodes.closed_count(); }
UNCHECKED_LOCKS std::size_t KubeReader::unplaced_pods() const noexcept { return state_->closed_nodes.unplaced_count(); }

std::size_t KubeReader::sharing_bytes() const { return state_->decoder->sharing_bytes(); }

std::vector<KubeReader::Progress> KubeReader::progress() const {
  std::vector<Progress> out;
  for (std::size_t i = 0; i < state_->feeds.size(); ++i)
    out.push_back({state_->feeds[i]->resource(), state_->feeds[i]->size(), state_->feeds[i]->is_synced(),
                   state_->reflectors[i]->counts()});
  return out;
}

}  // namespace berth::cluster::kube
