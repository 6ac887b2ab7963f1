//! A server that proves who it is.

use std::path::Path;

use tenure_cluster::{Authority, Cluster};

use super::UNFLUSHED;

/// What PostgreSQL's own client hears on the way to a host.
fn asked(server: &Cluster, host: &str, roots: &Path) -> Result<String, String> {
    let (_, port) = server.host().expect("it listens");
    let address = format!(
        "host={host} port={port} user=tenure dbname=postgres sslmode=verify-full sslrootcert={}",
        roots.display()
    );
    let mut psql = server.place().command("psql");
    psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--dbname", &address, "--command"]);
    let told =
        psql.arg("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").output().expect("psql runs");
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    if told.status.success() { Ok(text(&told.stdout)) } else { Err(text(&told.stderr)) }
}

#[test]
fn a_server_is_known_by_its_authority_and_its_host_and_by_nothing_less() {
    let [authority, stranger] = [(), ()].map(|()| Authority::new().expect("an authority"));
    let server = Cluster::encrypted(&authority, "localhost", UNFLUSHED).expect("a server");
    assert_eq!(asked(&server, "localhost", &authority.certificate()), Ok("t".to_owned()));
    let other = asked(&server, "localhost", &stranger.certificate()).expect_err("the wrong authority");
    assert!(other.contains("certificate verify failed"), "{other}");
    let elsewhere = asked(&server, "127.0.0.1", &authority.certificate()).expect_err("the wrong name");
    assert!(elsewhere.contains("does not match host name"), "{elsewhere}");
}
