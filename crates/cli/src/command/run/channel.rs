//! What `run` and its guard say to each other: lines of JSON on a socket, whose end is news as well.

use std::io::{BufRead, BufReader, Error, ErrorKind, IoSlice, IoSliceMut, Read, Result, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::bound::Bound;

/// The first line is shorter than this.
const BEGIN_BYTES: usize = 1024;

/// The first thing that is said. The command's standard input travels with it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Begin {
    /// Until when the command may run.
    pub bound: Bound,
    /// Whether the command gets the foreground of the terminal that is its standard input.
    pub foreground: bool,
}

/// What the guard is told.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// The lease was renewed.
    Until(Bound),
    /// Pass a signal on to the command.
    Pass(i32),
    /// Stop everything, with so many milliseconds between asking and ending.
    Stop(i64),
}

/// What the guard tells.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// The command runs, as this process.
    Started(u32),
    /// It could not be started, because of this.
    NotStarted(String),
    /// Everything has ended.
    Ended(Ended),
}

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// What is known once everything has ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ended {
    /// How the command ended, if that was seen.
    pub ending: Option<Ending>,
    /// Whether it was stopped because its time was over.
    pub overdue: bool,
    /// Processes that could not be ended.
    pub left: Vec<u32>,
}

/// Says something as a line.
pub fn say(mut socket: &UnixStream, what: &impl Serialize) -> Result<()> {
    socket.write_all(&line(what)?)
}

/// Everything that the other side says, until it is gone.
pub fn heard<T: DeserializeOwned>(socket: impl Read) -> impl Iterator<Item = T> {
    let lines = BufReader::new(socket).lines().map_while(Result::ok);
    lines.map_while(|line| serde_json::from_str(&line).ok())
}

fn line(what: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(line)
}

/// Says the first thing, and hands over a descriptor.
pub fn begin(socket: &UnixStream, begin: &Begin, input: impl AsFd) -> Result<()> {
    let line = line(begin)?;
    let input = [input.as_fd()];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    control.push(SendAncillaryMessage::ScmRights(&input));
    let sent = sendmsg(socket, &[IoSlice::new(&line)], &mut control, SendFlags::empty())?;
    if sent == line.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
}

/// Hears the first thing, and takes the descriptor.
pub fn begun(socket: &UnixStream) -> Result<(Begin, OwnedFd)> {
    let mut line = [0; BEGIN_BYTES];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut line)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let input = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        // open set: the kinds of messages are the kernel's.
        _ => None,
    });
    let input = input.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?;
    Ok((serde_json::from_slice(&line[..received.bytes])?, input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_travels_with_the_first_line_and_the_rest_follows() {
        let (here, there) = UnixStream::pair().expect("a pair");
        let (mut writer, reader) = UnixStream::pair().expect("a pair");
        let bound = Bound::of(1_000, 3_000);
        begin(&here, &Begin { bound, foreground: true }, &reader).expect("said");
        say(&here, &Order::Pass(2)).expect("said");
        drop((here, reader));
        let (begin, input) = begun(&there).expect("heard");
        assert_eq!((begin.bound, begin.foreground), (bound, true));
        let orders: Vec<Order> = heard(&there).collect();
        assert!(matches!(orders[..], [Order::Pass(2)]), "{orders:?}");
        writer.write_all(b"typed").expect("there is a reader");
        drop(writer);
        let mut text = String::new();
        UnixStream::from(input).read_to_string(&mut text).expect("it is text");
        assert_eq!(text, "typed");
    }

    #[test]
    fn who_is_gone_says_nothing() {
        let (here, there) = UnixStream::pair().expect("a pair");
        drop(here);
        begun(&there).expect_err("there is nothing to hear");
    }
}
