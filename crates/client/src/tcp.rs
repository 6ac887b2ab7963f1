//! Connections to a server on the network, encrypted or on this machine.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::failure::Failure;
use crate::private;
use crate::server_url::ServerUrl;

/// Longest wait for one address to take the call, and for the handshake after it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How a server is reached.
#[derive(Clone)]
pub(crate) struct Reach {
    url: ServerUrl,
    tls: Option<Arc<ClientConfig>>,
}

impl std::fmt::Debug for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reach({})", self.url)
    }
}

/// A connection to a server.
pub(crate) enum Connection {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Reach {
    /// A server whose certificate the system's authorities vouch for, or those of a file.
    pub(crate) fn new(url: &ServerUrl, authorities: Option<&Path>) -> Result<Self, Failure> {
        let tls = if url.is_encrypted { Some(Arc::new(config(authorities)?)) } else { None };
        Ok(Self { url: url.clone(), tls })
    }

    /// Connects, and learns that it is the server that was meant.
    pub(crate) fn connect(&self) -> io::Result<Connection> {
        let mut last = Error::new(ErrorKind::NotFound, format!("{} has no address", self.url.host));
        for address in (self.url.host.as_str(), self.url.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => return self.greet(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn greet(&self, mut stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Connection::Plain(stream)) };
        let name = ServerName::try_from(self.url.host.clone()).map_err(Error::other)?;
        let mut connection = ClientConnection::new(tls.clone(), name).map_err(Error::other)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        stream.set_write_timeout(Some(CONNECT_TIMEOUT))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(explained)?;
        }
        Ok(Connection::Encrypted(Box::new(StreamOwned::new(connection, stream))))
    }
}

/// Adds what a person can do about a handshake that failed.
fn explained(error: Error) -> Error {
    let hint = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        // Another authority of the same name cannot have signed it either.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => {
            "no authority that is trusted here has signed it: name the authority's certificate with TENURE_CA_FILE, or \
             keep it with `tenure connect URL --ca FILE`"
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            "that port does not speak TLS: its address begins with http://, or another port does"
        }
        // open set: what else can fail is the library's to say
        _ => return error,
    };
    Error::new(error.kind(), format!("{error}; {hint}"))
}

/// How connections are encrypted, and whom they trust.
fn config(authorities: Option<&Path>) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        Some(file) => {
            let unusable = |error: &dyn std::fmt::Display| {
                Failure::cannot_tell(
                    format!("the certificate authorities in {} cannot be used: {error}", file.display()),
                    "name a file of certificates in PEM with TENURE_CA_FILE, or as `ca_file` in the configuration",
                )
            };
            let text = private::read(file, private::SMALL_FILE_BYTES).map_err(|error| unusable(&error))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| unusable(&error))?;
                roots.add(certificate).map_err(|error| unusable(&error))?;
            }
            if roots.is_empty() {
                return Err(unusable(&"it holds no certificate"));
            }
        }
    }
    if roots.is_empty() {
        return Err(Failure::cannot_tell(
            "this system trusts no certificate authority, so no server can be told from another",
            "install them (Debian's package is ca-certificates), or name a file with TENURE_CA_FILE",
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection(…)")
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(stream) => stream.as_fd(),
            Self::Encrypted(stream) => stream.sock.as_fd(),
        }
    }
}

impl Connection {
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Encrypted(_))
    }
}
