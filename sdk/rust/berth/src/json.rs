// SPDX-License-Identifier: Apache-2.0
//! Args and objects as JSON values that know where they stand, so that an error says which one is wrong: `args.zones[2].weight`.
use crate::Error;

/// Deeper values are refused.
const DEPTH_MAX: u32 = 128;
/// Longer texts are refused: what the API server takes of an object is far below.
const BYTES_MAX: usize = 64 << 20;

/// A value with its place. Owns what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Json {
    path: String,
    data: Data,
}

#[derive(Debug, Clone, PartialEq)]
enum Data {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text; `root` is what paths begin with. Of a member that stands twice the last one counts.
    pub fn parse(text: &str, root: &str) -> Result<Json, Error> {
        if text.len() > BYTES_MAX {
            return Err(Error::bad_args(format!("{}: longer than {} bytes", root, BYTES_MAX)));
        }
        let mut parser = Parser { text: text.as_bytes(), at: 0 };
        let value = parser.value(root.to_string(), 0)?;
        parser.space();
        if parser.at != text.len() {
            return Err(parser.error(root, "more text after the value"));
        }
        Ok(value)
    }
    pub(crate) fn null(root: &str) -> Json {
        Json { path: root.to_string(), data: Data::Null }
    }

    /// Where the value stands: `args.zones[2]`.
    pub fn path(&self) -> &str {
        &self.path
    }
    /// Whether it is `null`, as args are that a profile does not give.
    pub fn is_null(&self) -> bool {
        self.data == Data::Null
    }
    /// The member of that name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match &self.data {
            Data::Object(members) => members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }
    /// The member of that name, which has to be there.
    pub fn at(&self, name: &str) -> Result<&Json, Error> {
        self.members()?;
        self.get(name).ok_or_else(|| Error::bad_args(format!("{} has no {:?}", self.path, name)))
    }
    /// The members of an object, in the order of the text.
    pub fn members(&self) -> Result<&[(String, Json)], Error> {
        match &self.data {
            Data::Object(members) => Ok(members),
            _ => Err(self.mismatch("an object")),
        }
    }
    /// The elements of a list.
    pub fn items(&self) -> Result<&[Json], Error> {
        match &self.data {
            Data::List(items) => Ok(items),
            _ => Err(self.mismatch("a list")),
        }
    }
    /// A text.
    pub fn text(&self) -> Result<&str, Error> {
        match &self.data {
            Data::Text(text) => Ok(text),
            _ => Err(self.mismatch("a text")),
        }
    }
    /// True or false.
    pub fn boolean(&self) -> Result<bool, Error> {
        match self.data {
            Data::Bool(value) => Ok(value),
            _ => Err(self.mismatch("true or false")),
        }
    }
    /// A whole number of 64 bits; 3.0 is one, 3.5 and 1e300 are none.
    pub fn integer(&self) -> Result<i64, Error> {
        match self.data {
            Data::Integer(value) => Ok(value),
            // 2^63 itself is beyond i64.
            Data::Number(value) if value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0 => Ok(value as i64),
            _ => Err(self.mismatch("a whole number")),
        }
    }
    /// The same within bounds.
    pub fn integer_in(&self, least: i64, most: i64) -> Result<i64, Error> {
        match self.integer()? {
            value if (least..=most).contains(&value) => Ok(value),
            value => Err(Error::bad_args(format!("{}: {} is not in {}..{}", self.path, value, least, most))),
        }
    }
    /// A number.
    pub fn number(&self) -> Result<f64, Error> {
        match self.data {
            Data::Integer(value) => Ok(value as f64),
            Data::Number(value) => Ok(value),
            _ => Err(self.mismatch("a number")),
        }
    }
    fn mismatch(&self, wanted: &str) -> Error {
        let shown = match &self.data {
            Data::Null => "null".to_string(),
            Data::Bool(value) => value.to_string(),
            Data::Integer(value) => value.to_string(),
            Data::Number(value) => value.to_string(),
            Data::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
            Data::List(_) => "a list".to_string(),
            Data::Object(_) => "an object".to_string(),
        };
        Error::bad_args(format!("{}: expected {}, found {}", self.path, wanted, shown))
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, path: &str, what: &str) -> Error {
        Error::bad_args(format!("{}: {} (byte {})", path, what, self.at))
    }
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }
    fn value(&mut self, path: String, depth: u32) -> Result<Json, Error> {
        if depth > DEPTH_MAX {
            return Err(self.error(&path, "deeper than 128 levels"));
        }
        self.space();
        let data = match self.text.get(self.at) {
            Some(b'{') => Data::Object(self.object(&path, depth)?),
            Some(b'[') => Data::List(self.list(&path, depth)?),
            Some(b'"') => Data::Text(self.string(&path)?),
            Some(b'-' | b'0'..=b'9') => self.number(&path)?,
            _ if self.word("true") => Data::Bool(true),
            _ if self.word("false") => Data::Bool(false),
            _ if self.word("null") => Data::Null,
            _ => return Err(self.error(&path, "no JSON value")),
        };
        Ok(Json { path, data })
    }
    fn word(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }
    fn object(&mut self, path: &str, depth: u32) -> Result<Vec<(String, Json)>, Error> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(members);
        }
        loop {
            self.space();
            if self.text.get(self.at) != Some(&b'"') {
                return Err(self.error(path, "expected the name of a member"));
            }
            let name = self.string(path)?;
            if !self.take(b':') {
                return Err(self.error(path, "expected ':'"));
            }
            let value = self.value(format!("{}.{}", path, name), depth + 1)?;
            members.push((name, value));
            if self.take(b'}') {
                return Ok(members);
            }
            if !self.take(b',') {
                return Err(self.error(path, "expected ',' or '}'"));
            }
        }
    }
    fn list(&mut self, path: &str, depth: u32) -> Result<Vec<Json>, Error> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(items);
        }
        loop {
            items.push(self.value(format!("{}[{}]", path, items.len()), depth + 1)?);
            if self.take(b']') {
                return Ok(items);
            }
            if !self.take(b',') {
                return Err(self.error(path, "expected ',' or ']'"));
            }
        }
    }
    fn number(&mut self, path: &str) -> Result<Data, Error> {
        let begin = self.at;
        let digits = |parser: &mut Self| {
            let first = parser.at;
            while matches!(parser.text.get(parser.at), Some(b'0'..=b'9')) {
                parser.at += 1;
            }
            parser.at - first
        };
        self.at += usize::from(self.text[self.at] == b'-');
        let first = self.at;
        let whole = digits(self);
        let mut valid = whole == 1 || (whole > 1 && self.text[first] != b'0');
        let mut integral = true;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            integral = false;
            valid &= digits(self) > 0;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            integral = false;
            self.at += usize::from(matches!(self.text.get(self.at), Some(b'+' | b'-')));
            valid &= digits(self) > 0;
        }
        let text = std::str::from_utf8(&self.text[begin..self.at]).unwrap_or("");
        if !valid {
            return Err(self.error(path, "no number"));
        }
        if integral {
            if let Ok(value) = text.parse() {
                return Ok(Data::Integer(value));
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Data::Number(value)),
            _ => Err(self.error(path, "a number beyond what 64 bits hold")),
        }
    }
    fn hex4(&mut self, path: &str) -> Result<u32, Error> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let value = digits.and_then(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        self.at += 4;
        value.ok_or_else(|| self.error(path, "\\u needs four digits"))
    }
    fn string(&mut self, path: &str) -> Result<String, Error> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let byte = *self.text.get(self.at).ok_or_else(|| self.error(path, "a text without an end"))?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(out).map_err(|_| self.error(path, "no UTF-8")),
                b'\\' => {
                    let escape = *self.text.get(self.at).ok_or_else(|| self.error(path, "a text without an end"))?;
                    self.at += 1;
                    let plain = match escape {
                        b'"' | b'\\' | b'/' => escape as char,
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.unicode(path)?,
                        _ => return Err(self.error(path, "an escape that JSON does not have")),
                    };
                    out.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0..=0x1f => return Err(self.error(path, "a control character in a text")),
                _ => out.push(byte),
            }
        }
    }
    fn unicode(&mut self, path: &str) -> Result<char, Error> {
        let first = self.hex4(path)?;
        let code = if (0xd800..0xdc00).contains(&first) && self.text[self.at.min(self.text.len())..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.hex4(path)?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(self.error(path, "half of a surrogate pair"));
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.error(path, "half of a surrogate pair"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
        result.unwrap_err().text().to_string()
    }

    #[test]
    fn reads_values_of_every_type() {
        let args = Json::parse(r#" {"a": [1, -2.5e1, "x\u00e9\ud83d\ude00\n", true, null], "b": {}} "#, "args").unwrap();
        let items = args.at("a").unwrap().items().unwrap();
        assert_eq!(items[0].integer().unwrap(), 1);
        assert_eq!(items[1].number().unwrap(), -25.0);
        assert_eq!(items[1].integer().unwrap(), -25);
        assert_eq!(items[2].text().unwrap(), "xé😀\n");
        assert!(items[3].boolean().unwrap());
        assert!(items[4].is_null());
        assert!(args.at("b").unwrap().members().unwrap().is_empty());
    }

    #[test]
    fn an_error_names_the_place_of_the_value() {
        let args = Json::parse(r#"{"zones": [{"weight": "much"}], "n": 1e300}"#, "args").unwrap();
        let zones = args.at("zones").unwrap().items().unwrap();
        assert_eq!(error_of(zones[0].at("weight").unwrap().integer()),
                   "args.zones[0].weight: expected a whole number, found \"much\"");
        assert_eq!(error_of(zones[0].at("name")), "args.zones[0] has no \"name\"");
        assert_eq!(error_of(args.at("n").unwrap().items()), format!("args.n: expected a list, found {}", 1e300));
        assert!(error_of(args.at("n").unwrap().integer()).starts_with("args.n: expected a whole number"));
        assert_eq!(error_of(Json::parse("7", "args").unwrap().integer_in(0, 5)), "args: 7 is not in 0..5");
        assert_eq!(error_of(Json::null("args").at("n")), "args: expected an object, found null");
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, said) in [
            ("", "args: no JSON value (byte 0)"),
            ("{\"a\": nope}", "args.a: no JSON value (byte 6)"),
            ("{\"a\" 1}", "args: expected ':' (byte 5)"),
            ("[1 2]", "args: expected ',' or ']' (byte 3)"),
            ("[1,]", "args[1]: no JSON value (byte 3)"),
            ("{,}", "args: expected the name of a member (byte 1)"),
            ("01", "args: no number (byte 2)"),
            ("-", "args: no number (byte 1)"),
            ("1.", "args: no number (byte 2)"),
            ("1e999", "args: a number beyond what 64 bits hold (byte 5)"),
            ("\"a", "args: a text without an end (byte 2)"),
            ("\"\\", "args: a text without an end (byte 2)"),
            ("\"\\x\"", "args: an escape that JSON does not have (byte 3)"),
            ("\"\\u12", "args: \\u needs four digits (byte 7)"),
            ("\"\\ud800\"", "args: half of a surrogate pair (byte 7)"),
            ("\"\\ud800\\u0041\"", "args: half of a surrogate pair (byte 13)"),
            ("\"\u{1}\"", "args: a control character in a text (byte 2)"),
            ("1 1", "args: more text after the value (byte 2)"),
        ] {
            assert_eq!(error_of(Json::parse(text, "args")), said, "{}", text);
        }
    }

    #[test]
    fn depth_has_a_bound() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Json::parse(&deep(129), "args").is_ok());
        assert!(error_of(Json::parse(&deep(130), "args")).contains("deeper than 128 levels"));
    }
}
