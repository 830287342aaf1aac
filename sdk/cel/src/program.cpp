// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <list>
#include <unordered_map>

#include "compiled_expression.hpp"
#include "evaluation.hpp"
#include "guarded.hpp"
#include "syntax/parser.hpp"

namespace berth::cel {
namespace {

constexpr std::uint64_t k_steps_per_byte_of_text = 50;
// Lists of operands and types of a node; the overloads that a call may take.
constexpr std::size_t k_bytes_around_node = 128;
constexpr std::size_t k_bytes_of_candidates = 128;

CompileError error_at(std::string_view text, const SyntaxError& error) {
  CompileError made;
  made.message = std::string(error.message);
  const std::string_view before = text.substr(0, error.offset);
  made.line = 1;
  for (const char c : before) made.line += c == '\n';
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  made.column = static_cast<std::uint32_t>(1 + code_points(before.substr(line_start)));
  return made;
}

}  // namespace

std::string CompileError::text() const {
  if (message.empty() || message.rfind("must evaluate to ", 0) == 0 ||
      message.rfind("program instantiation failed", 0) == 0)
    return message;
  return "compilation failed: ERROR: <input>:" + std::to_string(line) + ':' + std::to_string(column) + ": " + message;
}

Program::Program(std::unique_ptr<CompiledExpression> compiled) : compiled_(std::move(compiled)) {}
Program::~Program() = default;
std::string_view Program::text() const { return compiled_->text; }
std::size_t Program::bytes() const { return compiled_->bytes(); }
std::uint64_t Program::serial() const { return compiled_->serial; }

std::size_t CompiledExpression::bytes() const {
  std::size_t sum = sizeof *this + text.size() + arena.held() + regex_bytes;
  sum += checked.types.bytes() + tree.nodes.size() * (sizeof(Node) + k_bytes_around_node) +
         checked.candidates.size() * k_bytes_of_candidates;
  return sum;
}

Compiled Program::compile(std::string_view text) {
  auto expression = std::make_unique<CompiledExpression>();
  // What is too long is not worth a copy; the parser says so.
  expression->text = std::string(text.substr(0, k_expression_bytes_max + 1));
  expression->steps = k_steps_per_byte_of_text * expression->text.size();
  SyntaxError error = parse(expression->text, expression->arena, expression->tree);
  if (error.message.empty()) error = check(expression->tree, expression->checked, expression->arena);
  expression->steps += expression->checked.types.steps();
  if (error.message.empty()) error = fold_constants(*expression);
  if (!error.message.empty()) return {nullptr, error_at(expression->text, error), expression->steps};
  static std::atomic<std::uint64_t> last_serial{0};
  expression->serial = ++last_serial;
  const std::uint64_t steps = expression->steps;
  return {std::shared_ptr<const Program>(new Program(std::move(expression))), {}, steps};
}

Evaluator::Evaluator() : state_(std::make_unique<EvaluatorState>()) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Outcome Evaluator::evaluate(const Program& program, const Device& device, const Limits& limits) {
  EvaluatorState& state = *state_;
  state.arena.reset();
  state.regexes.start_evaluation();
  if (!device.data_->error.empty()) return {Verdict::error, device.data_->error, 0, Stop::none, 0};
  const CompiledExpression& expression = *program.compiled_;
  if (state.slots.size() < expression.checked.slots) state.slots.resize(expression.checked.slots);
  state.slots[0] = of_object(Kind::device, device.data_.get());
  Evaluation evaluation(limits, device.data_.get(), state.arena, state.regexes, state.slots.data());
  const Value value = evaluation.evaluate(*expression.tree.root);
  if (!evaluation.stopped().empty())
    return {Verdict::error, evaluation.stopped(), evaluation.cost(), evaluation.stop_kind(), evaluation.steps()};
  const std::uint64_t steps = evaluation.steps();
  if (value.is_error()) return {Verdict::error, value.text(), evaluation.cost(), Stop::none, steps};
  if (value.is(Kind::boolean))
    return {value.is_true() ? Verdict::yes : Verdict::no, {}, evaluation.cost(), Stop::none, steps};
  const std::string text = "CEL result of type " + std::string(type_name(value)) +
                           " could not be converted to bool: unsupported native conversion from " +
                           std::string(type_name(value)) + " to 'bool'";
  return {Verdict::error, state.arena.copy(text), evaluation.cost(), Stop::none, steps};
}

struct CacheState {
  struct Entry {
    std::string text;
    Compiled compiled;
    std::size_t bytes = 0;
  };
  const std::size_t programs_max;
  const std::size_t bytes_max;
  mutable Mutex mutex;
  std::list<Entry> entries BERTH_CEL_GUARDED_BY(mutex);  ///< the one used last is first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_text BERTH_CEL_GUARDED_BY(mutex);
  std::size_t bytes BERTH_CEL_GUARDED_BY(mutex) = 0;
};

ProgramCache::ProgramCache(std::size_t programs_max, std::size_t bytes_max)
    : state_(new CacheState{programs_max, bytes_max, {}, {}, {}, 0}) {}
ProgramCache::~ProgramCache() = default;

Compiled ProgramCache::get(std::string_view text) {
  CacheState& state = *state_;
  {
    const Lock lock(state.mutex);
    if (const auto found = state.by_text.find(text); found != state.by_text.end()) {
      state.entries.splice(state.entries.begin(), state.entries, found->second);
      return found->second->compiled;
    }
  }
  // Compiled without the lock: two threads may do the same work, none waits for the other.
  Compiled compiled = Program::compile(text);
  const std::size_t bytes = sizeof(CacheState::Entry) + 2 * text.size() + compiled.error.message.size() +
                            (compiled.program == nullptr ? 0 : compiled.program->bytes());
  if (bytes > state.bytes_max || state.programs_max == 0) return compiled;
  const Lock lock(state.mutex);
  if (state.by_text.find(text) != state.by_text.end()) return compiled;
  state.entries.push_front({std::string(text), compiled, bytes});
  state.by_text.emplace(state.entries.front().text, state.entries.begin());
  state.bytes += bytes;
  while (state.entries.size() > state.programs_max || state.bytes > state.bytes_max) {
    state.bytes -= state.entries.back().bytes;
    state.by_text.erase(state.entries.back().text);
    state.entries.pop_back();
  }
  return compiled;
}

std::size_t ProgramCache::size() const {
  const Lock lock(state_->mutex);
  return state_->entries.size();
}

std::size_t ProgramCache::bytes() const {
  const Lock lock(state_->mutex);
  return state_->bytes;
}

}  // namespace berth::cel
