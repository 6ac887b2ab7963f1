//! HTTP/1.1 over the daemon's Unix socket, or to a server on the network: ureq with a transport of our own.
//!
//! A request ends in a whole reply, in [`Cut::Unreachable`] (no connection was made, so nothing can have
//! happened) or in [`Cut::Uncertain`]. What a reply means is read elsewhere.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tenure_core::model::ids::{Anchor, EventCursor};
use tenure_core::model::limits::TARGET_BYTES;
use tenure_core::wire;
use ureq::http;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

use crate::failure::Failure;
use crate::pause;
use crate::route::Route;
use crate::server_url::ServerUrl;
use crate::tcp::{Connection, Reach};
use crate::token::Token;

/// Largest reply that is read: a full page of the longest texts.
const REPLY_BYTES: u64 = 128 * 1024 * 1024;
/// What is read and written at once. ureq's own 128 KiB are cleared for every connection, at a tenth of a small call's
/// cost; the head of a reply must fit, and the longest line of a request.
const BUFFER_BYTES: usize = 16 * 1024;
const _: () = assert!(TARGET_BYTES + 1024 <= BUFFER_BYTES, "a request line is written at once");
/// Longest wait for a place in the daemon's accept queue.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest path that fits into a socket address, its end marker aside.
pub const ADDRESS_BYTES: usize = 107;

/// A whole reply.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// How long to wait before the request is sent again, if that was said.
    pub retry_after: Option<Duration>,
    /// The last event of the state that it is true of, if that was said.
    pub at: Option<EventCursor>,
    /// The body as it came.
    pub body: Vec<u8>,
}

/// An answer as it comes.
pub struct Stream {
    /// The last event of the state that it begins with, if that was said.
    pub at: Option<EventCursor>,
    /// Where the record ends of which it tells, if that was said.
    pub anchor: Option<Anchor>,
    /// How long it is, if that was said.
    pub bytes: Option<u64>,
    /// What comes.
    pub reader: ureq::BodyReader<'static>,
}

/// Why there is no whole reply.
#[derive(Debug)]
pub enum Cut {
    /// No connection was made: nothing can have happened.
    Unreachable(std::io::Error),
    /// The request may have been carried out.
    Uncertain(String),
}

/// A line to the daemon or a server; connections are kept and used again.
#[derive(Debug)]
pub struct Wire {
    agent: ureq::Agent,
    /// What stands before the path of every request.
    base: String,
    /// What a server knows the caller by.
    token: Option<Token>,
}

impl Wire {
    /// A line to the daemon of this state folder. Nothing is connected yet.
    #[must_use]
    pub fn to(folder: &Path) -> Self {
        let connect = |folder: &PathBuf| connect(folder);
        let connector = LineConnector { place: folder.to_owned(), connect };
        let agent = ureq::Agent::with_parts(config(), connector, NoResolver);
        Self { agent, base: "http://tenure.local".to_owned(), token: None }
    }

    /// A line to a server. Nothing is connected yet. `authorities` is a file of those that its certificate is checked
    /// against, instead of the system's.
    pub fn to_server(
        url: &ServerUrl,
        authorities: Option<&Path>,
        token: Option<Token>,
    ) -> Result<Self, Failure> {
        let connector = LineConnector { place: Reach::new(url, authorities)?, connect: Reach::connect };
        let agent = ureq::Agent::with_parts(config(), connector, NoResolver);
        Ok(Self { agent, base: url.to_string(), token })
    }

    /// The same line for a caller that is known by this.
    pub(crate) fn known_by(self, token: Token) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Sends a request and waits for its whole reply, at most so long.
    pub fn send(&self, route: &Route, headers: &[(&str, &str)], patience: Duration) -> Result<Reply, Cut> {
        whole(self.ask(route, headers, Within::Whole(patience))?)
    }

    /// Sends a question whose answer has no end, or is too long to be kept, and is of this media type. Its beginning comes
    /// within so long, its rest whenever there is some; an answer that is none of success ends and is returned whole.
    pub fn open(
        &self,
        route: &Route,
        headers: &[(&str, &str)],
        media: &str,
        patience: Duration,
    ) -> Result<Result<Stream, Reply>, Cut> {
        let response = self.ask(route, headers, Within::Begun(patience))?;
        if response.status().is_success() {
            if response.body().mime_type() != Some(media) {
                return Err(Cut::Uncertain(format!("what answered sends no {media}")));
            }
            let (at, anchor) = (told(&response, wire::EVENT), told(&response, wire::ANCHOR));
            let bytes = response.body().content_length();
            return Ok(Ok(Stream { at, anchor, bytes, reader: response.into_body().into_reader() }));
        }
        whole(response).map(Err)
    }

    fn ask(
        &self,
        route: &Route,
        headers: &[(&str, &str)],
        within: Within,
    ) -> Result<http::Response<ureq::Body>, Cut> {
        let mut builder =
            http::Request::builder().method(route.method).uri(format!("{}{}", self.base, route.target));
        if let Some(token) = &self.token {
            builder = builder.header(http::header::AUTHORIZATION, token.header());
        }
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let response = match &route.body {
            Some(body) => {
                let request = builder.header(http::header::CONTENT_TYPE, wire::JSON).body(body.as_str());
                self.run(request, within)
            }
            None => self.run(builder.body(()), within),
        };
        response.map_err(cut)
    }

    fn run<B: ureq::AsSendBody>(
        &self,
        request: Result<http::Request<B>, http::Error>,
        within: Within,
    ) -> Result<http::Response<ureq::Body>, ureq::Error> {
        let request = self.agent.configure_request(request.map_err(ureq::Error::Http)?);
        let request = match within {
            Within::Whole(patience) => request.timeout_global(Some(patience)),
            Within::Begun(patience) => request.timeout_recv_response(Some(patience)),
        };
        self.agent.run(request.build())
    }
}

fn config() -> ureq::config::Config {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .input_buffer_size(BUFFER_BYTES)
        .output_buffer_size(BUFFER_BYTES)
        .user_agent(concat!("tenure/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// How long a reply may take.
#[derive(Debug, Clone, Copy)]
enum Within {
    /// Until it is here.
    Whole(Duration),
    /// Until it begins.
    Begun(Duration),
}

/// Reads the whole of a reply.
fn whole(mut response: http::Response<ureq::Body>) -> Result<Reply, Cut> {
    let header = response.headers().get(http::header::RETRY_AFTER);
    let retry_after = header.and_then(|header| header.to_str().ok()).and_then(pause::stated);
    let at = told(&response, wire::EVENT);
    let body = response.body_mut().with_config().limit(REPLY_BYTES).read_to_vec().map_err(cut)?;
    Ok(Reply { status: response.status().as_u16(), retry_after, at, body })
}

/// What an answer tells in one of our headers, if it does.
fn told<T: FromStr>(response: &http::Response<ureq::Body>, header: &str) -> Option<T> {
    response.headers().get(header)?.to_str().ok()?.parse().ok()
}

fn cut(error: ureq::Error) -> Cut {
    match error {
        ureq::Error::Other(inner) => match inner.downcast::<Unreachable>() {
            Ok(unreachable) => Cut::Unreachable(unreachable.0),
            Err(other) => Cut::Uncertain(other.to_string()),
        },
        ureq::Error::Timeout(_) => Cut::Uncertain("the daemon did not answer in time".to_owned()),
        other => Cut::Uncertain(format!("the connection to the daemon broke: {other}")),
    }
}

/// Connects to the daemon's socket. A full accept queue is waited for, but never longer than
/// [`CONNECT_TIMEOUT`], also when the daemon is stopped.
pub fn connect(folder: &Path) -> std::io::Result<UnixStream> {
    let path = folder.join(wire::SOCKET);
    let short = path.as_os_str().len() <= ADDRESS_BYTES;
    let folder_file = if short { None } else { Some(std::fs::File::open(folder)?) };
    let address = match &folder_file {
        None => SocketAddrUnix::new(&path)?,
        Some(open) => SocketAddrUnix::new(format!("/proc/self/fd/{}/{}", open.as_raw_fd(), wire::SOCKET))?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => break,
            Err(rustix::io::Errno::AGAIN) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // A socket in a folder that others can write may be anybody's, and what is sent proves who we are.
    if rustix::net::sockopt::socket_peercred(&socket)?.uid != rustix::process::geteuid() {
        let foreign = "the socket belongs to another user";
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, foreign));
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[derive(Debug)]
struct Unreachable(std::io::Error);

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unreachable {}

/// What requests travel by.
trait Line: Read + Write + AsFd + Send + Sync + 'static {
    fn is_encrypted(&self) -> bool;
}

impl Line for UnixStream {
    fn is_encrypted(&self) -> bool {
        false
    }
}

impl Line for Connection {
    fn is_encrypted(&self) -> bool {
        Self::is_encrypted(self)
    }
}

/// What connects to a place.
#[derive(Debug)]
struct LineConnector<P, L> {
    place: P,
    connect: fn(&P) -> std::io::Result<L>,
}

impl<P: std::fmt::Debug + Send + Sync + 'static, L: Line + std::fmt::Debug> Connector
    for LineConnector<P, L>
{
    type Out = LineTransport<L>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let line = (self.connect)(&self.place).map_err(|e| ureq::Error::Other(Box::new(Unreachable(e))))?;
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(LineTransport { line, buffers, unsent: Vec::new() }))
    }
}

struct LineTransport<L> {
    line: L,
    buffers: LazyBuffers,
    /// Head and body of a small request travel together, so that the daemon wakes once.
    unsent: Vec<u8>,
}

impl<L: Line> LineTransport<L> {
    fn send(&mut self, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timeout = timeout.for_write();
        set_socket_timeout(&self.line, Timeout::Send, timeout.not_zero().map(|duration| *duration))
            .map_err(|error| ureq::Error::Io(error.into()))?;
        let unsent = std::mem::take(&mut self.unsent);
        let sent = self.line.write_all(&unsent).and_then(|()| self.line.flush());
        sent.map_err(|error| timed_out(error, timeout))
    }
}

impl<L> std::fmt::Debug for LineTransport<L> {
    /// The buffers hold proofs and texts, so they are never printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineTransport(…)")
    }
}

impl<L: Line> Transport for LineTransport<L> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.unsent.extend_from_slice(&self.buffers.output()[..amount]);
        if self.unsent.len() < BUFFER_BYTES { Ok(()) } else { self.send(timeout) }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        if !self.unsent.is_empty() {
            self.send(timeout)?;
        }
        let timeout = timeout.for_read();
        set_socket_timeout(&self.line, Timeout::Recv, timeout.not_zero().map(|duration| *duration))
            .map_err(|error| ureq::Error::Io(error.into()))?;
        let amount = loop {
            match self.line.read(self.buffers.input_append_buf()) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result.map_err(|error| timed_out(error, timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        let mut byte = [0];
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        matches!(
            rustix::net::recv(&self.line, &mut byte, flags),
            Err(rustix::io::Errno::AGAIN) // Nothing to read and not closed: it waits for us.
        )
    }

    fn is_tls(&self) -> bool {
        self.line.is_encrypted()
    }
}

fn timed_out(error: std::io::Error, timeout: NextTimeout) -> ureq::Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => ureq::Error::Timeout(timeout.reason),
        _ => ureq::Error::Io(error),
    }
}

/// Who connects finds the address; one stands for it, because ureq wants one.
#[derive(Debug)]
struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(
        &self,
        _uri: &http::Uri,
        _config: &ureq::config::Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
        Ok(addresses)
    }
}
