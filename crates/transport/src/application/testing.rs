//! An engine for tests of applications that only writes down what it is asked for.

use super::{AppWrite, EngineCalls, FinishedTransaction, FlowIndex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedCall {
    Open(FlowIndex, AppWrite),
    Answer(FlowIndex, FlowIndex, AppWrite),
    Produce(FlowIndex, AppWrite),
    Seat(FlowIndex, u64),
    Finished(FinishedTransaction),
    Done(FlowIndex),
}

#[derive(Default)]
pub struct CallRecorder {
    pub asked: Vec<RecordedCall>,
}

impl EngineCalls for CallRecorder {
    fn open_connection(&mut self, member: FlowIndex, app_write: AppWrite) {
        self.asked.push(RecordedCall::Open(member, app_write));
    }

    fn write_reverse(&mut self, member: FlowIndex, to: FlowIndex, app_write: AppWrite) {
        self.asked.push(RecordedCall::Answer(member, to, app_write));
    }

    fn write(&mut self, member: FlowIndex, app_write: AppWrite) {
        self.asked.push(RecordedCall::Produce(member, app_write));
    }

    fn set_flow_number(&mut self, member: FlowIndex, number: u64) {
        self.asked.push(RecordedCall::Seat(member, number));
    }

    fn record_transaction(&mut self, transfer: &FinishedTransaction) {
        self.asked.push(RecordedCall::Finished(*transfer));
    }

    fn finish_flow(&mut self, member: FlowIndex) {
        self.asked.push(RecordedCall::Done(member));
    }
}
