//! Across a network the database must prove who it is before anything is said to it.

use tenure_cluster::{Authority, Cluster};
use tenure_engine::store::driver::{Class, Driver, Role, StoreError};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;

/// Asks a server whether what was asked travelled encrypted.
fn is_encrypted(server: &Cluster, host: &str, parameters: &str) -> Result<bool, StoreError> {
    let (_, port) = server.host().expect("it listens");
    let url = format!("postgres://tenure@{host}:{port}/postgres?{parameters}");
    let mut driver = Postgres::open(&Address::parse(&url, None).expect("an address"), Role::Reader)?;
    let mut is_encrypted = false;
    let question =
        "SELECT CASE WHEN ssl THEN 1 ELSE 0 END::bigint FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    driver.query(question, &[], &mut |row| {
        is_encrypted = row.integer(0)? == Some(1);
        Ok(())
    })?;
    Ok(is_encrypted)
}

#[test]
fn a_database_is_spoken_to_only_if_a_trusted_authority_vouches_for_its_host() {
    let [authority, stranger] = [(), ()].map(|()| Authority::new().expect("an authority"));
    let server = Cluster::encrypted(&authority, "localhost", &["fsync=off"]).expect("a server");
    let trusting = |authority: &Authority, mode: &str| {
        format!("{mode}sslrootcert={}", authority.certificate().display())
    };
    for mode in ["sslmode=verify-full&", "sslmode=require&", ""] {
        assert_eq!(is_encrypted(&server, "localhost", &trusting(&authority, mode)), Ok(true), "{mode}");
        let other = is_encrypted(&server, "localhost", &trusting(&stranger, mode)).expect_err(mode);
        assert!(other.detail.contains("invalid peer certificate"), "the wrong authority: {other}");
        let elsewhere = is_encrypted(&server, "127.0.0.1", &trusting(&authority, mode)).expect_err(mode);
        assert!(elsewhere.detail.contains("not valid for name"), "the wrong name: {elsewhere}");
        assert_eq!((other.class, elsewhere.class), (Class::Io, Class::Io));
    }
    assert_eq!(is_encrypted(&server, "localhost", "sslmode=disable"), Ok(false));
}

#[test]
fn a_database_that_cannot_prove_itself_is_not_spoken_to_in_the_clear() {
    let authority = Authority::new().expect("an authority");
    let server = Cluster::listening(&["fsync=off"]).expect("a server");
    let parameters = format!("sslrootcert={}", authority.certificate().display());
    let refused = is_encrypted(&server, "localhost", &parameters).expect_err("it has no certificate");
    assert!(refused.detail.contains("TLS"), "{refused}");
}
