// SPDX-License-Identifier: Apache-2.0
#include "report/explain_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "report/text_table.hpp"
#include "text/json_writer.hpp"

namespace berth::report {
namespace {

using cycle::NodeExplanation;
constexpr auto k_right = TextTable::Align::right;

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

/// A pod of the report with the decisions about it.
struct Subject {
  const PodLine* line = nullptr;
  std::vector<const Decision*> attempts;
  const Decision* explained = nullptr;
};

Result<Subject> find_subject(const SimulationReport& report, std::span<const Decision> decisions,
                             std::string_view pod) {
  Subject subject;
  std::string elsewhere;
  const std::string_view name = pod.substr(pod.find('/') + 1);
  for (const PodLine& line : report.pods) {
    if (line.key() == pod)
      subject.line = &line;
    else if (line.name == name)
      elsewhere += (elsewhere.empty() ? "" : ", ") + line.key();
  }
  if (subject.line == nullptr) {
    if (pod.find('/') == std::string_view::npos)
      return Error{fmt::format("\"{}\" does not name a pod: write NAMESPACE/NAME{}", pod,
                               elsewhere.empty() ? "" : ", here " + elsewhere)};
    return Error{fmt::format("there is no pod {} in the cluster{}", pod,
                             elsewhere.empty() ? "" : "; of that name there is " + elsewhere)};
  }
  for (const Decision& decision : decisions) {
    if (decision.pod->ns != subject.line->ns || decision.pod->name != subject.line->name) continue;
    subject.attempts.push_back(&decision);
    if (decision.explanation) subject.explained = &decision;
  }
  return subject;
}

using RejectionCounts = std::vector<std::pair<std::pair<std::string_view, std::string_view>, std::size_t>>;

/// By plugin and reason, the most nodes first. A node counts once for each of its reasons, as in upstream's message.
RejectionCounts count_reasons(const std::vector<const NodeExplanation*>& rejected) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;
  for (const NodeExplanation* node : rejected) {
    if (node->reasons.empty()) ++counts[{node->plugin, ""}];
    for (const std::string& reason : node->reasons) ++counts[{node->plugin, reason}];
  }
  RejectionCounts order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return order;
}

/// "3 d 4 h", "12 min", "40 s".
std::string span_text(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 7200) return fmt::format("{} min", seconds / 60);
  if (seconds < 172'800) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{} d {} h", seconds / 86'400, seconds / 3600 % 24);
}

class Explainer {
 public:
  Explainer(const Subject& subject, const ExplainStyle& style, std::int64_t looked_at_ns)
      : subject_(subject), style_(style), looked_at_ns_(looked_at_ns) {}

  std::string render(const FitReport* fit) {
    headline();
    scheduler_word();
    earlier_attempts();
    preemptions();
    if (fit != nullptr) out_ += fit_text(*fit);
    if (subject_.explained == nullptr) return std::move(out_);
    const cycle::Explanation& explanation = *subject_.explained->explanation;
    if (explanation.pod_rejection) pod_rejection(*explanation.pod_rejection);
    for (const NodeExplanation& node : explanation.nodes)
      (node.code == framework::Code::success ? feasible_ : rejected_).push_back(&node);
    if (!rejected_.empty()) rejections();
    if (!explanation.error.empty())
      out_ += fmt::format("\nScoring failed: {}\n", terminal_text(explanation.error));
    else if (!feasible_.empty())
      scores();
    return std::move(out_);
  }

 private:
  std::string bold(std::string_view text) const { return painted(style_.colour, text, "1"); }
  std::size_t limit(std::size_t count) const { return style_.wide ? count : std::min(count, style_.node_rows); }
  void left_out(std::size_t count, std::string_view what) { out_ += left_out_line(count, what); }

  void headline() {
    const PodLine& pod = *subject_.line;
    out_ += bold(terminal_text(pod.key())) + ": ";
    switch (pod.state) {
      case PodState::placed:
        out_ += fmt::format("placed on {}, attempt {}: {} node{} evaluated, {} feasible\n", terminal_text(pod.node),
                            pod.attempts, pod.evaluated_nodes, plural(pod.evaluated_nodes), pod.feasible_nodes);
        break;
      case PodState::pending:
        out_ += looked_at_ns_ == 0 || pod.created_ns == 0
                    ? fmt::format("pending after {} attempt{}", pod.attempts, plural(pod.attempts))
                    : "pending for " + span_text((looked_at_ns_ - pod.created_ns) / 1'000'000'000);
        out_ += ": " + terminal_text(pod.message) + '\n';
        if (!pod.nominated_node.empty()) out_ += fmt::format("nominated to {}\n", terminal_text(pod.nominated_node));
        break;
      case PodState::gated:
        out_ += fmt::format("gated, never tried: {}\n", terminal_text(pod.message));
        break;
      case PodState::foreign:
        out_ += fmt::format("not tried: its scheduler is \"{}\", and no profile has that name\n",
                            terminal_text(pod.scheduler_name));
        break;
      case PodState::deleting:
        out_ += "not tried: it is being deleted\n";
        break;
      case PodState::finished:
        out_ += "not tried: it has finished\n";
        break;
      case PodState::running:
        out_ += looked_at_ns_ == 0 ? fmt::format("not tried: it was on {} before\n", terminal_text(pod.node))
                                   : fmt::format("on {}\n", terminal_text(pod.node));
        break;
    }
  }

  void scheduler_word() {
    if (!subject_.line->word) return;
    const QueueWord& word = *subject_.line->word;
    out_ += "Its scheduler says: " + terminal_text(word.place);
    if (word.attempts != 0) out_ += fmt::format(", {} attempt{}", word.attempts, plural(word.attempts));
    if (!word.since.empty()) out_ += ", since " + terminal_text(word.since);
    if (!word.next_try.empty()) out_ += ", tried again at " + terminal_text(word.next_try);
    if (!word.tried_again_by.empty()) out_ += ", tried again by " + terminal_text(word.tried_again_by);
    out_ += '\n';
    if (!word.rejected_by.empty()) out_ += "Rejected by: " + terminal_text(joined(word.rejected_by, ", ")) + '\n';
    if (!word.woken_by.empty()) out_ += "Retried sooner on: " + terminal_text(joined(word.woken_by, ", ")) + '\n';
  }

  void earlier_attempts() {
    if (subject_.attempts.size() < 2) return;
    out_ += '\n';
    TextTable table({{"ATTEMPT", k_right}, {"RESULT"}});
    const std::size_t first = style_.wide || subject_.attempts.size() <= 10 ? 0 : subject_.attempts.size() - 10;
    for (std::size_t i = first; i < subject_.attempts.size(); ++i) {
      const Decision& attempt = *subject_.attempts[i];
      table.add(
          {std::to_string(i + 1), attempt.node.empty() ? attempt.message.get() : "placed on " + attempt.node.get()});
    }
    if (first != 0) out_ += fmt::format("  … {} earlier attempts; -o wide shows all\n", first);
    out_ += table.render(2);
  }

  void preemptions() {
    bool first = true;
    for (std::size_t i = 0; i < subject_.attempts.size(); ++i) {
      if (!subject_.attempts[i]->preemption) continue;
      if (first) out_ += '\n' + bold("PREEMPTION") + '\n';
      first = false;
      out_ += fmt::format("  attempt {} {}\n", i + 1, terminal_text(subject_.attempts[i]->preemption->sentence()));
    }
  }

  void pod_rejection(const NodeExplanation& rejection) {
    out_ += fmt::format("\nRejected before any node was considered, by {}: {}\n", terminal_text(rejection.plugin),
                        terminal_text(joined(rejection.reasons, ", ")));
  }

  void rejections() {
    const std::size_t all = rejected_.size() + feasible_.size();
    out_ += '\n' + bold(fmt::format("REJECTED BY ({} of {} node{})", rejected_.size(), all, plural(all))) + '\n';
    const RejectionCounts order = count_reasons(rejected_);
    TextTable summary({{"NODES", k_right}, {"PLUGIN"}, {"REASON"}});
    for (const auto& [who, count] : order)
      summary.add({std::to_string(count), std::string(who.first), std::string(who.second)});
    out_ += summary.render(2) + '\n';
    details();

    TextTable table({{"NODE"}, {"PLUGIN"}, {"REASON"}});
    for (std::size_t i = 0; i < limit(rejected_.size()); ++i) {
      const NodeExplanation& node = *rejected_[i];
      const bool final = node.code == framework::Code::unresolvable;
      table.add(
          {node.node, node.plugin, joined(node.reasons, ", ") + (final ? " (evicting pods would not help)" : "")});
    }
    out_ += table.render(2);
    left_out(rejected_.size() - table.size(), "nodes");
  }

  /// What filters said beyond reasons, added up over nodes.
  void details() {
    struct Sum {
      std::uint64_t count = 0;
      std::size_t nodes = 0;
    };
    std::map<std::pair<std::string_view, std::string_view>, Sum> sums;
    for (const NodeExplanation* node : rejected_)
      for (const cycle::ExplanationDetail& detail : node->details) {
        Sum& sum = sums[{node->plugin, detail.text}];
        sum.count += detail.count;
        ++sum.nodes;
      }
    if (sums.empty()) return;
    std::vector<std::pair<std::pair<std::string_view, std::string_view>, Sum>> order(sums.begin(), sums.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    out_ += bold("IN DETAIL") + '\n';
    TextTable table({{"COUNT", k_right}, {"NODES", k_right}, {"PLUGIN"}, {"WHAT"}});
    for (std::size_t i = 0; i < limit(order.size()); ++i) {
      const auto& [what, sum] = order[i];
      table.add(
          {std::to_string(sum.count), std::to_string(sum.nodes), std::string(what.first), std::string(what.second)});
    }
    out_ += table.render(2);
    left_out(order.size() - table.size(), "details");
    out_ += '\n';
  }

  void scores() {
    std::stable_sort(feasible_.begin(), feasible_.end(),
                     [](const NodeExplanation* a, const NodeExplanation* b) { return a->total > b->total; });
    const std::string& chosen = subject_.explained->node.get();
    out_ += '\n' +
            bold(fmt::format("FEASIBLE ({} of {}), points after weighting", feasible_.size(),
                             feasible_.size() + rejected_.size())) +
            '\n';
    std::vector<TextTable::Column> columns{{""}, {"NODE"}, {"TOTAL", k_right}};
    const cycle::Explanation& explanation = *subject_.explained->explanation;
    for (const std::string& scorer : explanation.scorers) columns.push_back({scorer, k_right});
    TextTable table(std::move(columns));
    const std::size_t rows = limit(feasible_.size());
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < feasible_.size(); ++i) {
      const bool is_chosen = feasible_[i]->node == chosen;
      if (i >= rows && !is_chosen) {
        ++hidden;
        continue;
      }
      std::vector<std::string> cells{is_chosen ? "→" : "", feasible_[i]->node, std::to_string(feasible_[i]->total)};
      for (const std::int64_t points : feasible_[i]->scores) cells.push_back(std::to_string(points));
      table.add(std::move(cells));
    }
    out_ += table.render(2);
    left_out(hidden, "nodes");
    choice(chosen);
  }

  void choice(const std::string& chosen) {
    if (chosen.empty()) return;
    if (feasible_.size() == 1) {
      out_ += fmt::format("  {} was the only feasible node; its points did not matter\n", terminal_text(chosen));
      return;
    }
    const std::int64_t best = feasible_.front()->total;
    std::vector<std::string> equals;
    bool chosen_is_best = false;
    for (const NodeExplanation* node : feasible_) {
      if (node->total != best) continue;
      equals.push_back(node->node);
      chosen_is_best = chosen_is_best || node->node == chosen;
    }
    if (!chosen_is_best)
      out_ += fmt::format(
          "  {} was chosen below the best total: the pod was nominated to it, or sampling skipped better nodes\n",
          terminal_text(chosen));
    else if (equals.size() > 1)
      out_ += fmt::format(
          "  {} nodes share the best total {}; where the search began and kube-scheduler's order of ties chose {}\n",
          equals.size(), best, terminal_text(chosen));
  }

  const Subject& subject_;
  const ExplainStyle& style_;
  const std::int64_t looked_at_ns_;
  std::vector<const NodeExplanation*> rejected_, feasible_;
  std::string out_;
};

void write_rejection(text::JsonWriter& json, const NodeExplanation& node) {
  json.key(node.node).begin_object();
  json.key("plugin").text(node.plugin);
  json.key("code").text(framework::code_name(node.code));
  json.key("reasons").begin_list();
  for (const std::string& reason : node.reasons) json.text(reason);
  json.end_list();
  if (!node.details.empty()) {
    json.key("details").begin_list();
    for (const cycle::ExplanationDetail& detail : node.details)
      json.begin_object().key("text").text(detail.text).key("count").number(detail.count).end_object();
    json.end_list();
  }
  json.end_object();
}

void write_rejections(text::JsonWriter& json, const cycle::Explanation& explanation) {
  std::vector<const NodeExplanation*> rejected;
  for (const NodeExplanation& node : explanation.nodes)
    if (node.code != framework::Code::success) rejected.push_back(&node);
  json.key("judgedNodes").number(explanation.nodes.size());
  json.key("feasibleNodes").number(explanation.nodes.size() - rejected.size());
  json.key("rejections").begin_list();
  for (const auto& [who, count] : count_reasons(rejected))
    json.begin_object()
        .key("plugin")
        .text(who.first)
        .key("reason")
        .text(who.second)
        .key("nodes")
        .number(count)
        .end_object();
  json.end_list();
}

void write_word(text::JsonWriter& json, const QueueWord& word) {
  json.key("scheduler").begin_object().key("place").text(word.place).key("attempts").number(word.attempts);
  if (!word.since.empty()) json.key("since").text(word.since);
  if (!word.next_try.empty()) json.key("nextTry").text(word.next_try);
  if (!word.tried_again_by.empty()) json.key("triedAgainBy").text(word.tried_again_by);
  json.key("rejectedBy").texts(word.rejected_by).key("wokenBy").texts(word.woken_by).end_object();
}

void write_explanation(text::JsonWriter& json, const cycle::Explanation& explanation) {
  write_rejections(json, explanation);
  json.key("rejected").begin_object();
  if (explanation.pod_rejection) write_rejection(json, *explanation.pod_rejection);
  for (const NodeExplanation& node : explanation.nodes)
    if (node.code != framework::Code::success) write_rejection(json, node);
  json.end_object();
  json.key("scores").begin_object();
  for (const NodeExplanation& node : explanation.nodes) {
    if (node.code != framework::Code::success || !explanation.error.empty()) continue;
    json.key(node.node).begin_object().key("total").number(node.total).key("plugins").begin_object();
    for (std::size_t i = 0; i < node.scores.size(); ++i) json.key(explanation.scorers[i]).number(node.scores[i]);
    json.end_object().end_object();
  }
  json.end_object();
  if (!explanation.error.empty()) json.key("scoringError").text(explanation.error);
}

}  // namespace

Result<std::string> render_explanation(const SimulationReport& report, std::span<const Decision> decisions,
                                       std::string_view pod, const ExplainStyle& style, const FitReport* fit) {
  const Result<Subject> subject = find_subject(report, decisions, pod);
  if (!subject) return subject.error();
  return Explainer(*subject, style, report.looked_at_ns).render(fit);
}

Result<std::string> render_explanation_json(const SimulationReport& report, std::span<const Decision> decisions,
                                            std::string_view pod, const FitReport* fit) {
  const Result<Subject> subject = find_subject(report, decisions, pod);
  if (!subject) return subject.error();
  text::JsonWriter json;
  json.begin_object();
  json.key("pod").text(pod);
  json.key("state").text(state_name(subject->line->state));
  json.key("node");
  subject->line->node.empty() ? json.null() : json.text(subject->line->node);
  if (!subject->line->message.empty()) json.key("message").text(subject->line->message);
  if (report.looked_at_ns != 0 && subject->line->created_ns != 0)
    json.key("waitsForSeconds").number((report.looked_at_ns - subject->line->created_ns) / 1'000'000'000);
  if (subject->line->word) write_word(json, *subject->line->word);
  json.key("attempts").begin_list();
  for (const Decision* attempt : subject->attempts) {
    if (attempt->node.empty() && attempt->message.empty()) continue;  // asked about, and not tried yet
    json.begin_object().key("node");
    attempt->node.empty() ? json.null() : json.text(attempt->node);
    if (!attempt->message.empty()) json.key("message").text(attempt->message);
    if (attempt->preemption) {
      const preemption::PreemptionReport& preemption = *attempt->preemption;
      json.key("preemption").begin_object();
      json.key("node").text(preemption.node);
      json.key("victims").begin_list();
      for (const auto& victim : preemption.victims)
        json.begin_object().key("pod").text(victim.pod).key("priority").number(victim.priority).end_object();
      json.end_list();
      json.key("violations").number(preemption.violations);
      json.key("candidates").number(preemption.candidates);
      json.key("searchedNodes").number(preemption.searched);
      if (!preemption.runner_up.empty()) {
        json.key("nextBest").text(preemption.runner_up);
        json.key("behindBy").text(preemption.decided_by);
      }
      json.end_object();
    }
    json.end_object();
  }
  json.end_list();
  if (subject->explained != nullptr) write_explanation(json, *subject->explained->explanation);
  if (fit != nullptr) write_fit(json, *fit);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace berth::report
