//! The wire of a client whose crate brings no TLS of its own: it speaks HTTP to a socket here, and every connection comes out
//! at the server, encrypted where the server wants that.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tenure_cluster::Authority;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::scene::{Scene, Way};

/// A socket that leads to a server, until it is dropped.
pub struct Relay {
    socket: PathBuf,
    _folder: tempfile::TempDir,
    carrying: JoinHandle<()>,
}

impl Relay {
    /// A socket that leads to the server of a scene.
    pub fn to(scene: &Scene) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        let (_, address) = scene.url.split_once("://").expect("a URL");
        let address = address.to_owned();
        let encrypted = (scene.way != Way::Loopback).then(|| connector(&scene.authority));
        let carrying = tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                tokio::spawn(carry(here, address.clone(), encrypted.clone()));
            }
        });
        Ok(Self { socket, _folder: folder, carrying })
    }

    /// Where the socket is.
    pub fn path(&self) -> &str {
        path(&self.socket)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Carries one connection until one of its ends is gone.
async fn carry(mut here: UnixStream, address: String, encrypted: Option<TlsConnector>) -> io::Result<()> {
    let mut there = TcpStream::connect(&address).await?;
    match encrypted {
        Some(connector) => {
            let host = address.rsplit_once(':').map_or("", |(host, _)| host).to_owned();
            let name = ServerName::try_from(host).map_err(io::Error::other)?;
            copy_bidirectional(&mut here, &mut connector.connect(name, there).await?).await?
        }
        None => copy_bidirectional(&mut here, &mut there).await?,
    };
    Ok(())
}

/// Whoever trusts this authority and no other.
fn connector(authority: &Authority) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_file(authority.certificate()).expect("a certificate");
    roots.add(root).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the usual versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}
