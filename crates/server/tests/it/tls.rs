//! Encrypted connections: the certificate that is shown, how it changes, and what is refused at the start.

use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tenure_cluster::{Authority, Identity};
use tenure_server::daemon::network::{Files, Limits, Network};
use tenure_server::daemon::{Started, start};

use crate::daemon::{Served, private_folder, served_on};
use crate::network::{everything, loopback};
use crate::patience::until;
use crate::wire::get;

const NAMES: &str = "DNS:localhost,IP:127.0.0.1";

fn encrypted(identity: &Identity) -> Network {
    let (certificate, key) = (identity.certificate.clone(), identity.key.clone());
    Network { certificate: Some(Files { certificate, key }), ..loopback() }
}

/// A connection to a server whose certificate this authority must have signed.
fn connect(served: &Served, authority: &Authority) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_file(authority.certificate()).expect("a certificate");
    roots.add(root).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the usual versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    StreamOwned::new(connection, served.connect())
}

/// Whether a server shows a certificate of this authority.
fn shows(served: &Served, authority: &Authority) -> bool {
    let mut stream = connect(served, authority);
    stream.conn.complete_io(&mut stream.sock).is_ok()
}

#[test]
fn an_encrypted_connection_is_answered_like_any_other() {
    let (authority, folder) = (Authority::new().expect("openssl"), private_folder());
    let served = served_on(encrypted(&authority.certify(NAMES, folder.path()).expect("a certificate")));
    assert!(served.urls[0].starts_with("https://127.0.0.1:"), "{:?}", served.urls);
    let answer = get("/healthz").send_by(&mut connect(&served, &authority));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = get("/api/v1/tasks").send_by(&mut connect(&served, &authority));
    assert_eq!((answer.status, answer.code().as_str()), (401, "unauthenticated"));
    let page = get("/healthz").header("Origin", "https://localhost");
    assert_eq!(page.send_by(&mut connect(&served, &authority)).status, 200);
    let page = get("/healthz").header("Origin", "http://localhost");
    assert_eq!(page.send_by(&mut connect(&served, &authority)).status, 403, "a page that came in the clear");
    let plain = served.raw(&get("/healthz").bytes());
    assert!(!plain.contains("HTTP"), "nothing is told in the clear: {plain:?}");
}

#[test]
fn a_certificate_that_changes_is_used_without_a_restart() {
    let (old, new) = (Authority::new().expect("openssl"), Authority::new().expect("openssl"));
    let (folder, other) = (private_folder(), private_folder());
    let used = old.certify(NAMES, folder.path()).expect("a certificate");
    let served = served_on(encrypted(&used));
    assert!(shows(&served, &old) && !shows(&served, &new));
    let fresh = new.certify(NAMES, other.path()).expect("a certificate");
    fs::rename(&fresh.certificate, &used.certificate).expect("renamed");
    fs::rename(&fresh.key, &used.key).expect("renamed");
    until("the new certificate is shown", || shows(&served, &new));
    assert!(!shows(&served, &old));
}

#[test]
fn a_handshake_that_takes_too_long_is_cut() {
    let (authority, folder) = (Authority::new().expect("openssl"), private_folder());
    let identity = authority.certify(NAMES, folder.path()).expect("a certificate");
    let limits = Limits { handshake: Duration::from_millis(100), ..Limits::default() };
    let served = served_on(Network { limits, ..encrypted(&identity) });
    assert_eq!(everything(&mut served.connect()), "");
}

#[test]
fn a_server_that_stops_does_not_wait_for_handshakes() {
    let (authority, folder) = (Authority::new().expect("openssl"), private_folder());
    let identity = authority.certify(NAMES, folder.path()).expect("a certificate");
    let limits = Limits { handshake: Duration::from_secs(3600), ..Limits::default() };
    let mut served = served_on(Network { limits, ..encrypted(&identity) });
    let mut silent = served.connect();
    assert!(shows(&served, &authority), "it was accepted before this one");
    served.stop.send_replace(true);
    assert_eq!(served.join(), Some(tenure_server::daemon::Ended::Closed));
    assert_eq!(everything(&mut silent), "");
}

/// Why a daemon does not listen like this, and what to do about it.
fn refused(network: Network) -> (String, String) {
    let folder = private_folder();
    let Ok(Started::Daemon(daemon)) = start(folder.path(), &tenure_engine::Options::default()) else {
        panic!("it does not start")
    };
    match daemon.listening_on(network) {
        Ok(_) => panic!("it listens"),
        Err(failed) => (failed.error, failed.next),
    }
}

#[test]
fn only_loopback_is_listened_on_in_the_clear() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let listen = vec!["127.0.0.1:0", address];
        let listen = listen.into_iter().map(|text| text.parse::<SocketAddr>().expect("one")).collect();
        let (error, next) = refused(Network { listen, ..loopback() });
        assert!(error.contains(address) && next.contains("--certificate and --key"), "{error}; {next}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = vec![taken.local_addr().expect("bound")];
    assert!(refused(Network { listen, ..loopback() }).0.contains("cannot listen"));
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_by_its_file() {
    let (authority, folder) = (Authority::new().expect("openssl"), private_folder());
    let good = authority.certify(NAMES, folder.path()).expect("a certificate");
    let other = private_folder();
    let other = authority.certify(NAMES, other.path()).map(|other| (other.key, other.certificate));
    let (foreign, _) = other.expect("a certificate");
    let named = |file: &Path| file.display().to_string();
    let missing = folder.path().join("missing");
    for (certificate, key, blamed) in [
        (&missing, &good.key, &missing),
        (&good.key, &good.key, &good.key),
        (&good.certificate, &missing, &missing),
        (&good.certificate, &foreign, &foreign),
    ] {
        let identity = Identity { certificate: certificate.clone(), key: key.clone() };
        let (error, _) = refused(encrypted(&identity));
        assert!(error.contains(&named(blamed)), "{error}");
    }
    for mode in [0o640, 0o604] {
        fs::set_permissions(&good.key, Permissions::from_mode(mode)).expect("set");
        let (error, next) = refused(encrypted(&good));
        assert!(error.contains("others can read") && next.contains("chmod 600"), "{error}; {next}");
    }
}
