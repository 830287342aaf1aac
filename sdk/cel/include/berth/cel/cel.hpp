// SPDX-License-Identifier: Apache-2.0
/// Device selectors of Kubernetes' dynamic resource allocation: CEL expressions such as
///
///     device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "A100"
///
/// as kube-scheduler v1.36 reads and evaluates them (cel-go v0.26, k8s.io/dynamic-resource-allocation/cel, with the environment
/// for stored expressions). Same verdicts, same costs. A library of its own: it knows nothing of the scheduler or of plugins.
///
/// A Program is compiled once per text, a Device is prepared once per device of a ResourceSlice; evaluating one on the other
/// allocates nothing unless the expression makes new texts or lists, or fails.
///
/// Threads: Program and Device never change, and any number of threads may use one. An Evaluator belongs to one thread at a
/// time. ProgramCache may be called by several threads.
/// Exceptions: std::bad_alloc alone.
/// Bounds: an expression has at most 100,000 bytes and 250 levels; evaluating it is bounded by Limits, whatever the expression
/// and the device are.
///
/// What differs from upstream: texts of compile errors; maps are walked in the order of their keys instead of at random;
/// quantities of more than 37 digits are refused; there is no estimate of the worst cost, which is the API server's affair.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace berth::cel {

struct CompiledExpression;
struct DeviceData;
struct EvaluatorState;
struct CacheState;

/// One entry of a device's `attributes`. Texts are copied by Device.
struct Attribute {
  enum class Type : std::uint8_t {
    unsupported,  ///< a list, or nothing: every expression fails on such a device
    integer,
    boolean,
    string,
    version,  ///< semantic version 2.0.0; one that cannot be read makes every expression fail
  };
  std::string_view name;  ///< `model`, or with a domain, `gpu.example.com/model`
  Type type = Type::unsupported;
  std::int64_t integer = 0;  ///< also of a boolean: 0 or 1
  std::string_view text;     ///< of a string or version

  static Attribute of_integer(std::string_view name, std::int64_t value) { return {name, Type::integer, value, {}}; }
  static Attribute of_boolean(std::string_view name, bool value) { return {name, Type::boolean, value ? 1 : 0, {}}; }
  static Attribute of_string(std::string_view name, std::string_view value) { return {name, Type::string, 0, value}; }
  static Attribute of_version(std::string_view name, std::string_view value) { return {name, Type::version, 0, value}; }
};

/// One entry of a device's `capacity`.
struct Capacity {
  std::string_view name;      ///< as of an attribute
  std::string_view quantity;  ///< as in the API, `80Gi`; one that cannot be read makes every expression fail
};

/// The variable `device`: driver, attributes and capacity by domain. Names without a domain belong to the driver's.
class Device {
 public:
  Device(std::string_view driver, bool allow_multiple_allocations, std::span<const Attribute> attributes,
         std::span<const Capacity> capacity);
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

 private:
  friend class Evaluator;
  std::unique_ptr<DeviceData> data_;
};

/// Where and why an expression does not compile.
struct CompileError {
  std::string message;       ///< empty: it compiles
  std::uint32_t line = 0;    ///< from 1
  std::uint32_t column = 0;  ///< in code points, from 1
  /// `compilation failed: ERROR: <input>:1:4: …`, the first line of what kube-scheduler says.
  std::string text() const;
};

class Program;
struct Compiled {
  std::shared_ptr<const Program> program;  ///< null if it does not compile
  CompileError error;
  std::uint64_t steps = 0;  ///< that compiling takes, of the same text always as many; as Limits::steps counts
};

/// A compiled expression. Keeps a copy of the text.
class Program {
 public:
  /// Takes milliseconds for what people write, some hundred at most. Regular expressions of it take 4 MiB at most.
  static Compiled compile(std::string_view text);
  ~Program();
  std::string_view text() const;
  /// About how much memory it takes: some hundred bytes per byte of text, and between 32 KiB and 1 MiB for each pattern, which
  /// grow to that when they are matched.
  std::size_t bytes() const;
  /// A number of its own for each program of the process: a key for verdicts that are kept.
  std::uint64_t serial() const;

 private:
  friend class Evaluator;
  explicit Program(std::unique_ptr<CompiledExpression> compiled);
  std::unique_ptr<CompiledExpression> compiled_;
};

/// Compiled expressions by text, failures included, so that each text is compiled once. The least recently used are dropped
/// first; a holder of a program keeps it.
class ProgramCache {
 public:
  /// `bytes_max`: of texts and programs together, as Program::bytes() counts.
  explicit ProgramCache(std::size_t programs_max = 1024, std::size_t bytes_max = k_bytes_max);
  ~ProgramCache();
  Compiled get(std::string_view text);
  std::size_t size() const;
  std::size_t bytes() const;
  static constexpr std::size_t k_bytes_max = std::size_t{16} << 20;

 private:
  std::unique_ptr<CacheState> state_;
};

struct Limits {
  std::uint64_t cost = 1'000'000;  ///< in CEL's units, as upstream
  /// Of matching, comparing and copying, which costs too little; five nanoseconds each, eight at most. A verdict never depends on
  /// how many there are but for an expression that takes more.
  std::uint64_t steps = 25'000'000;
  /// Asked every 100 iterations of macros and every million steps; true ends the evaluation with `operation interrupted`. May be
  /// null. What asks least often is a regular expression, which is matched without a question, at most so long as steps allow.
  bool (*interrupted)(void* context) = nullptr;
  void* context = nullptr;
};

/// Memory of the texts, lists and maps that one evaluation makes; one more text of this size may be under way. More ends it
/// with an error.
inline constexpr std::size_t k_evaluation_bytes_max = 64 * 1024 * 1024;

enum class Verdict : std::uint8_t { no, yes, error };

/// Why an evaluation was given up. Cost, steps and memory end the same expression on the same device each time.
enum class Stop : std::uint8_t { none, cost, steps, memory, interrupted, panic };
std::string_view text_of(Stop stop);

struct Outcome {
  Verdict verdict = Verdict::error;
  /// Why, for example `no such key: model`, as upstream says it without a prefix. Lives until the evaluator's next call.
  std::string_view error;
  std::uint64_t cost = 0;
  Stop stop = Stop::none;
  std::uint64_t steps = 0;  ///< that it took, four for each unit of cost included
};

/// Evaluates programs, one after the other, with memory that it keeps between them: some 16 KiB, and the last four
/// patterns that were computed while evaluating, of 2 MiB at most.
class Evaluator {
 public:
  Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;
  ~Evaluator();
  Outcome evaluate(const Program& program, const Device& device, const Limits& limits = {});

 private:
  std::unique_ptr<EvaluatorState> state_;
};

}  // namespace berth::cel
