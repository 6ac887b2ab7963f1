//! One macro for every closed set of words: what is written on the wire is what is stored.

/// Declares an enum whose variants are words: serialised, stored, parsed and listed by the same spelling.
macro_rules! text_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
                 serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $text)] #[cfg_attr(feature = "cli", value(name = $text))] $variant,)+
        }

        impl $name {
            /// Every word of the set, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as written on the wire and in the store.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(format!("`{text}` is none of {}", [$($text),+].join(", "))),
                }
            }
        }
    };
}

pub(crate) use text_enum;
