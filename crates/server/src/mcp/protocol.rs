//! The protocol itself, over standard input and output and over HTTP. Only this file names the crate that speaks it.
//!
//! It serves the revisions 2025-06-18, 2025-11-25 and 2026-07-28. Over HTTP no revision gets a session of the protocol's
//! own: each request stands for itself, whatever server it reaches, and one that names such a session is answered all the
//! same.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{Request, Response};
use http_body_util::Full;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool as Listed,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, serve_server};
use serde_json::Value;
use tenure_core::instructions;
use tenure_core::model::limits::{BODY_BYTES, excerpt};
use tenure_core::operation::tools::Profile;

use super::told::Told;
use super::tool::{self, Tool};
use super::{Beside, Carrier, OnThreads, Plain, call};

/// Most calls that wait for a server at once, of one that is spoken to over standard input and output.
const CALLS_AT_ONCE: usize = 64;

const VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// Tools that are offered, and who carries them out.
struct Offered<C> {
    carrier: Arc<C>,
    profile: Profile,
}

impl<C: Carrier> ServerHandler for Offered<C> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tenure", env!("CARGO_PKG_VERSION")).with_title("Tenure"))
            .with_instructions(instructions::for_tools())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tool::tools(self.profile).map(listed).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        self.named(name).map(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.named(&request.name) else {
            let wrong = format!("there is no tool {:?}; tools/list names them", excerpt(&request.name));
            return Err(ErrorData::invalid_params(wrong, None));
        };
        let beside = Beside {
            meta: match serde_json::to_value(&context.meta) {
                Ok(Value::Object(meta)) => meta,
                Ok(_) | Err(_) => serde_json::Map::new(),
            },
            request: context
                .extensions
                .get::<Parts>()
                .map(|parts| parts.extensions.clone())
                .unwrap_or_default(),
            ..Beside::default()
        };
        let calling = call(&*self.carrier, tool, request.arguments.unwrap_or_default(), beside);
        tokio::select! {
            told = calling => Ok(answer(told).into()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

impl<C> Offered<C> {
    fn named(&self, name: &str) -> Option<&'static Tool> {
        tool::tools(self.profile).find(|tool| tool.name == name)
    }
}

fn listed(tool: &Tool) -> Listed {
    serde_json::from_value(tool.listed()).expect("what is listed of a tool is as MCP wants it")
}

fn answer(told: Told) -> CallToolResult {
    let text = ContentBlock::text(told.structured.to_string());
    let mut result =
        if told.is_error { CallToolResult::error(vec![text]) } else { CallToolResult::success(vec![text]) };
    result.structured_content = Some(told.structured);
    result
}

/// Tools over HTTP.
pub(crate) struct Served<C>(StreamableHttpService<Offered<C>, NeverSessionManager>);

impl<C: Carrier> Served<C> {
    /// Offers tools under these host names, to no web page but those of these origins.
    pub(crate) fn new(carrier: Arc<C>, profile: Profile, hosts: Vec<String>, origins: Vec<String>) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(BODY_BYTES)
            .with_allowed_hosts(hosts)
            .with_allowed_origins(origins)
            .enforce_origin_validation();
        let offered = move || Ok(Offered { carrier: carrier.clone(), profile });
        Self(StreamableHttpService::new(offered, Arc::default(), config))
    }

    /// Answers a request whose body is here.
    pub(crate) async fn answer(&self, parts: Parts, body: Bytes) -> Response<Body> {
        self.0.handle(Request::from_parts(parts, Full::new(body))).await.map(Body::new)
    }
}

/// Offers tools over standard input and output until the input ends. Nothing else may write there meanwhile.
pub fn serve_stdio(plain: impl Plain, profile: Profile) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(CALLS_AT_ONCE)
        .build()?;
    runtime.block_on(async {
        let offered = Offered { carrier: Arc::new(OnThreads(Arc::new(plain))), profile };
        let serving = serve_server(offered, rmcp::transport::stdio_pipes());
        let serving = match serving.await {
            Ok(serving) => serving,
            // Whoever started it went before saying a word.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(std::io::Error::other(error)),
        };
        serving.waiting().await.map_err(std::io::Error::other)?;
        Ok(())
    })
}
