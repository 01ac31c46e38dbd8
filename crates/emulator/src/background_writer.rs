//! Writes a file in a separate thread, so that the caller does not wait for the disk.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Maximum number of pieces in the queue; a caller with another one waits.
const MAX_QUEUED_CHUNKS: usize = 256;

/// Passes pieces to a thread that writes them. A later call reports a failed write, at the latest [`Write::flush`].
#[derive(Debug)]
pub struct BackgroundWriter {
    /// `None` after the thread was told to end.
    chunks: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl BackgroundWriter {
    /// Starts to write into a file. The thread has the scheduling class of the caller at this time.
    pub fn start(out: Box<dyn Write + Send>) -> BackgroundWriter {
        let (chunks, received) = sync_channel(MAX_QUEUED_CHUNKS);
        BackgroundWriter { chunks: Some(chunks), thread: Some(thread::spawn(move || write_chunks(out, &received))) }
    }

    /// Waits until everything is written, and closes the writer.
    fn close(&mut self) -> io::Result<()> {
        self.chunks = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the thread that writes a file failed")),
        }
    }
}

fn write_chunks(mut out: Box<dyn Write + Send>, chunks: &Receiver<Vec<u8>>) -> io::Result<()> {
    chunks.iter().try_for_each(|chunk| out.write_all(&chunk))?;
    out.flush()
}

impl Write for BackgroundWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.chunks.as_ref().is_some_and(|chunks| chunks.send(bytes.to_vec()).is_ok());
        // A thread that receives nothing has failed, and its error has the reason.
        if sent { Ok(bytes.len()) } else { self.close().and(Err(io::Error::other("the file is closed"))) }
    }

    /// Waits until everything is written. This ends the file.
    fn flush(&mut self) -> io::Result<()> {
        self.close()
    }
}

impl Drop for BackgroundWriter {
    fn drop(&mut self) {
        // A caller that needs the result flushes before.
        drop(self.close());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Stores the written bytes, up to a maximum.
    struct SharedDisk(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for SharedDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut all = self.0.lock().unwrap();
            if all.len() + bytes.len() > self.1 {
                return Err(io::Error::other("the disk is full"));
            }
            all.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn chunks_are_written_in_order_by_the_flush() {
        let all = Arc::default();
        let mut file = BackgroundWriter::start(Box::new(SharedDisk(Arc::clone(&all), usize::MAX)));
        (0..=255_u8).for_each(|byte| file.write_all(&[byte; 100]).unwrap());
        file.flush().unwrap();
        let expected: Vec<u8> = (0..=255).flat_map(|byte| [byte; 100]).collect();
        assert_eq!(expected, *all.lock().unwrap());
        assert!(file.write_all(&[1]).is_err(), "it has been closed");
    }

    #[test]
    fn a_failed_write_is_reported() {
        let mut file = BackgroundWriter::start(Box::new(SharedDisk(Arc::default(), 150)));
        let told = (0..10_000).find_map(|_| file.write_all(&[7; 100]).err()).or_else(|| file.flush().err());
        assert_eq!("the disk is full", told.expect("it has failed").to_string());
    }
}
