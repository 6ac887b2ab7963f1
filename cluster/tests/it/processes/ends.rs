//! A server that is killed, stands still, or loses its holder.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tenure_cluster::{Cluster, Ending};

use super::UNFLUSHED;

/// Longest wait for a state that must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a client asks first that would like to be encrypted; the answer is one byte.
const MAY_I_ENCRYPT: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

#[test]
fn a_server_that_was_ended_comes_back_at_its_place_with_all_that_it_acknowledged() {
    let mut server = Cluster::listening(UNFLUSHED).expect("a server");
    let host = server.host();
    server.sql("CREATE TABLE kept (number INTEGER)").expect("a table");
    for (number, ending) in (1..).zip([None, Some(Ending::Immediate), Some(Ending::Fast)]) {
        server.sql(&format!("INSERT INTO kept VALUES ({number})")).expect("a row");
        match ending {
            None => server.kill(),
            Some(ending) => server.end(ending),
        }
        .expect("it ends");
        assert!(server.sql("SELECT 1").is_err(), "it still answers");
        server.serve().expect("it comes back");
        assert_eq!(server.sql("SELECT count(*) FROM kept"), Ok(number.to_string()));
    }
    assert_eq!(server.host(), host);
}

#[test]
fn only_the_connections_of_those_who_are_named_are_ended() {
    let server = Cluster::start(UNFLUSHED).expect("a server");
    assert_eq!(server.terminate_backends("nobody"), Ok(0));
    assert_eq!(server.sql("SET application_name = 'me'; SELECT 1"), Ok("1".to_owned()));
    let own = "SET application_name = 'me'; \
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'me'";
    assert!(server.sql(own).expect_err("it ended itself").contains("terminating connection"));
}

#[test]
fn a_server_that_stands_still_says_nothing_and_then_goes_on() {
    let server = Cluster::listening(UNFLUSHED).expect("a server");
    let still = server.stand_still().expect("it stands still");
    let mut client =
        TcpStream::connect(server.host().expect("it listens")).expect("the kernel takes the call");
    client.write_all(&MAY_I_ENCRYPT).expect("the kernel takes the words");
    client.set_read_timeout(Some(Duration::from_millis(300))).expect("a limit");
    assert!(client.read_exact(&mut [0]).is_err(), "it speaks while it stands still");
    drop(still);
    client.set_read_timeout(Some(PATIENCE)).expect("a limit");
    client.read_exact(&mut [0]).expect("it goes on");
    assert_eq!(server.sql("SELECT 1"), Ok("1".to_owned()));
}

#[test]
fn a_server_goes_with_a_holder_that_is_killed_even_while_it_stands_still() {
    for inside in ["serves", "serves_and_stands_still"] {
        let own = std::env::current_exe().expect("a test knows its own executable");
        let mut holder = Command::new(own);
        holder.args(["--exact", &format!("processes::ends::{inside}"), "--ignored", "--nocapture"]);
        holder.env("TENURE_CLUSTER_HOLDER", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = holder.spawn().expect("the test runs");
        let mut lines = BufReader::new(holder.stdout.take().expect("it is piped")).lines();
        let folder =
            lines.find_map(|line| Some(line.ok()?.strip_prefix("in ")?.to_owned())).expect("it serves");
        let number = fs::read_to_string(Path::new(&folder).join("data/postmaster.pid")).expect("it runs");
        let process = Path::new("/proc").join(number.lines().next().expect("a number"));
        assert!(process.exists());
        holder.kill().and_then(|()| holder.wait()).expect("it is our child");
        let begun = Instant::now();
        while is_alive(&process) {
            assert!(begun.elapsed() < PATIENCE, "{inside}: the server outlives who held it");
            // waits because: nobody is told of the end of another's child
            std::thread::sleep(Duration::from_millis(10));
        }
        fs::remove_dir_all(folder).expect("its folder is left");
    }
}

fn is_alive(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn hold(stands_still: bool) {
    if std::env::var_os("TENURE_CLUSTER_HOLDER").is_none() {
        return;
    }
    let server = Cluster::start(UNFLUSHED).expect("a server");
    let _still = stands_still.then(|| server.stand_still().expect("it stands still"));
    writeln!(std::io::stdout(), "\nin {}", server.folder().display()).expect("somebody reads");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("somebody is there");
}

#[test]
// ignored because: the test above starts it as a process and kills it
#[ignore = "it is the inside of another test"]
fn serves() {
    hold(false);
}

#[test]
// ignored because: the test above starts it as a process and kills it
#[ignore = "it is the inside of another test"]
fn serves_and_stands_still() {
    hold(true);
}
