//! An engine for tests of applications that only writes down what it is asked for.

use super::{Calls, Demand, Member, Transfer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Open(Member, Demand),
    Answer(Member, Member, Demand),
    Produce(Member, Demand),
    Seat(Member, u64),
    Finished(Transfer),
    Done(Member),
}

#[derive(Default)]
pub struct Tape {
    pub asked: Vec<Asked>,
}

impl Calls for Tape {
    fn open(&mut self, member: Member, demand: Demand) {
        self.asked.push(Asked::Open(member, demand));
    }

    fn answer(&mut self, member: Member, to: Member, demand: Demand) {
        self.asked.push(Asked::Answer(member, to, demand));
    }

    fn produce(&mut self, member: Member, demand: Demand) {
        self.asked.push(Asked::Produce(member, demand));
    }

    fn seat(&mut self, member: Member, number: u64) {
        self.asked.push(Asked::Seat(member, number));
    }

    fn finished(&mut self, transfer: &Transfer) {
        self.asked.push(Asked::Finished(*transfer));
    }

    fn done(&mut self, member: Member) {
        self.asked.push(Asked::Done(member));
    }
}
