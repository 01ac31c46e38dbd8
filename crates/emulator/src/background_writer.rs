//! A file that is written by a thread of its own, so that whoever is in a hurry never waits for a disk.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Pieces that may wait to be written; who brings one more waits as well.
const MAX_QUEUED_CHUNKS: usize = 256;

/// Hands pieces to a thread that writes them. A write that fails is told by a later one, at the latest by [`Write::flush`].
#[derive(Debug)]
pub struct BackgroundWriter {
    /// `None` once the thread has been asked to end.
    chunks: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl BackgroundWriter {
    /// Writes into a file from now on. The thread has the scheduling class that the caller has now.
    pub fn start(out: Box<dyn Write + Send>) -> BackgroundWriter {
        let (chunks, received) = sync_channel(MAX_QUEUED_CHUNKS);
        BackgroundWriter { chunks: Some(chunks), thread: Some(thread::spawn(move || write_chunks(out, &received))) }
    }

    /// Waits until all is written; nothing can be written afterwards.
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
        // A thread that takes no more has failed, and says why.
        if sent { Ok(bytes.len()) } else { self.close().and(Err(io::Error::other("the file is closed"))) }
    }

    /// Waits until all is written; this is the end of the file.
    fn flush(&mut self) -> io::Result<()> {
        self.close()
    }
}

impl Drop for BackgroundWriter {
    fn drop(&mut self) {
        // Whoever wants to know flushes before.
        drop(self.close());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps what is written, up to so many bytes.
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
