// SPDX-License-Identifier: Apache-2.0
#include "framework/services/object_store.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/guarded.hpp"

namespace berth::framework {

ObjectStore::WatchId ObjectStore::watch(std::string resource, std::vector<Field> fields) {
  const WriteLock lock(mutex_);
  for (WatchId id = 0; id < watches_.size(); ++id)
    if (watches_[id]->resource == resource && watches_[id]->fields == fields) return id;
  watches_.push_back(std::make_unique<Watch>());
  watches_.back()->resource = std::move(resource);
  watches_.back()->fields = std::move(fields);
  return static_cast<WatchId>(watches_.size() - 1);
}

std::vector<std::string> ObjectStore::resources() const {
  const ReadLock lock(mutex_);
  std::set<std::string> names;
  for (const auto& watch : watches_) names.insert(watch->resource);
  return {names.begin(), names.end()};
}

std::vector<std::string> ObjectStore::fields_of(std::string_view resource) const {
  const ReadLock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& watch : watches_)
    if (watch->resource == resource)
      for (const Field& field : watch->fields) paths.push_back(field.path);
  return paths;
}

const std::string& ObjectStore::resource_of(WatchId watch) const {
  const ReadLock lock(mutex_);
  return watches_.at(watch)->resource;
}

std::vector<ObjectStore::WatchId> ObjectStore::watches_of(std::string_view resource) const {
  const ReadLock lock(mutex_);
  std::vector<WatchId> out;
  for (std::size_t watch = 0; watch < watches_.size(); ++watch)
    if (watches_[watch]->resource == resource) out.push_back(static_cast<WatchId>(watch));
  return out;
}

void ObjectStore::apply(const model::Object& object) {
  const WriteLock lock(mutex_);
  for (const auto& watch : watches_) {
    if (watch->resource != object.resource) continue;
    auto projection = projected(object, watch->fields);
    projection->version = next_version_++;
    Stored& stored = watch->objects[{object.ns, object.name}];
    const bool is_older = stored.is_written && projection->uid == stored.assumed->uid &&
                          projection->resource_version < stored.assumed->resource_version;
    stored.actual = std::move(projection);
    if (is_older) continue;  // on its way is what was written later
    stored.assumed.reset();  // a new version ends an assumption
    stored.is_written = false;
    watch->note(++epoch_, {object.ns, object.name});
  }
}

void ObjectStore::remove(const model::Object& object) {
  const WriteLock lock(mutex_);
  for (const auto& watch : watches_)
    if (watch->resource == object.resource && watch->objects.erase({object.ns, object.name}) != 0)
      watch->note(++epoch_, {object.ns, object.name});
}

ProjectionPtr ObjectStore::project(WatchId watch, const model::Object& object) const {
  const ReadLock lock(mutex_);
  if (watch >= watches_.size()) return nullptr;
  return projected(object, watches_[watch]->fields);
}

std::shared_ptr<Projection> ObjectStore::projected(const model::Object& object,
                                                   const std::vector<Field>& fields) const {
  auto projection = std::make_shared<Projection>();
  projection->ns = object.ns;
  projection->name = object.name;
  projection->uid = object.uid;
  const std::string& text = object.resource_version;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), projection->resource_version);
  if (error != std::errc() || end != text.data() + text.size()) projection->resource_version = 0;
  projection->values = projector_(object, fields);
  return projection;
}

ProjectionPtr ObjectStore::get(WatchId watch, std::string_view ns, std::string_view name) const {
  const ReadLock lock(mutex_);
  if (watch >= watches_.size()) return nullptr;
  const auto it = watches_[watch]->objects.find(Key(ns, name));
  return it == watches_[watch]->objects.end() ? nullptr : it->second.seen();
}

void ObjectStore::each(WatchId watch, std::string_view ns, const std::function<bool(const Projection&)>& visit) const {
  std::vector<ProjectionPtr> found;
  {
    const ReadLock lock(mutex_);
    if (watch >= watches_.size()) return;
    const auto& objects = watches_[watch]->objects;
    for (auto it = ns.empty() ? objects.begin() : objects.lower_bound(Key(ns, "")); it != objects.end(); ++it) {
      if (!ns.empty() && it->first.first != ns) break;
      found.push_back(it->second.seen());
    }
  }
  for (const ProjectionPtr& projection : found)
    if (!visit(*projection)) return;
}

void ObjectStore::Watch::note(std::uint64_t now, Key key) {
  epoch = now;
  journal_bytes += bytes_of(key);
  journal.emplace_back(now, std::move(key));
  while (journal.size() > k_journal_capacity || journal_bytes > k_journal_bytes_max) {
    journal_start = journal.front().first;
    journal_bytes -= bytes_of(journal.front().second);
    journal.pop_front();
  }
}

std::size_t ObjectStore::bytes_of(const Key& key) noexcept {
  return sizeof(std::pair<std::uint64_t, Key>) + key.first.size() + key.second.size();
}

std::size_t ObjectStore::journal_bytes() const {
  const ReadLock lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& watch : watches_) bytes += watch->journal_bytes;
  return bytes;
}

std::uint64_t ObjectStore::changes(
    WatchId watch, std::uint64_t since,
    const std::function<void(std::string_view ns, std::string_view name, const Projection*)>& visit) const {
  std::vector<std::pair<Key, ProjectionPtr>> found;
  bool start_over = false;
  std::uint64_t now = 0;
  {
    const ReadLock lock(mutex_);
    if (watch >= watches_.size()) return 0;
    const Watch& w = *watches_[watch];
    now = w.epoch;
    if (since == now) return now;
    start_over = since < w.journal_start;
    if (start_over) {
      for (const auto& [key, stored] : w.objects) found.emplace_back(key, stored.seen());
    } else {
      std::set<Key> seen;
      for (auto it = w.journal.rbegin(); it != w.journal.rend() && it->first > since; ++it) {
        if (!seen.insert(it->second).second) continue;
        const auto object = w.objects.find(it->second);
        found.emplace_back(it->second, object == w.objects.end() ? nullptr : object->second.seen());
      }
    }
  }
  if (start_over) visit({}, {}, nullptr);
  for (const auto& [key, projection] : found) visit(key.first, key.second, projection.get());
  return now;
}

ProjectionPtr ObjectStore::actual(WatchId watch, std::string_view ns, std::string_view name) const {
  const ReadLock lock(mutex_);
  if (watch >= watches_.size()) return nullptr;
  const auto it = watches_[watch]->objects.find(Key(ns, name));
  return it == watches_[watch]->objects.end() ? nullptr : it->second.actual;
}

std::uint64_t ObjectStore::epoch(WatchId watch) const {
  const ReadLock lock(mutex_);
  return watch < watches_.size() ? watches_[watch]->epoch : 0;
}

std::uint64_t ObjectStore::epoch() const {
  const ReadLock lock(mutex_);
  return epoch_;
}

Status ObjectStore::assume(WatchId watch, std::string_view ns, std::string_view name, std::uint64_t version,
                           std::vector<FieldValue> values) {
  const WriteLock lock(mutex_);
  if (watch >= watches_.size()) return Error{fmt::format("there is no watch {}", watch), ErrorCode::not_found};
  Watch& w = *watches_[watch];
  const auto it = w.objects.find(Key(ns, name));
  if (it == w.objects.end()) return Error{fmt::format("{}/{} is not in the store", ns, name), ErrorCode::not_found};
  if (values.size() != w.fields.size())
    return Error{fmt::format("{} values for {} fields", values.size(), w.fields.size()), ErrorCode::bad_arguments};
  if (it->second.actual->version != version)
    return Error{
        fmt::format("\"{}/{}\" is out of sync (stored: {}, assume: {})", ns, name, it->second.actual->version, version),
        ErrorCode::out_of_sync};
  auto assumed = std::make_shared<Projection>(*it->second.actual);
  assumed->values = std::move(values);
  for (std::size_t i = 0; i < w.fields.size(); ++i)
    assumed->values[i].type = assumed->values[i].present ? static_cast<std::uint32_t>(w.fields[i].type) : 0;
  it->second.assumed = std::move(assumed);
  it->second.is_written = false;
  w.note(++epoch_, it->first);
  return Unit{};
}

Status ObjectStore::assume_written(WatchId watch, std::string json) {
  static const std::vector<Field> k_metadata = {
      {"metadata.namespace"}, {"metadata.name"}, {"metadata.uid"}, {"metadata.resourceVersion"}};
  const auto object = std::make_shared<model::Object>();
  object->json = std::move(json);
  std::vector<FieldValue> metadata = projector_(*object, k_metadata);
  object->ns = std::move(metadata[0].text);
  object->name = std::move(metadata[1].text);
  object->uid = std::move(metadata[2].text);
  object->resource_version = std::move(metadata[3].text);
  {
    const WriteLock lock(mutex_);
    if (watch >= watches_.size()) return Error{fmt::format("there is no watch {}", watch), ErrorCode::not_found};
    object->resource = watches_[watch]->resource;
    const Status assumed = assume_newer(*watches_[watch], *object);
    if (!assumed.ok()) return assumed;
  }
  if (on_written_) on_written_(object);
  return Unit{};
}

Status ObjectStore::assume_newer(Watch& watch, const model::Object& object) {
  const auto it = watch.objects.find(Key(object.ns, object.name));
  if (it == watch.objects.end())
    return Error{fmt::format("{}/{} is not in the store", object.ns, object.name), ErrorCode::not_found};
  auto assumed = projected(object, watch.fields);
  const Projection& seen = *it->second.seen();
  if (assumed->uid != seen.uid || assumed->resource_version < seen.resource_version)
    return Error{fmt::format("\"{}/{}\" is out of sync (stored: {}, assume: {})", object.ns, object.name,
                             seen.resource_version, assumed->resource_version),
                 ErrorCode::out_of_sync};
  assumed->version = next_version_++;
  it->second.assumed = std::move(assumed);
  it->second.is_written = true;
  watch.note(++epoch_, it->first);
  return Unit{};
}

void ObjectStore::forget(WatchId watch, std::string_view ns, std::string_view name) {
  const WriteLock lock(mutex_);
  if (watch >= watches_.size()) return;
  const auto it = watches_[watch]->objects.find(Key(ns, name));
  if (it == watches_[watch]->objects.end() || !it->second.assumed) return;
  it->second.assumed.reset();
  it->second.is_written = false;
  watches_[watch]->note(++epoch_, it->first);
}

}  // namespace berth::framework
