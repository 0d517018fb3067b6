import Bytes
import EventLoop

/// The memory and the files of the bodies that a worker holds.
struct BodySupply {
    /// Lends memory to bodies that are held.
    let storage = StoragePool.ofBodies()
    /// Makes the files of bodies that are too large for memory.
    let files: BodyFiles

    init(_ hub: Hub, loop: EventLoop, deadlines: DeadlineWheel) throws(IOError) {
        files = try BodyFiles(
            loop: loop, deadlines: deadlines, threads: hub.bodyFileThreads,
            descriptorMax: hub.descriptors.requestMax)
    }
}
