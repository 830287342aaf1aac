// SPDX-License-Identifier: Apache-2.0
/// Text of an expression to tokens, by the lexical grammar of CEL (cel-go parser/gen/CEL.g4).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "values/values.hpp"

namespace berth::cel {

enum class TokenKind : std::uint8_t { end, identifier, literal, punctuation };

struct Token {
  TokenKind kind = TokenKind::end;
  std::uint32_t offset = 0;  ///< bytes from the start of the expression
  std::string_view text;     ///< as written; of a literal that is a number: without its sign
  Value value;               ///< of a literal; a number whose text is out of range is an error
  bool is_number = false;
};

struct LexerError {
  std::uint32_t offset = 0;
  std::string_view message;  ///< a literal; empty: none
};

struct Tokens {
  std::vector<Token> tokens;  ///< the last one is `end`
  LexerError error;
};

/// Texts of string literals are pieces of `arena`, other texts are parts of `text`.
Tokens tokenize(std::string_view text, Arena& arena);

/// The value of an integer or floating-point literal, `negative` if a minus sign stands before it.
Value parse_number(std::string_view text, bool negative);

}  // namespace berth::cel
