//! The OpenAPI document as the server gives it, committed so that a change of the API shows in a review.

use serde_json::Value;

/// docs/openapi.json
pub fn document() -> String {
    pretty(&tenure_server::http::openapi())
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_fact_stands_on_a_line() {
        assert_eq!(pretty(&json!({ "a": 1, "b": [] })), "{\n  \"a\": 1,\n  \"b\": []\n}\n");
    }

    #[test]
    fn it_describes_operations_by_their_routes() {
        let document: Value = serde_json::from_str(&document()).expect("it is JSON");
        assert_eq!(document["openapi"], "3.1.0");
        assert!(document["paths"]["/api/v1/claims"]["post"].is_object());
    }
}
