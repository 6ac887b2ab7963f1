//! A backup: a copy of the store in one file, and the manifest that vouches for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;

use super::ids::{Digest, Epoch, EventNumber};
use super::limits::excerpt;
use super::time::WallTime;

/// The layout of the manifest that this program reads and writes.
pub const MANIFEST_VERSION: u32 = 1;

/// The fields of a manifest.
const FIELDS: [&str; 12] = [
    "v", "fleet", "epoch", "event", "head", "schema", "bytes", "sha256", "taken_at", "tenure", "database",
    "seal",
];

/// What a backup's file holds. It stands beside the file, because a digest cannot lie within what it is of, and so that
/// it can be read without a database. It names no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this layout.
    pub v: u32,
    /// The fleet's id.
    pub fleet: String,
    /// Its incarnation.
    pub epoch: Epoch,
    /// The number of the last event.
    pub event: EventNumber,
    /// The hash of the last event: compare it with one noted elsewhere.
    pub head: Digest,
    /// The number of the store's last migration.
    pub schema: u32,
    /// How many bytes the file has.
    pub bytes: u64,
    /// SHA-256 of the file, as `sha256sum` prints it.
    pub sha256: Digest,
    /// When it was taken, by the wall clock, in milliseconds since 1970.
    pub taken_at: WallTime,
    /// The version of tenure that took it.
    pub tenure: String,
    /// The database that wrote it.
    pub database: String,
    /// A digest of everything above.
    pub seal: Digest,
}

/// A backup that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// The file. Its manifest is beside it, under the same name with `.json`.
    pub file: String,
    /// What the manifest says.
    #[serde(flatten)]
    pub manifest: Manifest,
}

impl Manifest {
    /// The same with its seal.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.seal = Digest([0; 32]);
        self.seal = crate::secret::digest("tenure backup manifest v1", &[self.to_text().as_bytes()]);
        self
    }

    /// Its text as it stands in its file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a manifest is plain data and always serialises") + "\n"
    }

    /// Reads a manifest that is exactly as it was written.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Eof => "it is empty or was cut off".to_owned(),
            Category::Io | Category::Syntax | Category::Data => {
                format!("it is no JSON from line {}, column {} on", error.line(), error.column())
            }
        })?;
        let told = value.as_object().ok_or("it is no JSON object")?;
        if let Some(v) = told.get("v").filter(|v| **v != MANIFEST_VERSION) {
            return Err(format!(
                "it has layout {}, this version knows {MANIFEST_VERSION}",
                excerpt(&v.to_string())
            ));
        }
        if let Some(missing) = FIELDS.iter().find(|field| !told.contains_key(**field)) {
            return Err(format!("its field `{missing}` is missing"));
        }
        if let Some(other) = told.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            return Err(format!("it has a field {:?}, which no manifest has", excerpt(other)));
        }
        let manifest: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            format!("its field `{}` has no value that a manifest has there", error.path())
        })?;
        if manifest.clone().sealed() != manifest || manifest.to_text() != text {
            return Err("it was altered".to_owned());
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            v: MANIFEST_VERSION,
            fleet: "f".to_owned(),
            epoch: Epoch(1),
            event: EventNumber(5),
            head: Digest([1; 32]),
            schema: 2,
            bytes: 4096,
            sha256: Digest([2; 32]),
            taken_at: WallTime(7),
            tenure: "0.1.0".to_owned(),
            database: "SQLite 3".to_owned(),
            seal: Digest([0; 32]),
        }
        .sealed()
    }

    #[test]
    fn a_manifest_reads_back_and_no_byte_of_it_can_be_another() {
        let text = manifest().to_text();
        assert_eq!(Manifest::from_text(&text), Ok(manifest()));
        for (at, byte) in text.bytes().enumerate() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if byte == b'1' { b'0' } else { b'1' };
            let altered = String::from_utf8(altered).expect("it is ASCII");
            Manifest::from_text(&altered).expect_err(&altered);
        }
        for cut in 0..text.len() {
            Manifest::from_text(&text[..cut]).expect_err("cut");
        }
        Manifest::from_text(&format!("{text}\n")).expect_err("longer");
    }

    #[test]
    fn a_manifest_that_is_none_is_told_by_its_field_and_not_in_a_readers_own_words() {
        let whole: Value = serde_json::from_str(&manifest().to_text()).expect("JSON");
        let told = whole.as_object().expect("an object");
        let mut known: Vec<&str> = told.keys().map(String::as_str).collect();
        let mut fields = FIELDS.to_vec();
        known.sort_unstable();
        fields.sort_unstable();
        assert_eq!(known, fields);
        let wrong = |text: &str| Manifest::from_text(text).expect_err(text);
        for field in FIELDS {
            let mut lacks = told.clone();
            lacks.remove(field);
            assert_eq!(wrong(&json!(lacks).to_string()), format!("its field `{field}` is missing"));
            let mut other = told.clone();
            other.insert(field.to_owned(), json!([true]));
            let says = match field {
                "v" => "it has layout [true], this version knows 1".to_owned(),
                _ => format!("its field `{field}` has no value that a manifest has there"),
            };
            assert_eq!(wrong(&json!(other).to_string()), says);
        }
        let mut more = told.clone();
        more.insert("note".to_owned(), json!("x"));
        for (text, says) in [
            (json!(more).to_string(), "it has a field \"note\", which no manifest has"),
            (String::new(), "it is empty or was cut off"),
            ("{\"v\": 1,".to_owned(), "it is empty or was cut off"),
            ("{} {}".to_owned(), "it is no JSON from line 1, column 4 on"),
            ("[]".to_owned(), "it is no JSON object"),
            ("{}".to_owned(), "its field `v` is missing"),
            ("{\"v\": 2}".to_owned(), "it has layout 2, this version knows 1"),
            (whole.to_string(), "it was altered"),
        ] {
            assert_eq!(wrong(&text), says, "{text}");
        }
    }
}
