//! What a server tells everybody of itself, before it knows who asks.

use serde::Deserialize;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::server_route::ServerRoute;
use tenure_core::wire::PROTOCOL;

use crate::call::Client;
use crate::failure::Failure;

/// What a server tells everybody of itself.
#[derive(Deserialize)]
struct Version {
    name: String,
    version: String,
    protocol: u32,
    #[serde(default)]
    protocol_min: Option<u32>,
}

/// The version of the server that answers there, if it is one of ours and speaks as this client does.
pub fn server_version(client: &Client) -> Result<String, Failure> {
    let told = client.get(ServerRoute::Version.path())?;
    let Ok(Version { name, version, protocol, protocol_min }) = serde_json::from_slice(&told) else {
        return Err(stranger());
    };
    if name != "tenure" {
        return Err(stranger());
    }
    if (protocol_min.unwrap_or(protocol)..=protocol).contains(&PROTOCOL) {
        return Ok(version);
    }
    let mine = env!("CARGO_PKG_VERSION");
    let detail = format!(
        "the server (version {version}) speaks protocol {protocol}, this tenure {mine} speaks {PROTOCOL}"
    );
    Err(Refusal::new(Code::ProtocolMismatch, detail).next(format!("use tenure {version} here")).into())
}

fn stranger() -> Failure {
    Failure::cannot_tell(
        "what answers there is no Tenure server",
        "correct the URL; ask whoever runs the server for it",
    )
}
