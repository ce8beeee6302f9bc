//! A group on Windows: a job, which ends with its last handle. Only this process has one, so that the job ends when this
//! process does. There is no polite signal: the end of its input is all the notice that a child gets.

#![expect(
    clippy::unused_async,
    clippy::unused_self,
    reason = "the seam is the same on every system"
)]

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;

use tokio::process::{Child, Command};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation,
    JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

use super::Signal;

#[derive(Debug)]
pub(super) struct Group {
    job: OwnedHandle,
}

/// The child runs nothing before it belongs to the job.
pub(super) fn start(mut command: Command) -> io::Result<(Child, Group)> {
    let job = job()?;
    command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW);
    // Dropped on an error, it is killed.
    let child = command.spawn()?;
    let (Some(handle), Some(id)) = (child.raw_handle(), child.id()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    #[expect(unsafe_code, reason = "both handles are open")]
    succeeded(unsafe { AssignProcessToJobObject(job.as_raw_handle(), handle) })?;
    resume(id)?;
    Ok((child, Group { job }))
}

impl Group {
    pub(super) fn exists(&self) -> bool {
        let mut counts = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        #[expect(unsafe_code, reason = "the handle is open, and the record as large as is said")]
        let told = unsafe {
            QueryInformationJobObject(
                self.job.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                ptr::from_mut(&mut counts).cast::<c_void>(),
                bytes_of(&counts),
                ptr::null_mut(),
            )
        };
        told != 0 && counts.ActiveProcesses > 0
    }

    pub(super) const fn reap(&self) {}

    pub(super) fn signal(&self, signal: Signal) {
        if matches!(signal, Signal::Kill) {
            // It fails when the job is empty, which was wanted.
            #[expect(unsafe_code, reason = "the handle is open")]
            unsafe {
                TerminateJobObject(self.job.as_raw_handle(), 1);
            }
        }
    }

    pub(super) async fn signal_stragglers(&self, _signal: Signal) -> bool {
        false
    }

    pub(super) async fn release(&self) {}
}

fn job() -> io::Result<OwnedHandle> {
    #[expect(unsafe_code, reason = "both arguments may be null")]
    let job = owned(unsafe { CreateJobObjectW(ptr::null(), ptr::null()) })?;
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    #[expect(unsafe_code, reason = "the handle is open, and the record as large as is said")]
    succeeded(unsafe {
        SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            ptr::from_ref(&limits).cast::<c_void>(),
            bytes_of(&limits),
        )
    })?;
    Ok(job)
}

/// Lets a process run that was started suspended. It has one thread, whose handle is not ours.
fn resume(process: u32) -> io::Result<()> {
    #[expect(unsafe_code, reason = "it takes numbers")]
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32::default();
    entry.dwSize = bytes_of(&entry);
    #[expect(unsafe_code, reason = "the handle is open, and the record says how large it is")]
    let mut found = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
    while found != 0 {
        if entry.th32OwnerProcessID == process {
            #[expect(unsafe_code, reason = "it takes numbers")]
            let thread = owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            #[expect(unsafe_code, reason = "the handle is open")]
            if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
                return Err(io::Error::last_os_error());
            }
        }
        #[expect(unsafe_code, reason = "as above")]
        {
            found = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
        }
    }
    Ok(())
}

/// How large a record is, which the system wants to be told.
fn bytes_of<T>(record: &T) -> u32 {
    u32::try_from(size_of_val(record)).unwrap_or_default()
}

fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    #[expect(unsafe_code, reason = "the handle was just opened, and nobody else has it")]
    Ok(unsafe { OwnedHandle::from_raw_handle(handle as RawHandle) })
}

fn succeeded(outcome: i32) -> io::Result<()> {
    if outcome == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
