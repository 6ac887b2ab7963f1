//! The client of the protocol's own crate. Only this file names that crate here.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;

use http::HeaderName;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, UnixSocketHttpClient};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::Value;

use super::relay::Relay;
use super::scene::{Pass, Scene, Way};

/// A connection of a model's client, and what carries it.
#[derive(Clone)]
pub struct Model {
    client: Arc<RunningService<RoleClient, ClientConfig>>,
    _relay: Option<Arc<Relay>>,
}

/// What a tool answered: whether it refused, and the answer.
pub type Told = (bool, Value);

impl Model {
    /// Connects at this revision.
    pub async fn connect(
        scene: &Scene,
        pass: &Pass,
        revision: &str,
        origin: Option<&str>,
    ) -> Result<Self, String> {
        let version = version(revision);
        let config = ClientConfig::new(ClientCapabilities::default(), Implementation::new("story", "1"))
            .with_protocol_version(version.clone());
        let lifecycle = if version.has_initialize() {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Discover { preferred_versions: vec![version] }
        };
        let (client, relay) = match scene.way {
            Way::Pipes => {
                let mut command = pass.work.command("", &["mcp", "--profile", "full"]);
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
                let mut child = tokio::process::Command::from(command).spawn().expect("it starts");
                let pipes = (child.stdout.take().expect("a pipe"), child.stdin.take().expect("a pipe"));
                (config.serve_with_lifecycle(pipes, lifecycle).await, None)
            }
            Way::Loopback | Way::Encrypted => {
                let relay = Relay::to(scene).expect("it listens");
                let url = format!("{}/mcp/full", scene.url);
                let http = UnixSocketHttpClient::new(relay.path(), &url);
                let mut addressed =
                    StreamableHttpClientTransportConfig::with_uri(url).auth_header(pass.token.clone());
                if let Some(origin) = origin {
                    let origin = (HeaderName::from_static("origin"), origin.parse().expect("an origin"));
                    addressed = addressed.custom_headers(HashMap::from([origin]));
                }
                let transport = StreamableHttpClientTransport::with_client(http, addressed);
                (config.serve_with_lifecycle(transport, lifecycle).await, Some(Arc::new(relay)))
            }
        };
        client
            .map(|client| Self { client: Arc::new(client), _relay: relay })
            .map_err(|error| format!("{error:?}"))
    }

    /// The revision that both sides speak, and what the server says of itself.
    pub fn greeting(&self) -> (String, String) {
        let told = self.client.peer_info().expect("it has greeted");
        (told.protocol_version.to_string(), told.instructions.clone().unwrap_or_default())
    }

    /// The names of all tools.
    pub async fn tools(&self) -> Vec<String> {
        let tools = self.client.list_all_tools().await.expect("a list");
        tools.into_iter().map(|tool| tool.name.to_string()).collect()
    }

    /// Calls a tool.
    pub async fn tell(&self, tool: &'static str, arguments: Value) -> Result<Told, String> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.client.call_tool(params).await.map_err(|error| format!("{error:?}"))?;
        let answer = result.structured_content.expect("an object");
        Ok((result.is_error == Some(true), answer))
    }

    /// Calls a tool, which must not refuse.
    pub async fn call(&self, tool: &'static str, arguments: Value) -> Value {
        let (refused, answer) = self.tell(tool, arguments).await.expect("an answer");
        assert!(!refused, "{tool}: {answer}");
        answer
    }

    /// Calls a tool, which must refuse.
    pub async fn refused(&self, tool: &'static str, arguments: Value) -> Value {
        let (refused, answer) = self.tell(tool, arguments).await.expect("an answer");
        assert!(refused, "{tool}: {answer}");
        answer
    }
}

fn version(revision: &str) -> ProtocolVersion {
    serde_json::from_value(revision.into()).expect("a revision")
}
