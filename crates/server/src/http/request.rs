//! One request into one JSON object: the fields of path, query and body, each given once.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use tenure_core::json;
use tenure_core::model::limits::{IMPORTS_BYTES, excerpt};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::wire;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::fields::{Fields, Kind};
use super::problem::Refused;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of a body that is refused is still taken, and for how long.
const PASSED_BYTES: usize = 8 << 20;
const PASSED_TIMEOUT: Duration = Duration::from_secs(2);

/// Reads a whole body. Its size is bounded before any of it is parsed, and its type must be JSON. Where `room` is given,
/// each byte takes some of it as soon as it is here, until what is returned with the body is dropped.
pub(super) async fn body<'a>(
    headers: &HeaderMap,
    mut body: Body,
    bytes_max: usize,
    room: Option<&'a Semaphore>,
) -> Result<(Bytes, Option<SemaphorePermit<'a>>), Refused> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: u64| bytes > bytes_max as u64) {
        // Who asked before sending is answered before anything is sent.
        if !headers.contains_key(header::EXPECT) {
            pass_over(&mut body).await;
        }
        return Err(too_large(bytes_max));
    }
    let arrived = match tokio::time::timeout(BODY_TIMEOUT, arriving(&mut body, bytes_max, room)).await {
        Ok(arrived) => arrived,
        Err(_) => {
            return Err(Refused::with_status(
                StatusCode::REQUEST_TIMEOUT,
                "the request body did not arrive in time",
                "send the request again",
            ));
        }
    };
    if arrived.as_ref().is_err_and(|_| !body.is_end_stream()) {
        pass_over(&mut body).await;
    }
    let (bytes, taken) = arrived?;
    if !bytes.is_empty() && !is_json(headers) {
        return Err(Refused::with_status(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("the body's Content-Type is not {}", wire::JSON),
            "send Content-Type: application/json",
        ));
    }
    Ok((bytes, taken))
}

/// Collects a body as it arrives, as long as it is small enough and there is room for it.
async fn arriving<'a>(
    body: &mut Body,
    bytes_max: usize,
    room: Option<&'a Semaphore>,
) -> Result<(Bytes, Option<SemaphorePermit<'a>>), Refused> {
    let mut bytes = Vec::new();
    let mut taken: Option<SemaphorePermit<'a>> = None;
    while let Some(frame) = body.frame().await {
        let broken = |_| Refusal::new(Code::InvalidInput, "the request body ended early or is malformed");
        let frame = frame.map_err(broken)?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > bytes_max {
            return Err(too_large(bytes_max));
        }
        if let Some(room) = room {
            let more = u32::try_from(data.len()).ok().and_then(|bytes| room.try_acquire_many(bytes).ok());
            let more = more.ok_or_else(no_room)?;
            match &mut taken {
                Some(taken) => taken.merge(more),
                None => taken = Some(more),
            }
        }
        bytes.extend_from_slice(data);
    }
    Ok((bytes.into(), taken))
}

/// Takes what is still coming, up to a bound, and keeps none of it: who is cut off while sending does not hear why.
async fn pass_over(body: &mut Body) {
    let mut left = PASSED_BYTES;
    let passing = async {
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    let _ = tokio::time::timeout(PASSED_TIMEOUT, passing).await;
}

/// The fields of a body: none when it is empty.
pub(super) fn body_fields(bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match json::read(bytes)? {
        Value::Object(map) => Ok(map),
        _ => Err(Refusal::new(Code::InvalidInput, "the body is not a JSON object")
            .next("send the operation's fields as one object")),
    }
}

/// Adds the fields that stand in the path.
pub(super) fn add_path<'a>(
    map: &mut Map<String, Value>,
    fields: &Fields,
    params: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), Refusal> {
    for (name, text) in params {
        let value = fields.kind(name)?.read(name, text)?;
        once(map, name, value)?;
    }
    Ok(())
}

/// Adds the fields of a query. A list is given by repetition; everything else comes once.
pub(super) fn add_query(map: &mut Map<String, Value>, fields: &Fields, query: &str) -> Result<(), Refusal> {
    let mut lists: Map<String, Value> = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, text) = (decode(name)?, decode(text)?);
        let kind = fields.kind(&name)?;
        let value = kind.read(&name, &text)?;
        match (kind, lists.get_mut(&name)) {
            (Kind::List(_), Some(Value::Array(items))) => items.push(value),
            (Kind::List(_), _) => drop(lists.insert(name, Value::from(vec![value]))),
            (Kind::Text | Kind::Integer | Kind::Boolean | Kind::Structure, _) => once(map, &name, value)?,
        }
    }
    for (name, items) in lists {
        once(map, &name, items)?;
    }
    Ok(())
}

/// Fills in the revision that `If-Match` names. A condition that nobody would check is refused.
pub(super) fn add_revision(
    map: &mut Map<String, Value>,
    fields: &Fields,
    revision: Option<u64>,
) -> Result<(), Refusal> {
    let Some(revision) = revision else {
        return Ok(());
    };
    if !fields.has("revision") {
        return Err(Refusal::field("If-Match", "has no meaning for this operation", "leave it out"));
    }
    match map.get("revision") {
        None => drop(map.insert("revision".to_owned(), Value::from(revision))),
        Some(named) if named.as_u64() == Some(revision) => {}
        Some(_) => {
            let wrong = "names another revision than the field `revision`";
            return Err(Refusal::field("If-Match", wrong, "name one revision"));
        }
    }
    Ok(())
}

fn once(map: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), Refusal> {
    if map.contains_key(name) {
        return Err(Refusal::field(name, "is given twice", "give it in the path, the query or the body"));
    }
    map.insert(name.to_owned(), value);
    Ok(())
}

fn decode(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().map_err(|_| {
        Refusal::new(Code::InvalidInput, format!("the query part {:?} is not UTF-8", excerpt(text)))
    })?;
    Ok(decoded.into_owned())
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(wire::JSON)
}

fn no_room() -> Refusal {
    let detail = format!("requests to import take up the {IMPORTS_BYTES} bytes that there is room for");
    Refusal::new(Code::Overloaded, detail).next("send the import again when the others are done")
}

fn too_large(bytes_max: usize) -> Refused {
    Refused::with_status(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body is larger than {bytes_max} bytes"),
        "send less at once; keep large texts elsewhere and name the place",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read<'a>(text: &'static str, room: &'a Semaphore) -> Result<SemaphorePermit<'a>, Code> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, wire::JSON.parse().expect("a type"))]);
        let read = body(&headers, Body::from(text), 100, Some(room)).await;
        read.map(|(_, taken)| taken.expect("it has bytes")).map_err(|refused| refused.refusal.code)
    }

    #[tokio::test]
    async fn a_body_takes_its_room_until_it_is_dropped() {
        let room = Semaphore::new(10);
        let first = read("12345678", &room).await.expect("there is room");
        assert_eq!(room.available_permits(), 2);
        assert_eq!(read("123", &room).await.expect_err("no room"), Code::Overloaded);
        assert_eq!(room.available_permits(), 2, "who is refused keeps none");
        drop(first);
        drop(read("123", &room).await.expect("there is room again"));
        assert_eq!(room.available_permits(), 10);
    }
}
