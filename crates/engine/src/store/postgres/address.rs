//! Where a fleet's database is: a URL as PostgreSQL's own programs take it, and what is ours beside it.

use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The schema that a fleet lives in when its URL names none. Several fleets share a database by schemas of their own.
const SCHEMA: &str = "tenure";
/// Longest name of a schema, in bytes: PostgreSQL cuts longer ones off (NAMEDATALEN).
const SCHEMA_BYTES_MAX: usize = 63;
/// How long one host may take to answer a connection, unless the URL says otherwise.
const CONNECT: Duration = Duration::from_secs(3);
/// How long a host across the network may say nothing while something was sent to it.
const SILENCE: Duration = Duration::from_secs(5);

/// Why an address cannot be used: what is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError {
    /// What is wrong. Never a password.
    pub detail: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for AddressError {}

fn wrong(detail: impl Into<String>, remedy: impl Into<String>) -> AddressError {
    AddressError { detail: detail.into(), remedy: remedy.into() }
}

/// The database that a fleet lives in.
#[derive(Clone)]
pub struct Address {
    pub(super) config: Config,
    pub(super) schema: String,
    /// Names this process among those that use the database.
    pub(super) tag: String,
    tls: Option<Arc<ClientConfig>>,
    shown: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Hosts, database and schema, without who asks and what proves it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// What our own parameters of a URL say.
#[derive(Default)]
struct Own {
    schema: Option<String>,
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl Address {
    /// Reads a URL: `postgres://USER@HOST[:PORT][,HOST…]/DATABASE?…`, with the parameters of PostgreSQL's own clients, and
    /// `schema`. A password that it does not name is `password`.
    pub fn parse(url: &str, password: Option<&str>) -> Result<Self, AddressError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong(
                "the address of the database is no URL",
                "write it as postgres://USER@HOST/DATABASE",
            ));
        }
        let (own, rest) = Own::apart(url)?;
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            wrong(
                format!("the address of the database cannot be read: {error} {reason}").trim_end().to_owned(),
                "write it as postgres://USER@HOST/DATABASE?PARAMETER=VALUE",
            )
        })?;
        if config.get_hosts().is_empty() {
            return Err(wrong(
                "the address of the database names no host",
                "write it as postgres://USER@HOST/DATABASE",
            ));
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(wrong("the address names no database", "write it as postgres://USER@HOST/DATABASE"));
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        let schema = own.schema.unwrap_or_else(|| SCHEMA.to_owned());
        check_schema(&schema)?;
        let tls = encryption(&mut config, own.mode.as_deref(), own.roots.as_deref())?;
        of_ours(&mut config);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        let shown = shown(&config, &schema);
        let tag = crate::draw_id().map_err(|error| wrong(error.detail, "look at the system's log"))?;
        Ok(Self { config, schema, tag, tls, shown })
    }

    /// What encrypts a connection, where the address asks for it.
    pub(super) fn tls(&self) -> MakeRustlsConnect {
        let plain = || {
            let roots = RootCertStore::empty();
            Arc::new(builder().with_root_certificates(roots).with_no_client_auth())
        };
        MakeRustlsConnect::new((**self.tls.as_ref().unwrap_or(&plain())).clone())
    }

    /// One address for each of its hosts.
    pub(super) fn hosts(&self) -> Vec<Self> {
        let ports = self.config.get_ports();
        let one = |(index, host): (usize, &Host)| {
            let mut config = Config::new();
            match host {
                Host::Tcp(name) => config.host(name),
                Host::Unix(path) => config.host_path(path),
            };
            // One port is of all hosts.
            if let Some(port) = ports.get(index).or_else(|| ports.first().filter(|_| ports.len() == 1)) {
                config.port(*port);
            }
            if let Some(address) = self.config.get_hostaddrs().get(index) {
                config.hostaddr(*address);
            }
            self.with_hosts_of(config)
        };
        self.config.get_hosts().iter().enumerate().map(one).collect()
    }

    /// The same, also for a database that cannot be written to: whoever asks why it cannot must reach it.
    pub(super) fn read_only(&self) -> Self {
        let mut config = self.config.clone();
        config.target_session_attrs(TargetSessionAttrs::Any);
        Self { config, ..self.clone() }
    }

    /// The same address at other hosts.
    fn with_hosts_of(&self, mut config: Config) -> Self {
        let from = &self.config;
        if let Some(user) = from.get_user() {
            config.user(user);
        }
        if let Some(password) = from.get_password() {
            config.password(password);
        }
        if let Some(database) = from.get_dbname() {
            config.dbname(database);
        }
        if let Some(options) = from.get_options() {
            config.options(options);
        }
        if let Some(limit) = from.get_connect_timeout() {
            config.connect_timeout(*limit);
        }
        config
            .ssl_mode(from.get_ssl_mode())
            .ssl_negotiation(from.get_ssl_negotiation())
            .channel_binding(from.get_channel_binding());
        of_ours(&mut config);
        let shown = shown(&config, &self.schema);
        Self { config, shown, ..self.clone() }
    }
}

impl Own {
    /// Takes what is ours, and what our client reads otherwise, out of a URL.
    fn apart(url: &str) -> Result<(Self, String), AddressError> {
        let mut own = Self::default();
        let Some((rest, parameters)) = url.split_once('?') else { return Ok((own, url.to_owned())) };
        let mut others = Vec::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "schema" => own.schema = Some(decoded(value)?),
                "sslmode" => own.mode = Some(decoded(value)?),
                "sslrootcert" => own.roots = Some(decoded(value)?.into()),
                "target_session_attrs" if !matches!(value, "read-write" | "primary") => {
                    return Err(wrong(
                        format!(
                            "target_session_attrs={value} would let a server be read that cannot be written to"
                        ),
                        "leave it out, or write target_session_attrs=read-write",
                    ));
                }
                "target_session_attrs" => {}
                _ => others.push(parameter),
            }
        }
        let rest = if others.is_empty() { rest.to_owned() } else { format!("{rest}?{}", others.join("&")) };
        Ok((own, rest))
    }
}

/// What every connection of ours is: to a server that can be written to, and not patient with silence.
fn of_ours(config: &mut Config) {
    config
        .application_name("tenure")
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .tcp_user_timeout(SILENCE)
        .keepalives_idle(SILENCE)
        .keepalives_interval(Duration::from_secs(1))
        .keepalives_retries(3);
}

fn decoded(value: &str) -> Result<String, AddressError> {
    percent_encoding::percent_decode_str(value)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| wrong("a parameter of the database's address is no text", "write it in UTF-8"))
}

/// A schema's name is written into statements as it is, so it is a plain word.
fn check_schema(schema: &str) -> Result<(), AddressError> {
    let is_plain = schema.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let begins = schema.starts_with(|c: char| c.is_ascii_lowercase());
    if is_plain && begins && schema.len() <= SCHEMA_BYTES_MAX && !schema.starts_with("pg_") {
        return Ok(());
    }
    Err(wrong(
        format!("schema={} is no schema's name here", schema.escape_debug()),
        format!("name it with at most {SCHEMA_BYTES_MAX} of a-z, 0-9 and _, a letter first and not `pg_`"),
    ))
}

fn builder() -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the default versions")
}

/// Whether a connection is encrypted, and whom it trusts. Encrypted without knowing who answers is not offered.
fn encryption(
    config: &mut Config,
    mode: Option<&str>,
    roots: Option<&Path>,
) -> Result<Option<Arc<ClientConfig>>, AddressError> {
    let is_local = config.get_hosts().iter().all(is_here);
    let mode = match mode {
        Some("disable") => SslMode::Disable,
        // A chain of trust without the host's name would let any of its servers answer.
        Some("require" | "verify-full") => SslMode::Require,
        None if is_local && roots.is_none() => SslMode::Disable,
        None => SslMode::Require,
        Some(other) => {
            return Err(wrong(
                format!("sslmode={other} does not say who must answer"),
                "write sslmode=verify-full, with sslrootcert=FILE for a certificate authority of your own, or \
                 sslmode=disable where the network is trusted",
            ));
        }
    };
    config.ssl_mode(mode);
    if mode == SslMode::Disable {
        return Ok(None);
    }
    let trusted = builder().with_root_certificates(trusted(roots)?).with_no_client_auth();
    Ok(Some(Arc::new(trusted)))
}

/// Whether a host is this machine by its very name.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
    }
}

fn trusted(roots: Option<&Path>) -> Result<RootCertStore, AddressError> {
    let mut store = RootCertStore::empty();
    let Some(file) = roots else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if store.is_empty() {
            return Err(wrong(
                "this system trusts no certificate authority",
                "install them (Debian's package is ca-certificates), or name one with sslrootcert=FILE",
            ));
        }
        return Ok(store);
    };
    let remedy = "name a file of certificates in PEM with sslrootcert=FILE";
    let bytes = fs::read(file).map_err(|error| wrong(format!("{}: {error}", file.display()), remedy))?;
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate =
            certificate.map_err(|error| wrong(format!("{}: {error}", file.display()), remedy))?;
        store.add(certificate).map_err(|error| wrong(format!("{}: {error}", file.display()), remedy))?;
    }
    if store.is_empty() {
        return Err(wrong(format!("{} holds no certificate", file.display()), remedy));
    }
    Ok(store)
}

fn shown(config: &Config, schema: &str) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let port =
            ports.get(index).or_else(|| ports.first()).map(|port| format!(":{port}")).unwrap_or_default();
        match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]{port}"),
            Host::Tcp(name) => format!("{name}{port}"),
            Host::Unix(path) => format!("{}{port}", path.display()),
        }
    });
    let hosts: Vec<String> = hosts.collect();
    format!(
        "PostgreSQL at {}, database {}, schema {schema}",
        hosts.join(","),
        config.get_dbname().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Address, AddressError> {
        Address::parse(url, None)
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let address = parse("postgres://fleet:s3cret@db1:5433,db2:5434/work?schema=one&sslmode=disable");
        let address = address.expect("an address");
        assert_eq!(address.to_string(), "PostgreSQL at db1:5433,db2:5434, database work, schema one");
        assert_eq!(format!("{address:?}"), address.to_string());
        let hosts: Vec<String> = address.hosts().iter().map(ToString::to_string).collect();
        assert_eq!(
            hosts,
            [
                "PostgreSQL at db1:5433, database work, schema one",
                "PostgreSQL at db2:5434, database work, schema one"
            ]
        );
        assert_eq!(address.hosts()[1].config.get_password(), Some(b"s3cret".as_slice()));
    }

    #[test]
    fn what_cannot_be_an_address_is_told_without_its_password() {
        for (url, told) in [
            ("host=here user=me", "no URL"),
            ("postgres://me:s3cret@here", "names no database"),
            ("postgres://me:s3cret@here/work?schema=Robert'); DROP", "is no schema's name"),
            ("postgres://me:s3cret@here/work?schema=pg_temp", "is no schema's name"),
            ("postgres://me:s3cret@here/work?schema=", "is no schema's name"),
            ("postgres://me:s3cret@here/work?sslmode=prefer", "does not say who must answer"),
            ("postgres://me:s3cret@here/work?target_session_attrs=any", "cannot be written to"),
            ("postgres://me:s3cret@here/work?sslrootcert=/nowhere/ca.pem", "/nowhere/ca.pem"),
            ("postgres://me:s3cret@here/work?no_such=1", "cannot be read"),
        ] {
            let error = parse(url).expect_err(url);
            assert!(error.detail.contains(told), "{url}: {error}");
            assert!(!error.to_string().contains("s3cret") && !error.remedy.is_empty(), "{error}");
        }
    }

    #[test]
    fn the_network_is_encrypted_unless_somebody_says_otherwise() {
        let mode = |url: &str| parse(url).map(|address| address.config.get_ssl_mode());
        assert_eq!(mode("postgres://me@127.0.0.1/work"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@%2Frun%2Fpostgresql/work"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@db.example/work?sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@127.0.0.1,db.example/work?sslmode=verify-full"), Ok(SslMode::Require));
    }

    #[test]
    fn a_password_from_beside_the_address_does_not_replace_its_own() {
        let password = |url| {
            let address = Address::parse(url, Some("beside")).expect("an address");
            address.config.get_password().map(<[u8]>::to_vec)
        };
        assert_eq!(password("postgres://me@localhost/work"), Some(b"beside".to_vec()));
        assert_eq!(password("postgres://me:own@localhost/work"), Some(b"own".to_vec()));
    }
}
