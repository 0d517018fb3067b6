import CLinux
import Synchronization

/// Memory that files are mapped into. If the system cannot bring a page of it, because the file was
/// cut short or its file system has no room or has shut down, the system sends SIGBUS, which ends a
/// process.
///
/// A fault in a region that was added here marks its group instead, and puts empty memory of this
/// process in the place of all regions of the group: from then on nothing of it reaches the file,
/// and nothing in it is what the file holds. The thread goes on. The code that uses the memory has
/// to ask ``Group/isLost`` before it believes what it read, and after the last store before it says
/// that something was stored.
///
/// Faults elsewhere are treated as they would have been without this.
public enum MappedMemory {
    /// Regions that are lost together.
    @safe
    public final class Group: Sendable {
        // The signal handler writes it, so it must not move.
        fileprivate nonisolated(unsafe) let lost: UnsafeMutablePointer<UInt32>

        public init() {
            unsafe lost = .allocate(capacity: 1)
            unsafe lost.initialize(to: 0)
        }

        deinit { unsafe lost.deallocate() }

        /// True for good once a page of one of the regions could not be brought.
        public var isLost: Bool { unsafe sallyport_is_lost(lost) != 0 }
    }

    /// The most regions at one time. SQLite maps 32 KiB for each 16 MiB of a log, so this is enough
    /// for 16 GiB.
    static let regionCountMax = 1024

    /// The groups of the regions in the table, by their place in it.
    private static let groups = Locked([Group?](repeating: nil, count: regionCountMax))

    /// Adds a region of a mapped file; `offset` is its place in the file. The region at the
    /// beginning of the file is the first to be replaced. False if the group is lost already, the
    /// table is full or the system has no handler for it; the region must not be used then.
    public static func add(
        _ start: UnsafeMutableRawPointer, byteCount: Int, offset: Int, to group: Group
    ) -> Bool {
        groups.withLock { groups in
            guard installHandler(), !group.isLost,
                let index = groups.firstIndex(where: { $0 == nil }),
                let table = unsafe regions
            else { return false }
            groups[index] = group
            unsafe sallyport_set_region(
                table + index, UInt(bitPattern: start), byteCount, offset, group.lost)
            return true
        }
    }

    /// Forgets the region that begins at `start`: to be called before it is unmapped, when no
    /// thread uses it any more.
    public static func remove(_ start: UnsafeMutableRawPointer) {
        groups.withLock { groups in
            guard let table = unsafe regions else { return }
            for index in groups.indices
            where unsafe groups[index] != nil && table[index].start == UInt(bitPattern: start) {
                unsafe sallyport_clear_region(table + index)
                groups[index] = nil
            }
        }
    }

    /// Installs the signal handler, once for the process. Called under the lock of `groups`.
    private static func installHandler() -> Bool {
        if unsafe regions != nil { return true }
        let table = UnsafeMutablePointer<sallyport_region>.allocate(capacity: regionCountMax)
        unsafe table.initialize(repeating: sallyport_region(), count: regionCountMax)
        unsafe regions = table
        guard unsafe sallyport_handle_faults(handleFault, &previous) == 0 else {
            unsafe regions = nil
            unsafe table.deallocate()
            return false
        }
        return true
    }
}

// Globals that exist without initialisation at first use, because a signal handler reads them.

/// The table of regions, once there is one.
private nonisolated(unsafe) var regions: UnsafeMutablePointer<sallyport_region>?
/// The former handling of SIGBUS.
private nonisolated(unsafe) var previous = sigaction()

/// Runs on the thread that met the fault, at any point of its code.
private let handleFault:
    @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void = {
        number, information, context in
        guard
            let table = unsafe regions,
            unsafe sallyport_catch_fault(table, MappedMemory.regionCountMax, information) != 0
        else {
            unsafe sallyport_pass_on(&previous, number, information, context)
            return
        }
    }
