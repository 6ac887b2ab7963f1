//! The one strict reader in front of every request: what JSON leaves open is refused here.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::model::limits::{JSON_DEPTH, excerpt};
use crate::model::refusal::{Code, Refusal};

/// Reads one JSON value. Refuses duplicate keys, NUL characters, lone surrogates and nesting beyond
/// [`JSON_DEPTH`]; every other text is kept byte for byte.
pub fn read(bytes: &[u8]) -> Result<Value, Refusal> {
    read_to(bytes, JSON_DEPTH)
}

/// The same with nesting up to another depth.
pub fn read_to(bytes: &[u8], depth: usize) -> Result<Value, Refusal> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth, depth_max: depth }.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| {
        Refusal::new(Code::InvalidInput, format!("the request is not acceptable JSON: {error}"))
            .next("send one JSON value with distinct keys and valid Unicode")
    })
}

/// Turns a value into a request, naming what does not fit.
pub fn parse<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (field, wrong) = (error.path().to_string(), error.inner().to_string());
        let refusal = match field.as_str() {
            // The request as a whole: a field that is missing, for example.
            "." => Refusal::new(Code::InvalidInput, wrong),
            _ => {
                let field = excerpt(&field);
                Refusal::new(Code::InvalidInput, format!("{field}: {wrong}")).fact("field", field)
            }
        };
        refusal.next("correct the field; `--help` lists them")
    })
}

struct Strict {
    depth: usize,
    depth_max: usize,
}

impl Strict {
    fn inner<E: serde::de::Error>(&self) -> Result<Self, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, depth_max: self.depth_max }),
            None => Err(E::custom(format_args!("nested deeper than {} levels", self.depth_max))),
        }
    }

    fn text<E: serde::de::Error>(text: String) -> Result<String, E> {
        if text.contains('\0') { Err(E::custom("a text contains a NUL character")) } else { Ok(text) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        Self::text(value.to_owned()).map(Value::String)
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        Self::text(value).map(Value::String)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self.inner()?)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let key = Self::text(key)?;
            let value = entries.next_value_seed(self.inner()?)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {:?} occurs twice", excerpt(&key))));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read(text.as_bytes()).expect_err(text).detail
    }

    #[test]
    fn what_json_leaves_open_is_refused() {
        assert!(refused(r#"{"a":1,"a":2}"#).contains("occurs twice"));
        assert!(refused(r#"{"a":"\u0000"}"#).contains("NUL"));
        assert!(refused(r#"{"\u0000":1}"#).contains("NUL"));
        assert!(refused(r#"{"a":"\ud800"}"#).contains("hex escape"));
        assert!(refused(r"[1] 2").contains("trailing"));
        assert!(refused(&format!("{}1{}", "[".repeat(40), "]".repeat(40))).contains("deeper"));
        assert!(refused("{\"a\":\"\u{1}\"}").contains("control"));
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_place() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Wish {
            #[serde(rename = "count", default)]
            _count: u32,
            #[serde(rename = "tasks", default)]
            _tasks: Vec<crate::model::ids::TaskId>,
            #[serde(rename = "inner", default)]
            _inner: Option<Box<Wish>>,
        }
        for (text, field, wrong) in [
            (r#"{"count":4294967296}"#, "count", "4294967296"),
            (r#"{"count":"1"}"#, "count", "string"),
            (r#"{"tasks":["p-1","p/1"]}"#, "tasks[1]", "not a task id"),
            (r#"{"inner":{"count":-1}}"#, "inner.count", "-1"),
            (r#"{"other":1}"#, "other", "unknown field"),
        ] {
            let refusal = parse::<Wish>(read(text.as_bytes()).expect("JSON")).expect_err(text);
            let detail = &refusal.detail;
            assert!(detail.starts_with(&format!("{field}: ")) && detail.contains(wrong), "{detail}");
            assert_eq!(refusal.facts.get("field"), Some(&Value::from(field)), "{detail}");
        }
        let whole = parse::<Wish>(Value::from(1)).expect_err("no object");
        assert!(!whole.facts.contains_key("field"), "{}", whole.detail);
    }

    #[test]
    fn every_other_text_survives() {
        let text = "Ünïcödé 家 👩‍👩‍👧 \u{1b}[31m \u{202e} \u{feff}";
        let encoded = serde_json::to_vec(&text).expect("text");
        assert_eq!(read(&encoded).expect("accepted"), Value::String(text.to_owned()));
    }
}
