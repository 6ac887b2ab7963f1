//! Five-word handles: names for sessions and workspaces that people and models can say and remember.
//!
//! A handle is an alias and no secret. Only an exact match means anything; prefixes never do. Five words of 128
//! carry 35 bits, so two ids can meet; then the next draw is taken.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::secret::digest;

const WORDS: [&str; 128] = [
    "acorn", "amber", "anchor", "apple", "arrow", "autumn", "badge", "bamboo", "barley", "basil", "beacon",
    "birch", "bison", "blossom", "bridge", "bronze", "butter", "cabin", "cactus", "camel", "candle",
    "canyon", "castle", "cedar", "cherry", "clover", "cobalt", "comet", "copper", "coral", "cotton", "crane",
    "cricket", "crystal", "dahlia", "daisy", "delta", "dolphin", "dragon", "eagle", "ember", "falcon",
    "feather", "fern", "fiddle", "flint", "forest", "fossil", "fountain", "garden", "garnet", "ginger",
    "glacier", "granite", "grove", "hammer", "harbor", "hazel", "heron", "hickory", "honey", "island",
    "ivory", "jasmine", "juniper", "kettle", "kiwi", "lagoon", "lantern", "laurel", "lemon", "lily", "linen",
    "lotus", "lunar", "magnet", "mango", "maple", "marble", "meadow", "mellow", "mint", "mirror", "moss",
    "nectar", "needle", "nutmeg", "oasis", "ocean", "olive", "onyx", "opal", "orbit", "orchid", "otter",
    "oyster", "paddle", "panda", "pepper", "pine", "planet", "plum", "pocket", "polar", "prairie", "quartz",
    "quill", "rabbit", "raven", "reef", "ribbon", "river", "robin", "saddle", "saffron", "sage", "salmon",
    "silver", "sparrow", "spruce", "summit", "thistle", "tiger", "timber", "tulip", "velvet", "walnut",
    "willow",
];

const LENGTH: usize = 5;

/// Five words joined by hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct Handle(String);

impl Handle {
    /// The handle of an opaque id. `draw` is 0 first and grows while the handle is taken by another id.
    #[must_use]
    pub fn of(id: &str, draw: u32) -> Self {
        let hash = digest("tenure handle v1", &[id.as_bytes(), &draw.to_be_bytes()]);
        let words: Vec<&str> = hash.0[..LENGTH].iter().map(|byte| WORDS[usize::from(byte & 127)]).collect();
        Self(words.join("-"))
    }

    /// The words, joined by hyphens.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Handle {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split('-').collect();
        if words.len() == LENGTH && words.iter().all(|word| WORDS.binary_search(word).is_ok()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{:?} is not a handle (five words joined by -)", super::limits::excerpt(text)))
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Handle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted_distinct_and_plain() {
        assert!(WORDS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(WORDS.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase())));
    }

    #[test]
    fn a_handle_depends_on_every_part_and_reads_back() {
        let handle = Handle::of("a", 0);
        assert_eq!(handle, Handle::of("a", 0));
        assert_ne!(handle, Handle::of("a", 1));
        assert_ne!(handle, Handle::of("b", 0));
        assert_eq!(handle.as_str().parse(), Ok(handle));
        assert!("river-tiger".parse::<Handle>().is_err());
    }
}
