//! Questions that are asked before their time give the answers that they would have given in their time.

use tenure_cluster::Cluster;
use tenure_engine::store::driver::{Driver, Role, StoreError, Value};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;

const BELOW: &str =
    "SELECT number FROM generate_series(1::bigint, 9::bigint) AS number WHERE number < $1 ORDER BY number";

fn asked(driver: &mut dyn Driver, sql: &str, value: i64) -> Result<Vec<i64>, StoreError> {
    let mut found = Vec::new();
    driver.query(sql, &[Value::Integer(value)], &mut |row| {
        found.extend(row.integer(0)?);
        Ok(())
    })?;
    Ok(found)
}

fn connected() -> (Cluster, Postgres) {
    let cluster = Cluster::start(&["fsync=off"]).expect("PostgreSQL");
    cluster
        .sql("CREATE SCHEMA tenure; CREATE TABLE tenure.fleet (id TEXT); CREATE TABLE tenure.kept (number BIGINT)")
        .expect("made");
    let address = Address::parse(&cluster.url(), None).expect("an address");
    let driver = Postgres::open(&address, Role::Writer).expect("a connection");
    (cluster, driver)
}

#[test]
fn what_was_foreseen_is_answered_in_any_order_and_as_often_as_it_is_asked() {
    let (_cluster, mut driver) = connected();
    driver.begin_write().expect("begun");
    for value in [3, 5, 3] {
        driver.foresee(BELOW, &[Value::Integer(value)]).expect("noted");
    }
    for (value, found) in
        [(5, vec![1, 2, 3, 4]), (3, vec![1, 2]), (3, vec![1, 2]), (3, vec![1, 2]), (2, vec![1])]
    {
        assert_eq!(asked(&mut driver, BELOW, value), Ok(found));
    }
    driver.rollback().expect("taken back");
}

#[test]
fn what_was_foreseen_before_a_write_or_in_another_transaction_is_asked_anew() {
    const KEPT: &str = "SELECT number FROM kept WHERE number < $1 ORDER BY number";
    let (_cluster, mut driver) = connected();
    let foreseen = [Value::Integer(9)];
    driver.begin_write().expect("begun");
    driver.foresee(KEPT, &foreseen).expect("noted");
    driver.foresee(BELOW, &[Value::Integer(2)]).expect("noted");
    // This asks for both.
    assert_eq!(asked(&mut driver, BELOW, 2), Ok(vec![1]));
    driver.write("INSERT INTO kept (number) VALUES ($1)", &[Value::Integer(7)], None).expect("written");
    assert_eq!(asked(&mut driver, KEPT, 9), Ok(vec![7]));
    driver.foresee(KEPT, &foreseen).expect("noted");
    driver.rollback().expect("taken back");
    driver.begin_write().expect("begun");
    assert_eq!(asked(&mut driver, KEPT, 9), Ok(vec![]));
    driver.commit().expect("committed");
}

#[test]
fn a_foreseen_question_that_fails_fails_the_first_that_is_asked() {
    let (_cluster, mut driver) = connected();
    driver.begin_write().expect("begun");
    driver.foresee("SELECT 1 / $1::bigint", &[Value::Integer(0)]).expect("noted");
    driver.foresee(BELOW, &[Value::Integer(2)]).expect("noted");
    let failed = asked(&mut driver, BELOW, 2).expect_err("one of them divides by nothing");
    assert!(failed.detail.contains("division by zero"), "{failed}");
    driver.rollback().expect("taken back");
    driver.begin_write().expect("the connection is sound");
    assert_eq!(asked(&mut driver, BELOW, 2), Ok(vec![1]));
}
