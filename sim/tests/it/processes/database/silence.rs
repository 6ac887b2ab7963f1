//! One server is cut off from the database, and nobody tells it: its connections stand and say nothing.

use tenure_cluster::Cluster;
use tenure_sim::agent::Outcome;
use tenure_sim::cable::Cable;
use tenure_sim::fleet::{Fleet, tell_recovery, url};
use tenure_sim::load::{Load, create};
use tenure_sim::seed::Seed;

use super::UNFLUSHED;

#[test]
fn one_server_goes_on_while_the_other_is_cut_off_and_what_arrives_late_changes_nothing() {
    goes_on_after(Cable::fall_silent);
}

#[test]
fn one_server_goes_on_while_the_other_is_cut_off_in_the_middle_of_a_question() {
    goes_on_after(Cable::falter);
}

fn goes_on_after(cut: impl Fn(&Cable)) {
    let seed = Seed::of_this_run();
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let host = database.host().expect("it listens");
    let cable = Cable::to(host);
    let fleet = Fleet::of([&url(&[cable.host()]), &url(&[host])]);
    let agents = fleet.crowd(4);
    let (cut_off, others) = agents.split_at(4);
    let observer = fleet.agent(0, "observer").logging(&fleet.logs()).asking_once();
    Load::during(others, seed, |others| {
        let heard = Load::during(cut_off, seed + 1, |load| {
            load.go_on(20);
            others.go_on(20);
            others.pause();
            cut(&cable);
            // What the silent server had begun holds the fleet's row until the database gives it up, or who waits for it ends it.
            others.go_on(50);
            tell_recovery("the other server was cut off", others.pause());
            // Also on a connection that is opened in the silence.
            let heard = ["first", "second"].map(|number| observer.ask(&create(&format!("said {number}"))));
            others.go_on(50);
            cable.speak();
            tell_recovery("the server is connected again", load.recovery());
            heard
        });
        for told in heard {
            assert!(matches!(told, Outcome::Unknown(_)), "nobody can tell in the silence: {told:?}");
        }
    });
    fleet.judge();
}
