//! An engine for tests of applications that only records their calls.

use super::{AppWrite, EngineCalls, FinishedTransaction, FlowIndex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedCall {
    OpenConnection(FlowIndex, AppWrite),
    WriteReverse(FlowIndex, FlowIndex, AppWrite),
    Write(FlowIndex, AppWrite),
    SetFlowNumber(FlowIndex, u64),
    RecordTransaction(FinishedTransaction),
    FinishFlow(FlowIndex),
}

#[derive(Default)]
pub struct CallRecorder {
    pub recorded: Vec<RecordedCall>,
}

impl EngineCalls for CallRecorder {
    fn open_connection(&mut self, member: FlowIndex, app_write: AppWrite) {
        self.recorded.push(RecordedCall::OpenConnection(member, app_write));
    }

    fn write_reverse(&mut self, member: FlowIndex, to: FlowIndex, app_write: AppWrite) {
        self.recorded.push(RecordedCall::WriteReverse(member, to, app_write));
    }

    fn write(&mut self, member: FlowIndex, app_write: AppWrite) {
        self.recorded.push(RecordedCall::Write(member, app_write));
    }

    fn redraw_for_flow_number(&mut self, member: FlowIndex, number: u64) {
        self.recorded.push(RecordedCall::SetFlowNumber(member, number));
    }

    fn record_transaction(&mut self, transfer: &FinishedTransaction) {
        self.recorded.push(RecordedCall::RecordTransaction(*transfer));
    }

    fn finish_flow(&mut self, member: FlowIndex) {
        self.recorded.push(RecordedCall::FinishFlow(member));
    }
}
