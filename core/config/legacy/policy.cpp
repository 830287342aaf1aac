// SPDX-License-Identifier: Apache-2.0
#include "config/legacy/policy.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <limits>
#include <map>

#include "config/legacy/legacy_data.hpp"
#include "config/plugin_lists.hpp"
#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"

namespace berth::config {
namespace {

constexpr std::int64_t k_weight_end = std::numeric_limits<std::int64_t>::max() / 10;

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

using Unknown = std::function<void(const TreeMember& member, const std::string& path, const text::Value& known)>;

/// Keys as `known` has them, at every depth. Those that it does not have are told to `unknown` and go; without it they
/// stay.
void spell_keys(Tree& tree, const text::Value& known, const std::string& path, const Unknown& unknown) {
  std::vector<TreeMember> members;
  for (TreeMember& member : tree.members) {
    const auto& names = known.members();
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const text::Member& name) { return equal_but_for_case(member.key, name.key); });
    if (found == names.end() && unknown) {
      unknown(member, path, known);
      continue;
    }
    if (found != names.end()) {
      if (member.key != found->key) member.value.comments.push_back("was " + member.key);
      member.key = found->key;
      spell_keys(member.value, found->value, path.empty() ? member.key : fmt::format("{}.{}", path, member.key),
                 unknown);
    }
    members.push_back(std::move(member));
  }
  tree.members = std::move(members);
  for (std::size_t i = 0; i < tree.elements.size(); ++i)
    spell_keys(tree.elements[i], known, fmt::format("{}[{}]", path, i), unknown);
}

/// One predicate or priority as it was written, or as it stands in the default set.
struct Entry {
  const text::Value* row = nullptr;  // of conf/legacy/policy.yaml
  std::string name;
  std::int64_t weight = 0;
  const text::Value* argument = nullptr;  // the one member of `argument`
  Place place;
  std::string_view origin = {};  // " (default)", when the file did not name it
};

class PolicyReader {
 public:
  PolicyReader(const Source& source, const PolicyContext& context, text::Diagnostics& notes)
      : source_(source), context_(context), notes_(notes), exact_(context.mode.max_node_score != 100) {
    out_.plugin_config = Tree::sequence({});
  }

  PolicyProfile read(const text::Value& document);
  PolicyProfile provide(const text::Value& provider, const Place& place);

 private:
  std::vector<Entry> default_entries(std::string_view kind, const text::Value* provider, const Place& place) const;
  std::vector<Entry> read_entries(Fields& root, std::string_view kind);
  void read_argument(Fields& entry, std::string_view kind, Entry& out);
  void find_row(std::string_view kind, Entry& entry);
  void check_priorities(const std::vector<Entry>& priorities);
  void add_mandatory(std::vector<Entry>& predicates, const Place& place) const;
  void add_all(std::vector<Entry> predicates, std::vector<Entry> priorities, const Place& place);
  void add(const Entry& entry, bool scores, std::int64_t weight, const std::string& said);
  void add_plugin(const text::Value& plugin, const Entry& entry, bool scores, std::int64_t weight,
                  const std::string& said);
  void note_unknown(const TreeMember& member, const std::string& path, const text::Value& known);
  void add_list(const text::Value& lists, const Entry& entry, Tree& args);
  const text::Value* plugins_of(const text::Value& row) const {
    if (const text::Value* with_volumes = row.find("withVolumes");
        with_volumes != nullptr && context_.mode.balance_volumes)
      return with_volumes;
    const text::Value* exact = exact_ ? row.find("exact") : nullptr;
    return exact != nullptr ? exact : row.find("plugins");
  }

  const Source& source_;
  const PolicyContext& context_;
  text::Diagnostics& notes_;
  std::size_t unknown_ = 0;  // fields
  const bool exact_;         // plugins of the old names throughout
  std::int64_t hard_weight_ = 0;
  PolicyProfile out_;
};

std::vector<Entry> PolicyReader::default_entries(std::string_view kind, const text::Value* provider,
                                                 const Place& place) const {
  std::vector<Entry> entries;
  const text::Value* rows = legacy_policy().find(kind);
  for (const text::Value& row : rows->elements()) {
    const text::Value* set = row.find("default");
    if (set == nullptr || (exact_ && set->text() == "later")) continue;
    const text::Value* taken = &row;
    if (const text::Value* other = provider != nullptr ? provider->find(row.find("name")->text()) : nullptr)
      taken = element_named(rows, "name", other->text());
    const text::Value* weight = taken->find("weight");
    entries.push_back({taken, std::string(taken->find("name")->text()),
                       weight != nullptr ? weight->integer().value_or(0) : 0, nullptr, place, " (default)"});
  }
  return entries;
}

/// The row of its argument, or of its name.
void PolicyReader::find_row(std::string_view kind, Entry& entry) {
  const text::Value* rows = legacy_policy().find(kind);
  for (const text::Value& row : rows->elements()) {
    if (plugins_of(row) == nullptr) continue;
    const text::Value* argument = row.find("argument");
    const bool is_it = entry.row == nullptr && argument == nullptr &&
                       (row.find("name")->text() == entry.name || lists(row.find("aliases"), entry.name));
    if (is_it) entry.row = &row;
  }
  if (entry.row == nullptr)
    source_.report(entry.place, fmt::format("Invalid configuration: {} type not found for {}",
                                            kind == "predicates" ? "Predicate" : "Priority", quoted(entry.name)));
}

void PolicyReader::read_argument(Fields& fields, std::string_view kind, Entry& entry) {
  const text::Value* value = fields.mapping("argument");
  if (value == nullptr) return find_row(kind, entry);
  const std::string noun = kind == "predicates" ? "Predicate" : "Priority";
  std::size_t count = 0;
  {
    Fields argument(source_, *value, fields.path_of("argument"));
    for (const text::Value& row : legacy_policy().find(kind)->elements()) {
      const text::Value* key = row.find("argument");
      const text::Value* given = key != nullptr ? argument.mapping(key->text()) : nullptr;
      if (given == nullptr) continue;
      ++count;
      entry.row = &row;
      entry.argument = given;
    }
  }
  if (count == 1) return;
  entry.row = nullptr;
  if (count == 0 && kind == "priorities")
    source_.report(fields.place_of("argument"), fmt::format("no priority arguments set for priority {}", entry.name));
  else
    source_.report(fields.place_of("argument"),
                   fmt::format("Exactly 1 {} argument is required, numArgs: {}, {}: {}",
                               kind == "predicates" ? "predicate" : "priority", count, noun, entry.name));
}

std::vector<Entry> PolicyReader::read_entries(Fields& root, std::string_view kind) {
  std::vector<Entry> entries;
  const text::Value* list = root.sequence(kind);
  if (list == nullptr) return entries;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    Fields fields(source_, list->elements()[i], fmt::format("{}[{}]", kind, i));
    Entry entry;
    fields.read("name", entry.name);
    entry.place = fields.place_of("name");
    if (kind == "priorities") fields.read("weight", entry.weight);
    if (entry.name.empty()) {
      source_.report(entry.place, "Required value", "the name of a predicate or a priority");
      continue;
    }
    read_argument(fields, kind, entry);
    if (kind == "priorities" && (entry.weight <= 0 || entry.weight >= k_weight_end)) {
      source_.report(
          fields.place_of("weight"),
          fmt::format("priority {} should have a positive weight applied to it or it has overflown", entry.name));
      entry.weight = 1;
    }
    if (entry.row != nullptr) entries.push_back(std::move(entry));
  }
  return entries;
}

/// Entries of one argument become one plugin, which has one weight.
void PolicyReader::check_priorities(const std::vector<Entry>& priorities) {
  std::map<const text::Value*, const Entry*> first;
  for (const Entry& entry : priorities) {
    if (entry.argument == nullptr) continue;
    const Entry* other = first.try_emplace(entry.row, &entry).first->second;
    if (other == &entry) continue;
    const std::string_view custom = entry.row->find("name")->text();
    if (entry.row->find("once") != nullptr)
      source_.report(entry.place, fmt::format("priority {} redeclares custom priority {}, from: {}", quoted(entry.name),
                                              quoted(custom), quoted(other->name)));
    else if (entry.weight != other->weight)
      source_.report(entry.place, fmt::format("{}  priority {} has a different weight with {}", custom,
                                              quoted(entry.name), quoted(other->name)));
  }
}

void PolicyReader::add_mandatory(std::vector<Entry>& predicates, const Place& place) const {
  for (const text::Value& row : legacy_policy().find("predicates")->elements()) {
    const bool there = std::any_of(predicates.begin(), predicates.end(), [&](const Entry& e) { return e.row == &row; });
    if (row.find("mandatory") != nullptr && !there)
      predicates.push_back({&row, std::string(row.find("name")->text()), 0, nullptr, place, " (mandatory)"});
  }
}

/// The labels of an argument join those that the plugin has.
void PolicyReader::add_list(const text::Value& lists_of, const Entry& entry, Tree& args) {
  const text::Value* absent = lists_of.find("absent");
  const text::Value* presence = entry.argument->find("presence");
  const bool is_present = absent == nullptr || (presence != nullptr && presence->boolean());
  Tree& list = args.sequence_at((is_present ? lists_of.find("present") : absent)->text());
  const text::Value* labels = entry.argument->find(lists_of.find("from")->text());
  if (labels == nullptr) return;
  if (labels->is_string()) list.elements.push_back(Tree::copy_of(*labels));
  for (const text::Value& label : labels->elements()) list.elements.push_back(Tree::copy_of(label));
}

void PolicyReader::add_plugin(const text::Value& plugin, const Entry& entry, bool scores, std::int64_t weight,
                              const std::string& said) {
  const std::string name(plugin.find("name")->text());
  for (const text::Value& point : plugin.find("points")->elements()) {
    const bool is_score = point.text() == name_of(Point::score);
    std::vector<RawPlugin>& enabled = out_.sets[plugin_set_of(point.text())].enabled;
    const auto there =
        std::find_if(enabled.begin(), enabled.end(), [&](const RawPlugin& other) { return other.name == name; });
    if (there != enabled.end())
      there->comment += "; " + said;  // the first weight stays
    else
      enabled.push_back({name, is_score ? static_cast<std::int32_t>(weight) : 0, entry.place, false, said});
  }
  const auto put = [&](std::string_view key, std::int64_t number, std::string_view was) {
    Tree& arg =
        args_in(out_.plugin_config, name, entry.place.position).put(key, Tree::number(number, entry.place.position));
    arg.comments = {fmt::format("was {}", was)};
  };
  if (const text::Value* args = plugin.find("args"))
    fill(args_in(out_.plugin_config, name, entry.place.position), *args);
  if (const text::Value* key = plugin.find("hardWeightArg"); key != nullptr && hard_weight_ != 0)
    put(key->text(), hard_weight_, "hardPodAffinitySymmetricWeight");
  if (const text::Value* key = plugin.find("bindTimeoutArg"); key != nullptr && context_.bind_timeout_seconds)
    put(key->text(), *context_.bind_timeout_seconds, "bindTimeoutSeconds");
  if (scores && exact_)
    put(legacy_policy().find("maxNodeScoreArg")->text(), context_.mode.max_node_score, "legacy.maxNodeScore");
  if (entry.argument == nullptr) return;
  Tree& args = args_in(out_.plugin_config, name, entry.place.position);
  if (const text::Value* lists_of = entry.row->find("lists"))
    add_list(*lists_of, entry, args);
  else
    fill(args, *entry.argument);
}

void PolicyReader::add(const Entry& entry, bool scores, std::int64_t weight, const std::string& said) {
  if (weight > std::numeric_limits<std::int32_t>::max()) {
    source_.report(entry.place, fmt::format("Invalid value: {}: a plugin's weight is at most {}", weight,
                                            std::numeric_limits<std::int32_t>::max()));
    return;
  }
  for (const text::Value& plugin : plugins_of(*entry.row)->elements()) add_plugin(plugin, entry, scores, weight, said);
  out_.balances_volumes = out_.balances_volumes || plugins_of(*entry.row) == entry.row->find("withVolumes");
  if (const text::Value* gone = entry.row->find("gone"); gone != nullptr && plugins_of(*entry.row)->elements().empty())
    out_.comments.push_back(fmt::format("without {}: {}", said, gone->text()));
}

void PolicyReader::add_all(std::vector<Entry> predicates, std::vector<Entry> priorities, const Place& place) {
  for (const text::Member& member : legacy_policy().find("always")->members())
    out_.sets[plugin_set_of(member.key)].enabled = plugins_of_data(member.value, place);
  add_mandatory(predicates, place);
  // Rows lie in the order in which predicates judge.
  std::stable_sort(predicates.begin(), predicates.end(), [](const Entry& a, const Entry& b) { return a.row < b.row; });
  for (const Entry& entry : predicates) add(entry, false, 0, fmt::format("predicate {}{}", entry.name, entry.origin));
  std::stable_sort(priorities.begin(), priorities.end(),
                   [](const Entry& a, const Entry& b) { return a.name < b.name; });
  for (const Entry& entry : priorities) {
    // A plugin with several labels gives their mean; the weight makes it their sum again.
    const auto same = [&](const Entry& other) { return other.row == entry.row; };
    const auto count = entry.argument != nullptr ? std::count_if(priorities.begin(), priorities.end(), same) : 1;
    const bool overflows = entry.weight > std::numeric_limits<std::int64_t>::max() / count;
    std::string said = fmt::format("priority {}{}", entry.name, entry.origin);
    if (count > 1) said += fmt::format(", weight {} for each of {} such entries", entry.weight, count);
    const bool is_first = &*std::find_if(priorities.begin(), priorities.end(), same) == &entry;
    if (is_first && entry.row->find("roundedMean") != nullptr && context_.mode.max_node_score % count != 0)
      said += fmt::format(", whose mean is rounded down: the sum is up to {} less than each by itself gave",
                          (count - 1) * entry.weight);
    add(entry, true, overflows ? std::numeric_limits<std::int64_t>::max() : entry.weight * count, said);
  }
  add_companions(out_.sets, {});
}

/// They were passed over then, and they may be mistakes.
void PolicyReader::note_unknown(const TreeMember& member, const std::string& path, const text::Value& known) {
  constexpr std::size_t k_noted_max = 20;  // looking for near names costs time
  if (++unknown_ > k_noted_max) return;
  std::vector<std::string> names;
  for (const text::Member& name : known.members()) names.emplace_back(name.key);
  notes_.add(source_.file, member.key_position, path, fmt::format("unknown field {} has no effect", quoted(member.key)),
             did_you_mean(member.key, names));
}

PolicyProfile PolicyReader::read(const text::Value& document) {
  Tree tree = Tree::copy_of(document);
  spell_keys(tree, *legacy_policy().find("fields"), {},
             [this](const TreeMember& member, const std::string& path, const text::Value& known) {
               note_unknown(member, path, known);
             });
  const text::Document spelled = to_document(tree, source_.file);
  Fields root(source_, spelled.root(), "");
  root.any("apiVersion");
  root.any("kind");
  const Place place{document.position(), {}};
  // Left out is the default set; empty is none.
  const bool names_predicates = root.has("predicates"), names_priorities = root.has("priorities");
  std::vector<Entry> predicates = read_entries(root, "predicates"), priorities = read_entries(root, "priorities");
  if (!names_predicates) predicates = default_entries("predicates", nullptr, place);
  if (!names_priorities) priorities = default_entries("priorities", nullptr, place);
  check_priorities(priorities);
  root.read("hardPodAffinitySymmetricWeight", hard_weight_);
  if (hard_weight_ < 0 || hard_weight_ > 100)
    source_.report(root.place_of("hardPodAffinitySymmetricWeight"),
                   fmt::format("Invalid value: {}: not in valid range [0-100]", hard_weight_));
  if (hard_weight_ == 0) hard_weight_ = context_.hard_pod_affinity_weight;
  root.read("alwaysCheckAllPredicates", out_.checks_all_filters);
  if (const text::Value* extenders = root.sequence("extenders"); extenders != nullptr && !extenders->elements().empty())
    out_.extenders = translate_extenders(*tree.find("extenders"));
  add_all(std::move(predicates), std::move(priorities), place);
  return std::move(out_);
}

PolicyProfile PolicyReader::provide(const text::Value& provider, const Place& place) {
  hard_weight_ = context_.hard_pod_affinity_weight;
  add_all(default_entries("predicates", &provider, place), default_entries("priorities", &provider, place), place);
  return std::move(out_);
}

}  // namespace

bool is_policy(const text::Value& document) {
  const text::Value* kind = document.find("kind");
  const text::Value* api = document.find("apiVersion");
  return kind != nullptr && kind->text() == "Policy" && api != nullptr &&
         (api->text() == "v1" || api->text() == k_scheduler_api);
}

PolicyProfile read_policy(const text::Value& document, const Source& source, const PolicyContext& context,
                          text::Diagnostics& notes) {
  return PolicyReader(source, context, notes).read(document);
}

bool check_provider(std::string_view name, const Place& place, const Source& source) {
  const text::Value* providers = legacy_policy().find("providers");
  if (providers->find(name) != nullptr) return true;
  std::vector<std::string> known;
  for (const text::Member& member : providers->members()) known.emplace_back(member.key);
  source.report(place, fmt::format("algorithm provider {} is not registered", quoted(name)),
                "known: " + quoted_list(known));
  return false;
}

PolicyProfile read_provider(std::string_view name, const Place& place, const Source& source,
                            const PolicyContext& context) {
  const text::Value* providers = legacy_policy().find("providers");
  const bool known = check_provider(name, place, source);
  text::Diagnostics none;  // of no file: not reported
  return PolicyReader(source, context, none).provide(*providers->find(known ? name : k_default_provider), place);
}

Tree translate_extenders(Tree extenders) {
  spell_keys(extenders, *legacy_policy().find("fields")->find("extenders"), "extenders", {});
  for (Tree& extender : extenders.elements)
    if (Tree* timeout = extender.find("httpTimeout"); timeout != nullptr && timeout->kind == text::Kind::number) {
      std::int64_t ns = 0;
      const char* const end = timeout->text.data() + timeout->text.size();
      if (std::from_chars(timeout->text.data(), end, ns).ptr != end) continue;  // refused by the reader of v1
      timeout->comments.push_back(fmt::format("was {}, in nanoseconds", ns));
      timeout->kind = text::Kind::string;
      timeout->text = format_duration(ns);
    }
  return extenders;
}

}  // namespace berth::config
