//! A system call that must not take longer than it may: a signal to its own thread ends the wait.

use std::cell::OnceCell;
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::time::Duration;

/// Makes a call; once `longest` is over, and again each time that passes, a signal interrupts it: where the kernel waits interruptibly the call
/// comes back, mostly with `EINTR`. Where the kernel has no timer left the call is made without a limit. Allocates nothing.
pub fn within<T>(longest: Duration, call: impl FnOnce() -> T) -> T {
    thread_local!(static TIMER: OnceCell<Option<Timer>> = const { OnceCell::new() });
    TIMER.with(|timer| {
        let timer = timer.get_or_init(|| Timer::of_this_thread().ok()).as_ref();
        if let Some(timer) = timer {
            timer.every(longest);
        }
        let answer = call();
        if let Some(timer) = timer {
            timer.every(Duration::ZERO);
        }
        answer
    })
}

/// One of the kernel's timers, whose signal goes to the thread that made it.
struct Timer(libc::timer_t);

impl Timer {
    fn of_this_thread() -> io::Result<Timer> {
        let signal = signal_without_effect()?;
        let mut timer = MaybeUninit::uninit();
        // SAFETY: needed because no safe wrapper sets a timer for one thread. Sound because `sigevent` is plain data of which zero is a
        // value, and the kernel writes the timer before it says 0.
        unsafe {
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_notify_thread_id = libc::gettid();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Timer(timer.assume_init()))
        }
    }

    /// Zero stops it.
    fn every(&self, interval: Duration) {
        let interval = libc::timespec {
            tv_sec: libc::time_t::try_from(interval.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(interval.subsec_nanos().cast_signed()),
        };
        let value = libc::itimerspec { it_interval: interval, it_value: interval };
        // SAFETY: needed because no safe wrapper sets such a timer. Sound because the timer lives as long as `self`, and the kernel only reads
        // `value`.
        unsafe { libc::timer_settime(self.0, 0, &raw const value, null_mut()) };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: needed because no safe wrapper ends such a timer. Sound because nobody else has it.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// A signal that interrupts a call and does nothing else.
fn signal_without_effect() -> io::Result<libc::c_int> {
    extern "C" fn nothing(_: libc::c_int) {}
    static TAKEN: OnceLock<Result<libc::c_int, i32>> = OnceLock::new();
    let taken = TAKEN.get_or_init(|| {
        let signal = libc::SIGRTMAX() - 1;
        // SAFETY: needed because a handler that lets calls be interrupted is what no safe wrapper sets. Sound because the handler does nothing,
        // so it may run anywhere.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            match libc::sigaction(signal, &raw const action, null_mut()) {
                0 => Ok(signal),
                _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or_default()),
            }
        }
    });
    taken.map_err(io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_wait_ends_with_its_deadline_and_others_go_on() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let began = Instant::now();
        let read = within(Duration::from_millis(30), || rustix::io::read(&reader, &mut [0_u8; 1]));
        assert_eq!(read.unwrap_err(), rustix::io::Errno::INTR);
        assert!(began.elapsed() >= Duration::from_millis(30), "{:?}", began.elapsed());
        // Stopped: a wait of several times that is not interrupted.
        let pause = rustix::time::Timespec { tv_sec: 0, tv_nsec: 120_000_000 };
        assert!(rustix::event::poll(&mut [], Some(&pause)).is_ok());
    }
}
